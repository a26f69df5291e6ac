// Rank 1 broadcasts only when it has a message from rank 0, which waits for the broadcast in one way or another: MPI must
// send the message meanwhile.
#include "common.h"

enum { LEN = 4 << 20 };
static unsigned char message[LEN], expected[LEN];
static int rank, number, value;

// Rank 0 begins to send what rank 1 waits for.
static MPI_Request send(void) {
    MPI_Request request = MPI_REQUEST_NULL;
    fill(expected, LEN, 0, ++number);
    value = rank == 1 ? number : 0;
    if (rank == 0) {
        fill(message, LEN, 0, number);
        MPI_Isend(message, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    } else if (rank == 1) {
        MPI_Recv(message, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        require(!memcmp(message, expected, LEN), "what rank 0 has sent");
    }
    return request;
}

static MPI_Request begin(MPI_Comm comm) {
    MPI_Request request;
    MPI_Ibcast(&value, 1, MPI_INT, 1, comm, &request);
    return request;
}

static void check(void) { require(value == number, "what rank 1 has broadcast"); }

static void wait(MPI_Comm comm) {
    MPI_Request sent = send(), broadcast = begin(comm);
    MPI_Wait(&broadcast, MPI_STATUS_IGNORE);
    check();
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void wait_all(MPI_Comm comm) {
    MPI_Status statuses[2];
    MPI_Request both[2];
    both[0] = send();
    both[1] = begin(comm);
    MPI_Waitall(2, both, statuses);
    check();
}

static void wait_any(MPI_Comm comm) {
    int which;
    MPI_Request sent = send(), broadcast = begin(comm);
    MPI_Waitany(1, &broadcast, &which, MPI_STATUS_IGNORE);
    check();
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void wait_some(MPI_Comm comm) {
    int done, which;
    MPI_Status status;
    MPI_Request sent = send(), broadcast = begin(comm);
    MPI_Waitsome(1, &broadcast, &done, &which, &status);
    check();
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void test(MPI_Comm comm) {
    int is_done = 0;
    MPI_Request sent = send(), broadcast = begin(comm);
    while (!is_done)
        MPI_Test(&broadcast, &is_done, MPI_STATUS_IGNORE);
    check();
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

// A blocking broadcast comes after the one in flight.
static void block(MPI_Comm comm) {
    int another = rank == 1;
    MPI_Request sent = send(), broadcast = begin(comm);
    MPI_Bcast(&another, 1, MPI_INT, 1, comm);
    require(another == 1, "what rank 1 has broadcast after it");
    MPI_Wait(&broadcast, MPI_STATUS_IGNORE);
    check();
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void persist(MPI_Comm comm) {
    MPI_Request sent, broadcast;
    MPI_Bcast_init(&value, 1, MPI_INT, 1, comm, MPI_INFO_NULL, &broadcast);
    sent = send();
    MPI_Start(&broadcast);
    MPI_Wait(&broadcast, MPI_STATUS_IGNORE);
    check();
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Request_free(&broadcast);
}

static void (*const ways[])(MPI_Comm) = {wait, wait_all, wait_any, wait_some, test, block, persist};
enum { WAYS = sizeof ways / sizeof *ways };

// Also where a communicator is freed while a broadcast is in flight there.
static void free_early(MPI_Comm *comm) {
    MPI_Request sent = send(), broadcast = begin(*comm);
    MPI_Comm_free(comm);
    MPI_Wait(&broadcast, MPI_STATUS_IGNORE);
    check();
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

// And where rank 0, the root of the last broadcast, waits in MPI_Finalize for those that have not come to it.
static void send_at_the_end(void) {
    static unsigned char buffer[LEN + MPI_BSEND_OVERHEAD];
    if (rank == 0) {
        MPI_Buffer_attach(buffer, sizeof buffer);
        MPI_Bsend(message, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(message, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    for (int way = 0; way < WAYS; way++)
        ways[way](comm);
    free_early(&comm);
    if (!rank) puts("every message was right");
    fflush(stdout);
    send_at_the_end();
    MPI_Finalize();
    return 0;
}
