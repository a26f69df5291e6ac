// More non-blocking broadcasts than may be in flight at a time, all of which go on while ranks wait elsewhere in MPI.
#include "common.h"

enum { MANY = 100, INTS = 500, ROUNDS = 3 };
static int numbers[MANY][2 * INTS], expected[2 * INTS];
static MPI_Request requests[MANY];
static MPI_Status statuses[MANY];
static int rank, size;

// Every other one has gaps.
static void begin(MPI_Datatype pairs, int which, int root, int number) {
    fill(numbers[which], sizeof numbers[which], rank, number);
    if (which % 2)
        MPI_Ibcast(numbers[which], 1, pairs, root, MPI_COMM_WORLD, &requests[which]);
    else
        MPI_Ibcast(numbers[which], INTS, MPI_INT, root, MPI_COMM_WORLD, &requests[which]);
}

static void check(int which, int root, int number) {
    fill(expected, sizeof expected, root, number);
    for (int at = 0; at < INTS; at++) {
        int place = which % 2 ? 2 * at : at;
        require(numbers[which][place] == expected[place], "the root's number");
    }
}

int main(int argc, char **argv) {
    MPI_Datatype pairs;
    int token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_vector(INTS, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        // Whoever waits elsewhere: the root, a rank that receives, and one that is both by turns.
        int away = round % size;
        for (int which = 0; which < MANY; which++)
            begin(pairs, which, round == 2 ? which % size : 0, round * MANY + which);
        // The others have all of them before they send what that rank waits for.
        for (int other = 0; rank == away && other < size; other++)
            if (other != away) MPI_Recv(&token, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(MANY, requests, statuses);
        if (rank != away) MPI_Send(&token, 1, MPI_INT, away, 0, MPI_COMM_WORLD);
        for (int which = 0; which < MANY; which++)
            check(which, round == 2 ? which % size : 0, round * MANY + which);
    }
    MPI_Type_free(&pairs);
    if (!rank) puts("every message was right");
    MPI_Finalize();
    return 0;
}
