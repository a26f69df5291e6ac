! Broadcasts by the module mpi_f08, with and without its optional argument; as fortran.f90.
program fortran08
    use mpi_f08
    implicit none
    integer :: rank, size, root, at, error
    integer :: numbers(5000)
    double precision :: total, all(0:99)
    type(MPI_Datatype) :: every_other
    type(MPI_Request) :: request

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    call MPI_Type_vector(2500, 1, 2, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    total = 0
    do root = 0, size - 1
        numbers = [(at * (rank + 1), at = 1, 5000)]
        call MPI_Bcast(numbers, 1, every_other, root, MPI_COMM_WORLD)
        total = total + sum(numbers)
        call MPI_Bcast(numbers, 5000, MPI_INTEGER, root, MPI_COMM_WORLD, error)
        if (error /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 3)
        total = total + sum(numbers)
        numbers = [(at * (rank + 2), at = 1, 5000)]
        call MPI_Ibcast(numbers, 1, every_other, root, MPI_COMM_WORLD, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        total = total + sum(numbers)
    end do
    call MPI_Gather(total, 1, MPI_DOUBLE_PRECISION, all, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(a, i0, 1x, f0.1)', ('fortran08: rank ', at, all(at), at = 0, size - 1)
    call MPI_Type_free(every_other)
    call MPI_Finalize()
end program
