// Programs whose broadcasts are all non-blocking, among barriers and reductions.
#include "common.h"

enum { TIMES = 20, LEN = 9000 };
static unsigned char buffer[LEN];
static int rank, size;

static void broadcast(MPI_Comm comm, int time) {
    MPI_Request request;
    fill(buffer, LEN, rank, time);
    MPI_Ibcast(buffer, LEN, MPI_BYTE, time % size, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(buffer, LEN);
}

// Others wait for a rank that has begun, and begin only then: beginning waits for nobody.
static void begin_in_turn(MPI_Comm comm, int time) {
    MPI_Request request;
    int token = 0;
    fill(buffer, LEN, rank, time);
    if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, comm, MPI_STATUS_IGNORE);
    MPI_Ibcast(buffer, LEN, MPI_BYTE, size - 1, comm, &request);
    if (rank < size - 1) MPI_Send(&token, 1, MPI_INT, rank + 1, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(buffer, LEN);
}

int main(int argc, char **argv) {
    MPI_Comm copy, freed, half;
    int one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    // One by MPI on each, and then nothing but multicast: decided in a barrier, and in a reduction.
    begin_in_turn(MPI_COMM_WORLD, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    begin_in_turn(MPI_COMM_WORLD, 1);
    for (int time = 0; time < TIMES; time++) {
        broadcast(MPI_COMM_WORLD, time);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    broadcast(copy, 0);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
    require(sum == size, "all have met");
    for (int time = 0; time < TIMES; time++)
        broadcast(copy, time);
    // Ranks that meet elsewhere do not decide here.
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    broadcast(freed, 0);
    MPI_Barrier(copy);
    broadcast(freed, 1);
    MPI_Comm_free(&freed);
    // Whose first broadcast comes after a barrier.
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Barrier(half);
    MPI_Bcast(buffer, LEN, MPI_BYTE, 0, half);
    add(buffer, LEN);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    print_checksums("ibcast_only");
    MPI_Finalize();
    return 0;
}
