! Broadcasts of Fortran's types by the module mpi; each rank's sums, so that a run's output can be compared with another's.
program fortran
    use mpi
    implicit none
    integer :: rank, size, root, at, error, part, every_other, request
    integer :: numbers(1000)
    double precision :: matrix(40, 30), sums(3), all(3, 0:99)
    character(len=64) :: text
    logical :: switch

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, size, error)
    call MPI_Type_vector(30, 20, 40, MPI_DOUBLE_PRECISION, part, error)
    call MPI_Type_commit(part, error)
    call MPI_Type_vector(500, 1, 2, MPI_INTEGER, every_other, error)
    call MPI_Type_commit(every_other, error)
    sums = 0
    do root = 0, size - 1
        numbers = [(at * (rank + 1), at = 1, 1000)]
        matrix = reshape([(dble(at) / (rank + 1), at = 1, 1200)], [40, 30])
        text = 'nothing'
        if (rank == root) write (text, '(a, i0)') 'said by rank ', rank
        switch = rank == root
        call MPI_Bcast(numbers, 1, every_other, root, MPI_COMM_WORLD, error)
        call MPI_Bcast(matrix, 1, part, root, MPI_COMM_WORLD, error)
        call MPI_Ibcast(text, len(text), MPI_CHARACTER, root, MPI_COMM_WORLD, request, error)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call MPI_Bcast(switch, 1, MPI_LOGICAL, root, MPI_COMM_WORLD, error)
        if (error /= MPI_SUCCESS .or. .not. switch) call MPI_Abort(MPI_COMM_WORLD, 3, error)
        sums = sums + [dble(sum(numbers)), sum(matrix), dble(sum(iachar([(text(at:at), at = 1, 64)])))]
    end do
    call MPI_Gather(sums, 3, MPI_DOUBLE_PRECISION, all, 3, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
    do at = 0, size - 1
        if (rank == 0) print '(a, i0, 3(1x, f0.6))', 'fortran: rank ', at, all(:, at)
    end do
    call MPI_Type_free(part, error)
    call MPI_Type_free(every_other, error)
    call MPI_Finalize(error)
end program
