// Rank LATE_RANK, the root, comes late to each broadcast, by LATE_MICROSECONDS.
#include "common.h"
#include <unistd.h>

enum { LEN = 100000, BROADCASTS = 20 };
static unsigned char buffer[LEN], expected[LEN];

int main(int argc, char **argv) {
    int rank;
    const char *late = getenv("LATE_RANK"), *by = getenv("LATE_MICROSECONDS");
    require(late != NULL && by != NULL, "LATE_RANK and LATE_MICROSECONDS are set");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int number = 0; number < BROADCASTS; number++) {
        fill(expected, LEN, atoi(late), number);
        fill(buffer, LEN, rank, number);
        if (rank == atoi(late)) usleep((useconds_t)atoi(by));
        MPI_Bcast(buffer, LEN, MPI_BYTE, atoi(late), MPI_COMM_WORLD);
        require(memcmp(buffer, expected, LEN) == 0, "the message is the root's");
    }
    MPI_Finalize();
    return 0;
}
