// Persistent broadcasts, started in another order at each rank and completed by each of MPI's calls, among other
// requests and other broadcasts. It checks what comes by itself: the libraries' own fail here.
#include "common.h"

enum { MANY = 8, LEN = 9000, AGAIN = 20 };
// Broadcasts, then a send and a receive around the ring, and a place that stays empty.
enum { SEND = MANY, RECEIVE, EMPTY, ALL };
static unsigned char buffers[MANY][LEN], blocking[LEN];
static int sent, received;
static MPI_Request requests[ALL];
static int rank, size;

static int len_of(int which) { return which == 3 ? 0 : which % 3 ? 1 + which * 5 : LEN - which; }

static void prepare(MPI_Comm comm) {
    for (int which = 0; which < MANY; which++)
        MPI_Bcast_init(buffers[which], len_of(which), MPI_BYTE, which % size, comm, MPI_INFO_NULL, &requests[which]);
    MPI_Send_init(&sent, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[SEND]);
    MPI_Recv_init(&received, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &requests[RECEIVE]);
    requests[EMPTY] = MPI_REQUEST_NULL;
}

static void start(int round) {
    for (int which = 0; which < MANY; which++)
        fill(buffers[which], LEN, rank, round * MANY + which);
    sent = rank + round;
    if ((rank + round) % 2) {
        MPI_Startall(EMPTY, requests);
        return;
    }
    for (int which = EMPTY; which-- > 0;)
        MPI_Start(&requests[which]);
}

static void wait_each(void) {
    for (int which = ALL; which-- > 0;)
        MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
}

static void wait_all(void) {
    MPI_Status statuses[ALL];
    MPI_Waitall(ALL, requests, statuses);
}

static void wait_any(void) {
    int seen[ALL] = {0}, which;
    for (int time = 0; time < EMPTY; time++) {
        MPI_Waitany(ALL, requests, &which, MPI_STATUS_IGNORE);
        require(which >= 0 && which < EMPTY && !seen[which]++, "each is had once");
    }
    MPI_Waitany(ALL, requests, &which, MPI_STATUS_IGNORE);
    require(which == MPI_UNDEFINED, "none is active");
}

static void wait_some(void) {
    MPI_Status statuses[ALL];
    int indices[ALL], number;
    for (int left = EMPTY; left > 0; left -= number) {
        MPI_Waitsome(ALL, requests, &number, indices, statuses);
        require(number > 0 && number <= left, "some, and no more than are left");
    }
}

static void test_each(void) {
    for (int which = 0; which < EMPTY; which++) {
        int is_done = 0;
        while (!is_done) {
            MPI_Request_get_status(requests[which], &is_done, MPI_STATUS_IGNORE);
            if (is_done) MPI_Test(&requests[which], &is_done, MPI_STATUS_IGNORE);
        }
    }
}

static void test_all(void) {
    MPI_Status statuses[ALL];
    int is_done = 0;
    while (!is_done)
        MPI_Testall(ALL, requests, &is_done, statuses);
}

static void test_any(void) {
    for (int time = 0; time < EMPTY; time++) {
        int which, is_done = 0;
        while (!is_done)
            MPI_Testany(ALL, requests, &which, &is_done, MPI_STATUS_IGNORE);
        require(which >= 0 && which < EMPTY, "an active one");
    }
}

static void test_some(void) {
    MPI_Status statuses[ALL];
    int indices[ALL], number;
    for (int left = EMPTY; left > 0; left -= number)
        MPI_Testsome(ALL, requests, &number, indices, statuses);
}

static void (*const completions[])(void) = {wait_each, wait_all, wait_any, wait_some,
                                            test_each, test_all, test_any, test_some};
enum { COMPLETIONS = sizeof completions / sizeof *completions };

static void check(int round) {
    static unsigned char expected[LEN];
    for (int which = 0; which < MANY; which++) {
        require(requests[which] != MPI_REQUEST_NULL, "a persistent request stays");
        fill(expected, LEN, rank, round * MANY + which);
        fill(expected, len_of(which), which % size, round * MANY + which);
        require(!memcmp(buffers[which], expected, LEN), "the root's message came, and nothing else");
    }
    require(requests[EMPTY] == MPI_REQUEST_NULL, "what was null is null");
    require(received == (rank + size - 1) % size + round, "the neighbour's number");
}

// A type of another form and the same signature at the root, freed before its first start.
static void types(MPI_Comm comm) {
    static int numbers[600], expected[600];
    MPI_Request request;
    MPI_Datatype type;
    if (rank == 1)
        MPI_Type_vector(100, 1, 6, MPI_INT, &type);
    else
        MPI_Type_contiguous(100, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Bcast_init(numbers, 1, type, 1, comm, MPI_INFO_NULL, &request);
    MPI_Type_free(&type);
    for (int round = 0; round < 3; round++) {
        fill(numbers, sizeof numbers, rank, round);
        fill(expected, sizeof expected, 1, round);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int at = 0; at < 100; at++)
            require(numbers[at * (rank == 1 ? 6 : 1)] == expected[at * 6], "the root's number");
    }
    MPI_Request_free(&request);
    require(request == MPI_REQUEST_NULL, "a request that is freed is null");
}

// A type of MPI's own that is made all the same.
static void type_of_fortran(MPI_Comm comm) {
    double number;
    MPI_Request request;
    MPI_Datatype type;
    MPI_Type_create_f90_real(15, 307, &type);
    MPI_Bcast_init(&number, 1, type, 1, comm, MPI_INFO_NULL, &request);
    for (int round = 0; round < 3; round++) {
        number = rank == 1 ? round + 0.5 : -1;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        require(number == round + 0.5, "the root's number");
    }
    MPI_Request_free(&request);
}

int main(int argc, char **argv) {
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    prepare(comm);
    // None has been started.
    wait_all();
    int round = 0;
    for (; round < COMPLETIONS; round++) {
        start(round);
        fill(blocking, LEN, rank, round);
        if (round > 0) MPI_Bcast(blocking, LEN, MPI_BYTE, round % size, comm);
        completions[round]();
        check(round);
    }
    types(comm);
    type_of_fortran(comm);
    // Made and freed, many times.
    for (int time = 0; time < AGAIN; time++) {
        MPI_Request request;
        int number = rank == time % size ? time : -1;
        MPI_Bcast_init(&number, 1, MPI_INT, time % size, comm, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        require(number == time, "the root's number");
    }
    // They outlive their communicator, and are freed in any order; but for some, which are left.
    MPI_Comm_free(&comm);
    start(round);
    wait_all();
    check(round);
    for (int which = 2; which < EMPTY; which++)
        MPI_Request_free(&requests[rank % 2 ? which : EMPTY + 1 - which]);
    MPI_Finalize();
    return 0;
}
