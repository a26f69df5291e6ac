// Broadcasts of two lengths, blocking, non-blocking and persistent in turn, of which a table may leave the short ones to MPI.
#include "common.h"

enum { SHORT = 64, LONG = 3000, ROUNDS = 10 };
static int rank, size, number;

struct message {
    unsigned char bytes[LONG], expected[LONG];
    int len, root;
    MPI_Request request;
};

static void begin(struct message *message, int len, int root) {
    message->len = len;
    message->root = root;
    fill(message->bytes, (size_t)len, rank, number);
    fill(message->expected, (size_t)len, root, number++);
}

static void check(struct message *message) {
    require(!memcmp(message->bytes, message->expected, (size_t)message->len), "the root's message came");
}

static void blocking(int len) {
    static struct message message;
    begin(&message, len, number % size);
    MPI_Bcast(message.bytes, len, MPI_BYTE, message.root, MPI_COMM_WORLD);
    check(&message);
}

// A long one is in flight while a short one begins, and another ends; ranks wait for them in different orders.
static void non_blocking(void) {
    static struct message messages[3];
    int lens[3] = {LONG, SHORT, LONG};
    for (int at = 0; at < 3; at++) {
        begin(&messages[at], lens[at], number % size);
        MPI_Ibcast(messages[at].bytes, lens[at], MPI_BYTE, messages[at].root, MPI_COMM_WORLD, &messages[at].request);
    }
    blocking(SHORT);
    for (int turn = 0; turn < 3; turn++) {
        struct message *message = &messages[rank % 2 ? turn : 2 - turn];
        MPI_Wait(&message->request, MPI_STATUS_IGNORE);
        check(message);
    }
}

static void persistent(void) {
    static struct message messages[2];
    int lens[2] = {LONG, SHORT};
    for (int at = 0; at < 2; at++)
        MPI_Bcast_init(messages[at].bytes, lens[at], MPI_BYTE, at, MPI_COMM_WORLD, MPI_INFO_NULL, &messages[at].request);
    for (int round = 0; round < ROUNDS; round++) {
        for (int at = 0; at < 2; at++) {
            begin(&messages[at], lens[at], at);
            MPI_Start(&messages[at].request);
        }
        for (int at = 0; at < 2; at++) {
            MPI_Wait(&messages[at].request, MPI_STATUS_IGNORE);
            check(&messages[at]);
        }
    }
    for (int at = 0; at < 2; at++)
        MPI_Request_free(&messages[at].request);
}

// A rank that has failed alone still takes part in what goes by MPI, where the others wait for it; then they hear of it.
static void after_an_error(void) {
    static struct message message;
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1)
        require(MPI_Bcast(message.bytes, -1, MPI_BYTE, 1, MPI_COMM_WORLD) != MPI_SUCCESS, "a wrong count is refused");
    begin(&message, SHORT, 1);
    MPI_Bcast(message.bytes, SHORT, MPI_BYTE, 1, MPI_COMM_WORLD);
    check(&message);
    begin(&message, SHORT, 1);
    MPI_Ibcast(message.bytes, SHORT, MPI_BYTE, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(&message);
    require(MPI_Bcast(message.bytes, LONG, MPI_BYTE, 1, MPI_COMM_WORLD) != MPI_SUCCESS, "a long one is an error");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < ROUNDS; round++) {
        blocking(SHORT);
        blocking(LONG);
        non_blocking();
    }
    persistent();
    after_an_error();
    if (!rank) puts("every message was right");
    MPI_Finalize();
    return 0;
}
