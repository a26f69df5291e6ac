// Threads that broadcast at once, each on a communicator of its own, blocking and not.
#include "common.h"
#include <pthread.h>

enum { THREADS = 3, TIMES = 20, LEN = 9000 };
static MPI_Comm comms[THREADS];
static uint64_t sums[THREADS];

static void *broadcast(void *argument) {
    int which = *(int *)argument, rank, size;
    unsigned char *buffer = malloc(LEN);
    MPI_Comm_rank(comms[which], &rank);
    MPI_Comm_size(comms[which], &size);
    for (int time = 0; time < TIMES; time++) {
        fill(buffer, LEN, rank, time * THREADS + which);
        if (time % 2 == 0) {
            MPI_Bcast(buffer, LEN - time, MPI_BYTE, time % size, comms[which]);
        } else {
            MPI_Request request;
            MPI_Ibcast(buffer, LEN - time, MPI_BYTE, time % size, comms[which], &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        for (int at = 0; at < LEN; at++)
            sums[which] = sums[which] * 31 + buffer[at];
    }
    free(buffer);
    return NULL;
}

int main(int argc, char **argv) {
    int provided, numbers[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    require(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE is provided");
    for (int which = 0; which < THREADS; which++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[which]);
    for (int which = 0; which < THREADS; which++) {
        numbers[which] = which;
        pthread_create(&threads[which], NULL, broadcast, &numbers[which]);
    }
    for (int which = 0; which < THREADS; which++) {
        pthread_join(threads[which], NULL);
        add(&sums[which], sizeof sums[which]);
        MPI_Comm_free(&comms[which]);
    }
    print_checksums("threads");
    MPI_Finalize();
    return 0;
}
