// One rank's program in C of those whose other ranks' programs are bindings_fortran.f90 and bindings_fortran08.f90: they
// prepare and start the same broadcasts.
#include "common.h"

enum { LEN = 100, TIMES = 5, BROADCASTS = 2 };
static int numbers[BROADCASTS][LEN];

int main(int argc, char **argv) {
    int rank;
    MPI_Request requests[BROADCASTS];
    MPI_Status statuses[BROADCASTS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int root = 0; root < BROADCASTS; root++)
        MPI_Bcast_init(numbers[root], LEN, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[root]);
    for (int time = 1; time <= TIMES; time++) {
        for (int root = 0; root < BROADCASTS; root++)
            for (int at = 0; at < LEN; at++)
                numbers[root][at] = rank * 1000 + time;
        MPI_Startall(BROADCASTS, requests);
        MPI_Waitall(BROADCASTS, requests, statuses);
        for (int root = 0; root < BROADCASTS; root++)
            for (int at = 0; at < LEN; at++)
                require(numbers[root][at] == root * 1000 + time, "the root's number");
    }
    for (int root = 0; root < BROADCASTS; root++)
        MPI_Request_free(&requests[root]);
    puts("every message was right");
    MPI_Finalize();
    return 0;
}
