// Communicators of all kinds, made, used and freed; more alive at once than may have multicast.
#include "common.h"

enum { LEN = 5000, MANY = 6 };
static unsigned char buffer[LEN];
static int number;

static void broadcast(MPI_Comm comm) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int root = 0; root < size; root++) {
        fill(buffer, LEN, rank, number);
        MPI_Bcast(buffer, LEN, MPI_BYTE, root, comm);
        add(buffer, LEN);
    }
    number++;
}

static void between_groups(int rank) {
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 17, &inter);
    fill(buffer, LEN, rank, number++);
    int root = rank % 2 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(buffer, LEN, MPI_BYTE, root, inter);
    add(buffer, LEN);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Comm copy, part, reversed, many[MANY];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    broadcast(MPI_COMM_WORLD);
    broadcast(MPI_COMM_SELF);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    broadcast(copy);
    broadcast(MPI_COMM_WORLD);
    MPI_Comm_free(&copy);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, rank, &part);
    broadcast(part);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed);
    broadcast(reversed);
    MPI_Comm_free(&part);
    broadcast(reversed);
    between_groups(rank);
    print_checksums("kinds");
    for (int at = 0; at < MANY; at++)
        MPI_Comm_dup(MPI_COMM_WORLD, &many[at]);
    for (int at = 0; at < MANY; at++)
        broadcast(many[at]);
    for (int at = MANY - 1; at >= 0; at--)
        broadcast(many[at]);
    // One is left to MPI_Finalize.
    for (int at = 1; at < MANY; at++)
        MPI_Comm_free(&many[at]);
    // The root frees long before the others come.
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    broadcast(copy);
    if (rank != 0) MPI_Barrier(copy);
    fill(buffer, LEN, rank, number);
    if (rank == 0) MPI_Barrier(copy);
    MPI_Bcast(buffer, LEN, MPI_BYTE, 0, copy);
    add(buffer, LEN);
    MPI_Comm_free(&copy);
    print_checksums("all");
    MPI_Finalize();
    return 0;
}
