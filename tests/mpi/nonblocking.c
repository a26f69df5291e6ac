// Non-blocking broadcasts: many in flight, completed by each of MPI's calls and in any order, among blocking ones.
#include "common.h"

enum { MANY = 40, LEN = 9000, LEFT_TO_MPI = 3 };
static unsigned char buffers[MANY][LEN];
static MPI_Request requests[MANY];
static int rank, size;

static int len_of(int which) { return which % 7 == 0 ? 0 : which % 3 ? 1 + which * 5 : LEN - which; }

static void begin_many(MPI_Comm comm, int first) {
    for (int which = 0; which < MANY; which++) {
        fill(buffers[which], LEN, rank, first + which);
        MPI_Ibcast(buffers[which], len_of(which), MPI_BYTE, (first + which) % size, comm, &requests[which]);
    }
}

static void add_many(void) {
    for (int which = 0; which < MANY; which++) {
        require(requests[which] == MPI_REQUEST_NULL, "a request that is complete is null");
        add(buffers[which], LEN);
    }
}

static void wait_each(void) {
    // From the last to the first.
    for (int which = MANY; which-- > 0;)
        MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
}

static void wait_all(void) {
    MPI_Status statuses[MANY];
    MPI_Waitall(MANY, requests, statuses);
}

static void wait_any(void) {
    int seen[MANY] = {0}, which;
    for (int time = 0; time < MANY; time++) {
        MPI_Waitany(MANY, requests, &which, MPI_STATUS_IGNORE);
        require(which >= 0 && which < MANY && !seen[which]++, "each is had once");
    }
}

static void wait_some(void) {
    MPI_Status statuses[MANY];
    int indices[MANY], number;
    for (int left = MANY; left > 0; left -= number) {
        MPI_Waitsome(MANY, requests, &number, indices, statuses);
        require(number > 0 && number <= left, "some, and no more than are left");
    }
}

static void test_each(void) {
    for (int which = 0; which < MANY; which++) {
        int is_done = 0;
        while (!is_done) {
            MPI_Request_get_status(requests[which], &is_done, MPI_STATUS_IGNORE);
            if (is_done) MPI_Test(&requests[which], &is_done, MPI_STATUS_IGNORE);
        }
    }
}

static void test_all(void) {
    MPI_Status statuses[MANY];
    int is_done = 0;
    while (!is_done)
        MPI_Testall(MANY, requests, &is_done, statuses);
}

static void (*const completions[])(void) = {wait_each, wait_all, wait_any, wait_some, test_each, test_all};
enum { COMPLETIONS = sizeof completions / sizeof *completions };

// Types of other forms and the same signature at root and elsewhere, freed before the broadcast is complete.
static void types(MPI_Comm comm) {
    static int numbers[3][600];
    MPI_Request three[3];
    MPI_Status statuses[3];
    for (int which = 0; which < 3; which++) {
        MPI_Datatype type;
        fill(numbers[which], sizeof numbers[which], rank, which);
        if (rank == which % size)
            MPI_Type_vector(100, 1, 6, MPI_INT, &type);
        else
            MPI_Type_contiguous(100, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Ibcast(numbers[which], 1, type, which % size, comm, &three[which]);
        MPI_Type_free(&type);
    }
    MPI_Waitall(3, three, statuses);
    add(numbers, sizeof numbers);
}

// A type of MPI's own that is made all the same.
static void type_of_fortran(MPI_Comm comm) {
    static double numbers[100];
    MPI_Datatype type;
    MPI_Type_create_f90_real(15, 307, &type);
    for (int root = 0; root < size; root++) {
        fill(numbers, sizeof numbers, rank, root);
        MPI_Ibcast(numbers, 100, type, root, comm, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        add(numbers, sizeof numbers);
    }
}

// Blocking ones and other calls of MPI while some are in flight, there and elsewhere.
static void mixed(MPI_Comm one, MPI_Comm other) {
    static unsigned char first[LEN], second[LEN], third[LEN];
    MPI_Request two[2];
    for (int root = 0; root < size; root++) {
        int token = rank, all;
        fill(first, LEN, rank, root);
        fill(second, LEN, rank, root + 1);
        fill(third, LEN, rank, root + 2);
        MPI_Ibcast(first, LEN, MPI_BYTE, root, one, &two[0]);
        MPI_Ibcast(second, LEN, MPI_BYTE, root, other, &two[1]);
        MPI_Bcast(third, LEN, MPI_BYTE, (root + 1) % size, one);
        MPI_Allreduce(&token, &all, 1, MPI_INT, MPI_SUM, other);
        MPI_Wait(&two[1], MPI_STATUS_IGNORE);
        MPI_Wait(&two[0], MPI_STATUS_IGNORE);
        add(first, LEN);
        add(second, LEN);
        add(third, LEN);
        add(&all, sizeof all);
    }
}

int main(int argc, char **argv) {
    MPI_Comm one, other;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
    // Before any blocking one.
    for (int time = 0; time < LEFT_TO_MPI; time++) {
        fill(buffers[0], LEN, rank, time);
        MPI_Ibcast(buffers[0], LEN, MPI_BYTE, time % size, one, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        add(buffers[0], LEN);
    }
    MPI_Bcast(buffers[0], LEN, MPI_BYTE, 0, one);
    MPI_Bcast(buffers[0], LEN, MPI_BYTE, 0, other);
    for (int how = 0; how < COMPLETIONS; how++) {
        begin_many(how % 2 ? other : one, how);
        completions[how]();
        add_many();
    }
    types(one);
    type_of_fortran(one);
    mixed(one, other);
    // A communicator that is freed while some are in flight.
    begin_many(one, COMPLETIONS);
    MPI_Comm_free(&one);
    wait_all();
    add_many();
    MPI_Comm_free(&other);
    print_checksums("nonblocking");
    MPI_Finalize();
    return 0;
}
