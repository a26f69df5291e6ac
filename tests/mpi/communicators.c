// Communicators of all kinds, made, used and freed; hundreds alive at once.
#include "common.h"

enum { LEN = 5000, MANY = 200 };
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

static void broadcast_from(MPI_Comm comm, int root) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    fill(buffer, LEN, rank, number++);
    MPI_Bcast(buffer, LEN, MPI_BYTE, root % size, comm);
    add(buffer, LEN);
}

// One of each kind in turn: a copy, halves, all in reverse order, each rank alone.
static MPI_Comm make(int which, int rank, int size) {
    MPI_Comm made;
    MPI_Group all, reversed;
    switch (which % 4) {
    case 0:
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        break;
    case 1:
        MPI_Comm_split(MPI_COMM_WORLD, (rank + which / 4) % 2, rank, &made);
        break;
    case 2: {
        int range[1][3] = {{size - 1, 0, -1}};
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_range_incl(all, 1, range, &reversed);
        MPI_Comm_create(MPI_COMM_WORLD, reversed, &made);
        MPI_Group_free(&reversed);
        MPI_Group_free(&all);
        break;
    }
    default:
        MPI_Comm_dup(MPI_COMM_SELF, &made);
    }
    return made;
}

int main(int argc, char **argv) {
    int rank, size;
    static MPI_Comm many[MANY];
    MPI_Comm copy, part, reversed;
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
        many[at] = make(at, rank, size);
    for (int at = 0; at < MANY; at++)
        broadcast_from(many[at], at);
    for (int at = MANY - 1; at >= 0; at--)
        broadcast_from(many[at], at / 4 + 1);
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
