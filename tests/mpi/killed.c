// A rank ends without a word while others wait for it.
#include "common.h"
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static unsigned char buffer[1000000];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int time = 0;; time++) {
        if (rank == 2 && time == 3) kill(getpid(), SIGKILL);
        MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 2, MPI_COMM_WORLD);
    }
}
