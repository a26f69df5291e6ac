! What bindings.c does, by `use mpi`.
program bindings_fortran
    use mpi
    use mpi_ext
    implicit none
    integer, parameter :: len = 100, times = 5, broadcasts = 2
    integer :: numbers(len, broadcasts), rank, time, root, error, wrong
    integer :: requests(broadcasts)
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    do root = 0, broadcasts - 1
        call MPIX_Bcast_init(numbers(:, root + 1), len, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, &
            requests(root + 1), error)
    end do
    wrong = 0
    do time = 1, times
        numbers = rank * 1000 + time
        call MPI_Startall(broadcasts, requests, error)
        call MPI_Waitall(broadcasts, requests, MPI_STATUSES_IGNORE, error)
        do root = 0, broadcasts - 1
            wrong = wrong + count(numbers(:, root + 1) /= root * 1000 + time)
        end do
    end do
    do root = 1, broadcasts
        call MPI_Request_free(requests(root), error)
    end do
    if (wrong == 0) print '(a)', 'every message was right'
    call MPI_Finalize(error)
end program
