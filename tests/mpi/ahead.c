// Roots that run ahead of ranks that come late, and ranks that compute before their last broadcast.
#include "common.h"
#include <unistd.h>

enum { TIMES = 300, LEN = 6000 };
static unsigned char buffer[LEN];

int main(int argc, char **argv) {
    int rank, size;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int late = 0; late < size; late++) {
        MPI_Bcast(buffer, 1, MPI_BYTE, 0, comm);
        if (rank == late) usleep(300000);
        for (int time = 0; time < TIMES; time++) {
            fill(buffer, LEN, rank, time);
            MPI_Bcast(buffer, time % 3 ? 1 : LEN, MPI_BYTE, 0, comm);
            add(buffer, LEN);
        }
    }
    // Those that are done free it while another has not come.
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) sleep(2);
    fill(buffer, LEN, rank, TIMES);
    MPI_Bcast(buffer, LEN, MPI_BYTE, 0, comm);
    add(buffer, LEN);
    MPI_Comm_free(&comm);
    print_checksums("ahead");
    MPI_Finalize();
    return 0;
}
