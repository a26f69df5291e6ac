// A rank expects a shorter message than is broadcast, and the error handler is the one that ends the program.
#include "common.h"

int main(int argc, char **argv) {
    int buffer[10] = {0}, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int time = 0;; time++)
        MPI_Bcast(buffer, rank == 2 && time == 1 ? 9 : 10, MPI_INT, 0, MPI_COMM_WORLD);
}
