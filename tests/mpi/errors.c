// One rank calls wrongly; all are told, in bounded time, and other communicators go on.
#include "common.h"

enum { MISTAKES = 7 };
static unsigned char buffer[100000];
static int rank, size;

typedef int Broadcast(void *, int, MPI_Datatype, int, MPI_Comm);

static int begin_and_wait(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    MPI_Request request;
    int code = MPI_Ibcast(buffer, count, type, root, comm, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

static MPI_Request prepared = MPI_REQUEST_NULL;

static int prepare(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return MPI_Bcast_init(buffer, count, type, root, comm, MPI_INFO_NULL, &prepared);
}

static int call(Broadcast *broadcast, int mistake, MPI_Comm comm, MPI_Datatype uncommitted) {
    switch (mistake) {
    case 1: return broadcast(buffer, -1, MPI_INT, 0, comm);
    case 2: return broadcast(buffer, 10, MPI_DATATYPE_NULL, 0, comm);
    case 3: return broadcast(buffer, 10, uncommitted, 0, comm);
    case 4: return broadcast(buffer, 10, MPI_INT, size, comm);
    case 5: return broadcast(buffer, 9, MPI_INT, 0, comm);
    case 6: return broadcast(buffer, 10, MPI_INT, 1, comm);
    case 7: return broadcast(buffer, 0, MPI_INT, 0, comm);
    default: return broadcast(buffer, 10, MPI_INT, 0, comm);
    }
}

static const char *name_of(int class) {
    return class == MPI_ERR_COUNT      ? "count"
           : class == MPI_ERR_TYPE     ? "type"
           : class == MPI_ERR_ROOT     ? "root"
           : class > MPI_ERR_LASTCODE  ? "verbcast"
                                       : "another";
}

// Those that go ahead are told by a later broadcast.
static int broadcast_until_told(Broadcast *broadcast, int mistake, MPI_Comm comm, MPI_Datatype uncommitted) {
    int code = MPI_SUCCESS;
    for (int time = 0; time < 1000 && code == MPI_SUCCESS; time++)
        code = call(broadcast, rank == 2 && time == 1 ? mistake : 0, comm, uncommitted);
    require(broadcast(buffer, 10, MPI_INT, 0, comm) != MPI_SUCCESS, "the communicator stays in error");
    return code;
}

// The same of one that is prepared, and started again and again.
static int start_until_told(Broadcast *prepare, int mistake, MPI_Comm comm, MPI_Datatype uncommitted) {
    int code = call(prepare, rank == 2 ? mistake : 0, comm, uncommitted);
    if (code != MPI_SUCCESS) prepared = MPI_REQUEST_NULL;
    for (int time = 0; time < 1000 && code == MPI_SUCCESS; time++) {
        code = MPI_Start(&prepared);
        if (code == MPI_SUCCESS) code = MPI_Wait(&prepared, MPI_STATUS_IGNORE);
    }
    require(MPI_Bcast(buffer, 10, MPI_INT, 0, comm) == MPI_SUCCESS, "the communicator's others go on");
    return code;
}

typedef int UntilTold(Broadcast *, int mistake, MPI_Comm, MPI_Datatype uncommitted);

static void make(const char *name, UntilTold *until_told, Broadcast *broadcast, int mistake) {
    int class = 0, len, classes[64];
    char text[MPI_MAX_ERROR_STRING] = "";
    static char texts[64][MPI_MAX_ERROR_STRING];
    MPI_Comm comm;
    MPI_Datatype uncommitted;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    require(MPI_Bcast(buffer, 10, MPI_INT, 1, comm) == MPI_SUCCESS, "the first broadcast succeeds");
    // Who is still in it would be told of the mistake there.
    MPI_Barrier(MPI_COMM_WORLD);
    int code = until_told(broadcast, mistake, comm, uncommitted);
    require(code != MPI_SUCCESS, "every rank is told");
    require(MPI_Error_class(code, &class) == MPI_SUCCESS, "the error has a class");
    require(MPI_Error_string(code, text, &len) == MPI_SUCCESS && len > 0, "the error has a text");
    MPI_Type_free(&uncommitted);
    MPI_Comm_free(&comm);
    if (prepared != MPI_REQUEST_NULL) {
        require(MPI_Start(&prepared) != MPI_SUCCESS, "it stays in error, also without its communicator");
        MPI_Request_free(&prepared);
    }
    MPI_Gather(&class, 1, MPI_INT, classes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(text, sizeof text, MPI_CHAR, texts, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int other = 0; rank == 0 && other < size; other++)
        printf("%s: mistake %d: rank %d: class %s: %s\n", name, mistake, other, name_of(classes[other]), texts[other]);
    int value = rank;
    MPI_Bcast(&value, 1, MPI_INT, 3, MPI_COMM_WORLD);
    require(value == 3, "another communicator goes on");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(size >= 4 && size <= 64, "there are 4 to 64 ranks");
    // What a wait tells comes by way of the first, what has no communicator any more by way of the second.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int mistake = 1; mistake <= MISTAKES; mistake++) {
        make("MPI_Bcast", broadcast_until_told, MPI_Bcast, mistake);
        make("MPI_Ibcast", broadcast_until_told, begin_and_wait, mistake);
        make("MPI_Bcast_init", start_until_told, prepare, mistake);
    }
    MPI_Finalize();
    return 0;
}
