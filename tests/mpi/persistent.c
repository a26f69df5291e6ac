// Persistent broadcasts and no others, where the MPI has them.
#include "common.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
#if MPI_VERSION >= 4
    unsigned char buffer[1000];
    MPI_Request request;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast_init(buffer, sizeof buffer, MPI_BYTE, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int number = 0; number < 3; number++) {
        fill(buffer, sizeof buffer, rank, number);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        add(buffer, sizeof buffer);
    }
    MPI_Request_free(&request);
#endif
    print_checksums("persistent");
    MPI_Finalize();
}
