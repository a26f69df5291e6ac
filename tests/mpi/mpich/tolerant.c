// A process ends without a word; the others are told what MPICH would say, and go on among themselves.
#include "common.h"
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static unsigned char buffer[100000];
    int rank, code = MPI_SUCCESS, class, wrong = 0;
    MPI_Comm rest;
    MPI_Init(&argc, &argv);
    // By which MPICH's launcher tells the others, and which ends those with the device ch4.
    signal(SIGUSR1, SIG_IGN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &rest);
    for (int time = 0; code == MPI_SUCCESS; time++) {
        // Where a signal ends one, the launcher ends all.
        if (rank == 2 && time == 3) _exit(1);
        code = MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 1, MPI_COMM_WORLD);
        if (code == MPI_SUCCESS) code = MPI_Bcast(buffer, 1, MPI_BYTE, 2, MPI_COMM_WORLD);
        if (time < 3) MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 0, rest);
    }
    MPI_Error_class(code, &class);
    for (unsigned char time = 1; time < 4; time++) {
        memset(buffer, rank == 0 ? time : 0, sizeof buffer);
        MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 0, rest);
        for (size_t at = 0; at < sizeof buffer; at++) wrong += buffer[at] != time;
    }
    printf("rank %d: %s, then %d wrong bytes\n", rank, class == MPIX_ERR_PROC_FAILED ? "a process failed" : "another error", wrong);
    fflush(stdout);
    // MPI_Finalize would wait for the one that is gone.
    MPI_Barrier(rest);
    _exit(0);
}
