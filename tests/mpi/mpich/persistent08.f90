! Persistent broadcasts by the module mpi_f08, which Open MPI 4's has not.
program persistent08
    use mpi_f08
    implicit none
    integer, parameter :: many = 3
    integer :: rank, size, which, round, at
    integer, asynchronous :: numbers(1000, many)
    double precision :: total, all(0:99)
    type(MPI_Request) :: requests(many)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    do which = 1, many
        call MPI_Bcast_init(numbers(:, which), 1000, MPI_INTEGER, modulo(which, size), MPI_COMM_WORLD, &
            MPI_INFO_NULL, requests(which))
    end do
    total = 0
    do round = 1, 4
        numbers = reshape([(at * (rank + round), at = 1, 1000 * many)], [1000, many])
        if (modulo(round, 2) == 0) then
            call MPI_Startall(many, requests)
            call MPI_Waitall(many, requests, MPI_STATUSES_IGNORE)
        else
            do which = 1, many
                call MPI_Start(requests(which))
            end do
            do which = 1, many
                call MPI_Wait(requests(which), MPI_STATUS_IGNORE)
            end do
        end if
        total = total + sum(dble(numbers)) * round
    end do
    do which = 1, many
        call MPI_Request_free(requests(which))
    end do
    call MPI_Gather(total, 1, MPI_DOUBLE_PRECISION, all, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(a, i0, 1x, f0.1)', ('persistent08: rank ', at, all(at), at = 0, size - 1)
    call MPI_Finalize()
end program
