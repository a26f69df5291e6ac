// A Level Zero loader for the tests, with one driver and one device. A list of commands is for one copy.
#include "memory.h"

enum { SUCCESS = 0, INVALID_ARGUMENT = 0x78000004, OUT_OF_MEMORY = 0x70000003 };
enum { CONTEXT_DESC = 0xd, QUEUE_DESC = 0xe, PROPERTIES = 0x17, SYNCHRONOUS = 1, DEVICE = 2 };

static int driver, context, device, list, lists;

struct description {
    int kind;
    const void *next;
};

struct queue {
    int kind;
    const void *next;
    uint32_t ordinal, index, flags;
    int mode, priority;
};

struct properties {
    int kind;
    void *next;
    int memory;
    uint64_t id, page_size;
};

int zeInit(uint32_t flags) { return flags == 0 ? SUCCESS : INVALID_ARGUMENT; }

int zeDriverGet(uint32_t *count, void **drivers) {
    *count = 1;
    *drivers = &driver;
    return SUCCESS;
}

int zeContextCreate(void *of, const struct description *wanted, void **made) {
    if (of != &driver || wanted->kind != CONTEXT_DESC)
        return INVALID_ARGUMENT;
    *made = &context;
    return SUCCESS;
}

// As the tests call it, without the descriptions that the real one takes.
int test_allocate(uintptr_t *at, size_t len) { return allocate(at, len) ? SUCCESS : OUT_OF_MEMORY; }

// Of memory that it does not know, it says so: type 0.
int zeMemGetAllocProperties(void *in, const void *at, struct properties *properties, void **of) {
    if (in != &context || properties->kind != PROPERTIES)
        return INVALID_ARGUMENT;
    int is_known = owner((uintptr_t)at, 1) >= 0;
    properties->memory = is_known ? DEVICE : 0;
    *of = is_known ? &device : NULL;
    return SUCCESS;
}

int zeCommandListCreateImmediate(void *in, void *of, const struct queue *wanted, void **made) {
    int is_right = in == &context && of == &device && wanted->kind == QUEUE_DESC && wanted->mode == SYNCHRONOUS;
    if (!is_right || lists++ > 0)
        return INVALID_ARGUMENT;
    *made = &list;
    return SUCCESS;
}

int zeCommandListDestroy(void *which) {
    lists--;
    return which == &list ? SUCCESS : INVALID_ARGUMENT;
}

int zeCommandListAppendMemoryCopy(void *to_list, void *to, const void *from, size_t len, void *signal, uint32_t waits,
                                  void **events) {
    int source = owner((uintptr_t)from, len), destination = owner((uintptr_t)to, len);
    if (to_list != &list || signal || waits || events || (source < 0 && destination < 0))
        return INVALID_ARGUMENT;
    move(to, from, len, source < 0 ? destination : source);
    return SUCCESS;
}
