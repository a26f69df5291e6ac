// A libcuda for the tests. The CPU may touch its memory only inside the functions that copy, and these want the memory's
// context to be current in the calling thread.
#include "memory.h"

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201 };
enum { CONTEXT = 1, MEMORY_TYPE = 2, IS_MANAGED = 8 };
enum { DEVICE = 2 };

static int context;
static __thread int depth;

int cuMemAlloc_v2(uintptr_t *at, size_t len) { return allocate(at, len) ? SUCCESS : OUT_OF_MEMORY; }

int cuPointerGetAttribute(void *value, int which, uintptr_t at) {
    if (owner(at, 1) < 0)
        return INVALID_VALUE;
    switch (which) {
    case CONTEXT:
        *(void **)value = &context;
        return SUCCESS;
    case MEMORY_TYPE:
        *(unsigned *)value = DEVICE;
        return SUCCESS;
    case IS_MANAGED:
        *(unsigned *)value = 0;
        return SUCCESS;
    }
    return INVALID_VALUE;
}

int cuCtxPushCurrent_v2(void *which) {
    if (which != &context)
        return INVALID_CONTEXT;
    depth++;
    return SUCCESS;
}

int cuCtxPopCurrent_v2(void **which) {
    if (depth == 0)
        return INVALID_CONTEXT;
    depth--;
    *which = &context;
    return SUCCESS;
}

static int copy(void *to, const void *from, size_t len, uintptr_t device) {
    int block = owner(device, len);
    if (block < 0)
        return INVALID_VALUE;
    if (depth == 0)
        return INVALID_CONTEXT;
    move(to, from, len, block);
    return SUCCESS;
}

int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t len) { return copy(to, (void *)from, len, from); }

int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t len) { return copy((void *)to, from, len, to); }

int cuStreamSynchronize(void *stream) {
    (void)stream;
    return depth == 0 ? INVALID_CONTEXT : SUCCESS;
}
