! Persistent broadcasts that C has prepared, started by C and by Fortran, and completed by Fortran's calls.
program requests_of_c
    use mpi
    use iso_c_binding
    implicit none
    integer, parameter :: many = 3, length = 1000
    integer :: rank, size, which, round, error, number, requests(many), indices(many)
    integer :: statuses(MPI_STATUS_SIZE, many), status(MPI_STATUS_SIZE)
    integer, target, asynchronous :: numbers(length, many)
    type(c_ptr) :: made(many)
    logical :: is_done

    interface
        function c_prepare(buffer, count, datatype, root, comm, info, request) bind(c, name='MPIX_Bcast_init')
            use iso_c_binding
            type(c_ptr), value :: buffer, datatype, comm, info
            integer(c_int), value :: count, root
            type(c_ptr) :: request
            integer(c_int) :: c_prepare
        end function
        function c_type(handle) bind(c, name='MPI_Type_f2c')
            use iso_c_binding
            integer(c_int), value :: handle
            type(c_ptr) :: c_type
        end function
        function c_comm(handle) bind(c, name='MPI_Comm_f2c')
            use iso_c_binding
            integer(c_int), value :: handle
            type(c_ptr) :: c_comm
        end function
        function c_info(handle) bind(c, name='MPI_Info_f2c')
            use iso_c_binding
            integer(c_int), value :: handle
            type(c_ptr) :: c_info
        end function
        function c_start(request) bind(c, name='MPI_Start')
            use iso_c_binding
            type(c_ptr) :: request
            integer(c_int) :: c_start
        end function
        function f_request(request) bind(c, name='MPI_Request_c2f')
            use iso_c_binding
            type(c_ptr), value :: request
            integer(c_int) :: f_request
        end function
    end interface

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, size, error)
    do which = 1, many
        error = c_prepare(c_loc(numbers(1, which)), length, c_type(MPI_INTEGER), modulo(which, size), &
            c_comm(MPI_COMM_WORLD), c_info(MPI_INFO_NULL), made(which))
        requests(which) = f_request(made(which))
    end do
    do round = 1, 8
        do which = 1, many
            numbers(:, which) = message(rank, which, round)
        end do
        if (modulo(round, 4) == 0) then
            call MPI_Startall(many, requests, error)
        else if (modulo(round, 4) == 1) then
            do which = 1, many
                error = c_start(made(which))
            end do
        else
            do which = 1, many
                call MPI_Start(requests(which), error)
            end do
        end if
        select case (round)
        case (1)
            do which = many, 1, -1
                call MPI_Wait(requests(which), MPI_STATUS_IGNORE, error)
            end do
        case (2)
            call MPI_Waitall(many, requests, statuses, error)
        case (3)
            do which = 1, many
                is_done = .false.
                do while (.not. is_done)
                    call MPI_Request_get_status(requests(which), is_done, status, error)
                    if (is_done) call MPI_Test(requests(which), is_done, status, error)
                end do
            end do
        case (4)
            is_done = .false.
            do while (.not. is_done)
                call MPI_Testall(many, requests, is_done, MPI_STATUSES_IGNORE, error)
            end do
        case (5)
            do which = 1, many
                call MPI_Waitany(many, requests, number, status, error)
            end do
        case (6)
            do which = 1, many
                is_done = .false.
                do while (.not. is_done)
                    call MPI_Testany(many, requests, number, is_done, status, error)
                end do
            end do
        case (7)
            which = 0
            do while (which < many)
                call MPI_Waitsome(many, requests, number, indices, statuses, error)
                which = which + number
            end do
        case (8)
            which = 0
            do while (which < many)
                call MPI_Testsome(many, requests, number, indices, statuses, error)
                which = which + number
            end do
        end select
        do which = 1, many
            if (any(numbers(:, which) /= message(modulo(which, size), which, round))) then
                print '(a, 3(1x, i0))', 'not the message of the root: rank, request, round', rank, which, round
                call MPI_Abort(MPI_COMM_WORLD, 3, error)
            end if
        end do
    end do
    do which = 1, many
        call MPI_Request_free(requests(which), error)
        if (requests(which) /= MPI_REQUEST_NULL) call MPI_Abort(MPI_COMM_WORLD, 4, error)
    end do
    if (rank == 0) print '(a)', 'requests of C: every message was right'
    call MPI_Finalize(error)
contains
    function message(root, which, round)
        integer, intent(in) :: root, which, round
        integer :: message(length), at
        message = [(at * (root + 1) + which * 17 + round * 1009, at = 1, length)]
    end function
end program
