// Communicators with a few broadcasts each, one with many, and one with a persistent broadcast first.
#include "common.h"

enum { LEN = 3000, COPIES = 20, MANY = 40 };
static unsigned char buffer[LEN], expected[LEN];
static int rank, size, number;

static void begin(int root) {
    fill(buffer, LEN, rank, number);
    fill(expected, LEN, root, number++);
}

static void check(void) { require(!memcmp(buffer, expected, LEN), "the root's message came"); }

static void blocking(MPI_Comm comm) {
    int root = number % size;
    begin(root);
    MPI_Bcast(buffer, LEN, MPI_BYTE, root, comm);
    check();
}

static void non_blocking(MPI_Comm comm) {
    MPI_Request request;
    int root = number % size;
    begin(root);
    MPI_Ibcast(buffer, LEN, MPI_BYTE, root, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check();
}

int main(int argc, char **argv) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int copy = 0; copy < COPIES; copy++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        blocking(comm);
        non_blocking(comm);
        blocking(comm);
        non_blocking(comm);
        blocking(comm);
        MPI_Comm_free(&comm);
    }
    for (int time = 0; time < MANY; time++)
        blocking(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Bcast_init(buffer, LEN, MPI_BYTE, 1, comm, MPI_INFO_NULL, &request);
    for (int time = 0; time < 2; time++) {
        begin(1);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check();
    }
    blocking(comm);
    MPI_Request_free(&request);
    MPI_Comm_free(&comm);
    if (!rank) puts("every message was right");
    MPI_Finalize();
    return 0;
}
