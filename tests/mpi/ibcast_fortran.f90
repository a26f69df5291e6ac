! Fortran's broadcasts are all non-blocking, among barriers.
program ibcast_fortran
    use mpi
    implicit none
    integer, parameter :: times = 10, len = 1000
    integer :: numbers(len), rank, ranks, time, request, error, wrong
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    wrong = 0
    do time = 1, times
        numbers = rank * 1000 + time
        call MPI_Ibcast(numbers, len, MPI_INTEGER, mod(time, ranks), MPI_COMM_WORLD, request, error)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        wrong = wrong + count(numbers /= mod(time, ranks) * 1000 + time)
        call MPI_Barrier(MPI_COMM_WORLD, error)
    end do
    if (wrong == 0) print '(a)', 'every message was right'
    call MPI_Finalize(error)
end program
