// Processes that are spawned, and those that meet by a port: broadcasts between the groups and in what they are merged to.
#include "common.h"

enum { LEN = 5000, CHILDREN = 2 };
static unsigned char buffer[LEN], expected[LEN];
static int number;

static void broadcast(MPI_Comm comm) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int root = 0; root < size; root++, number++) {
        fill(buffer, LEN, rank, number);
        fill(expected, LEN, root, number);
        MPI_Bcast(buffer, LEN, MPI_BYTE, root, comm);
        require(!memcmp(buffer, expected, LEN), "the root's message");
    }
}

// From rank 0 of one group to all of the other.
static void across(MPI_Comm inter, int is_sender) {
    int rank;
    MPI_Comm_rank(inter, &rank);
    fill(buffer, LEN, is_sender ? 0 : rank + 1, 7);
    fill(expected, LEN, 0, 7);
    MPI_Bcast(buffer, LEN, MPI_BYTE, is_sender ? rank == 0 ? MPI_ROOT : MPI_PROC_NULL : 0, inter);
    require(is_sender || !memcmp(buffer, expected, LEN), "the other group's message");
}

static void together(MPI_Comm inter, int is_high) {
    MPI_Comm all;
    MPI_Intercomm_merge(inter, is_high, &all);
    number = 0;
    broadcast(all);
    MPI_Comm_free(&all);
}

// Even ranks wait at a port, at which odd ones arrive.
static void meet(int rank) {
    MPI_Comm half, inter;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, sizeof port, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank % 2)
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
    else
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
    across(inter, rank % 2);
    together(inter, rank % 2);
    MPI_Comm_disconnect(&inter);
    if (rank == 0) MPI_Close_port(port);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Comm parents, children;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parents);
    if (parents == MPI_COMM_NULL) {
        broadcast(MPI_COMM_WORLD);
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                       MPI_ERRCODES_IGNORE);
        across(children, 1);
        together(children, 0);
        MPI_Comm_disconnect(&children);
        meet(rank);
        if (rank == 0) printf("dynamic: every message was right\n");
    } else {
        broadcast(MPI_COMM_WORLD);
        across(parents, 0);
        together(parents, 1);
        MPI_Comm_disconnect(&parents);
    }
    MPI_Finalize();
    return 0;
}
