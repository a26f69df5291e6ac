// Ranks that come to the same calls by the functions of large counts and by those of others, in turn.
#include "common.h"

enum { LEN = 9000, TIMES = 10 };
static unsigned char buffer[LEN], expected[LEN];
static int rank, size;

static void broadcast(int time) {
    MPI_Request request;
    int root = time % size, large = (rank + time) % 2;
    fill(buffer, LEN, rank, time);
    fill(expected, LEN, root, time);
    if (large)
        MPI_Ibcast_c(buffer, LEN, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    else
        MPI_Ibcast(buffer, LEN, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    require(!memcmp(buffer, expected, LEN), "the root's message came");
    fill(buffer, LEN, rank, time + 1);
    fill(expected, LEN, root, time + 1);
    if (time > 0 && large) MPI_Bcast_c(buffer, LEN, MPI_BYTE, root, MPI_COMM_WORLD);
    if (time > 0 && !large) MPI_Bcast(buffer, LEN, MPI_BYTE, root, MPI_COMM_WORLD);
    require(time == 0 || !memcmp(buffer, expected, LEN), "the root's message came");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int time = 0; time < TIMES; time++) {
        int one = 1, sum = 0;
        broadcast(time);
        // After the first broadcast, which was a non-blocking one, the ranks decide here.
        if ((rank + time) % 2)
            MPI_Allreduce_c(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        require(sum == size, "the number of ranks");
    }
    if (!rank) puts("every message was right");
    MPI_Finalize();
    return 0;
}
