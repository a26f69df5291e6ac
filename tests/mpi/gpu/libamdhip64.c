// A libamdhip64 for the tests, of a version whose memory types are numbered as CUDA's runtime numbers them.
#include "memory.h"

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2 };
enum { DEVICE = 2, DEFAULT = 4 };

int hipRuntimeGetVersion(int *version) {
    *version = 60032830;
    return SUCCESS;
}

int hipMalloc(uintptr_t *at, size_t len) { return allocate(at, len) ? SUCCESS : OUT_OF_MEMORY; }

// What begins with the memory's type, and has 32 bytes in that version.
int hipPointerGetAttributes(int32_t *attributes, const void *at) {
    if (owner((uintptr_t)at, 1) < 0)
        return INVALID_VALUE;
    memset(attributes, 0, 32);
    attributes[0] = DEVICE;
    return SUCCESS;
}

int hipMemcpy(void *to, const void *from, size_t len, int kind) {
    int source = owner((uintptr_t)from, len), destination = owner((uintptr_t)to, len);
    if (kind != DEFAULT || (source < 0 && destination < 0))
        return INVALID_VALUE;
    move(to, from, len, source < 0 ? destination : source);
    return SUCCESS;
}

int hipStreamSynchronize(void *stream) { return stream == NULL ? SUCCESS : INVALID_VALUE; }
