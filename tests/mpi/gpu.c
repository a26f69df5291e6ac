// Messages in the memory of a GPU at some ranks and in that of the host at others. Its libcuda is tests/mpi/gpu/libcuda.c,
// loaded after the first broadcast.
#include "common.h"
#include <dlfcn.h>

enum { ROOM = 1 << 20 };
static int rank, size, number;
static int (*alloc)(uintptr_t *, size_t);
static int (*to_host)(void *, uintptr_t, size_t);
static int (*to_device)(uintptr_t, const void *, size_t);
static int (*push)(void *), (*pop)(void **);
static int (*attribute)(void *, int, uintptr_t);
static unsigned char host[ROOM], expected[ROOM];
static uintptr_t device;

static void *function(void *library, const char *name) {
    void *found = dlsym(library, name);
    require(found != NULL, name);
    return found;
}

static void load(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    require(library != NULL, path);
    *(void **)&alloc = function(library, "cuMemAlloc_v2");
    *(void **)&to_host = function(library, "cuMemcpyDtoH_v2");
    *(void **)&to_device = function(library, "cuMemcpyHtoD_v2");
    *(void **)&push = function(library, "cuCtxPushCurrent_v2");
    *(void **)&pop = function(library, "cuCtxPopCurrent_v2");
    *(void **)&attribute = function(library, "cuPointerGetAttribute");
    require(alloc(&device, ROOM) == 0, "there is memory");
}

// Copies with the context that the memory has, and leaves none current.
static void move(int is_out) {
    void *context;
    require(attribute(&context, 1, device) == 0 && push(context) == 0, "there is a context");
    int answer = is_out ? to_host(host, device, ROOM) : to_device(device, host, ROOM);
    require(answer == 0 && pop(&context) == 0, "memory is copied");
}

// The ranks take turns to have the message in their GPU's memory; the rest of the buffer stays as it is.
static void broadcast(int count, MPI_Datatype type, int root, int is_blocking) {
    MPI_Aint lower, span;
    MPI_Type_get_true_extent(type, &lower, &span);
    int on_gpu = (rank + number) % 2;
    fill(host, ROOM, rank, number);
    memcpy(expected, host, ROOM);
    if (on_gpu)
        move(0);
    void *buffer = on_gpu ? (void *)device : host;
    if (is_blocking) {
        MPI_Bcast(buffer, count, type, root, MPI_COMM_WORLD);
    } else {
        MPI_Request request;
        MPI_Ibcast(buffer, count, type, root, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (on_gpu) {
        memset(host, 0, ROOM);
        move(1);
    }
    // What the root had, in the places of the type's elements.
    static unsigned char packed[ROOM], of_root[ROOM];
    int position = 0;
    fill(of_root, ROOM, root, number);
    MPI_Pack(of_root, count, type, packed, ROOM, &position, MPI_COMM_WORLD);
    int len = position;
    position = 0;
    MPI_Unpack(packed, len, &position, expected, count, type, MPI_COMM_WORLD);
    require(memcmp(host, expected, ROOM) == 0, "the message is right, and nothing else has changed");
    number++;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Bcast(host, 100, MPI_BYTE, 0, MPI_COMM_WORLD);
    load(getenv("TEST_LIBCUDA"));
    MPI_Datatype vector;
    MPI_Type_vector(40, 3, 7, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    int lens[] = {0, 1, 4097, 300000};
    for (int root = 0; root < size; root++) {
        for (int is_blocking = 0; is_blocking < 2; is_blocking++) {
            for (int at = 0; at < 4; at++)
                broadcast(lens[at], MPI_BYTE, root, is_blocking);
            broadcast(9, vector, root, is_blocking);
        }
    }
    if (rank == 0)
        printf("%d messages were right\n", number);
    MPI_Type_free(&vector);
    MPI_Finalize();
}
