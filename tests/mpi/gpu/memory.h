// Memory in place of a GPU's, for the runtimes of the tests: the CPU may touch it only inside the functions that copy.
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST = 16 };

static struct {
    uintptr_t start;
    size_t len;
} blocks[MOST];
static int count;

// The block in which that many bytes are; -1 if they are not in one.
static int owner(uintptr_t at, size_t len) {
    for (int i = 0; i < count; i++)
        if (at >= blocks[i].start && at + len <= blocks[i].start + blocks[i].len)
            return i;
    return -1;
}

// Whether there was room.
static int allocate(uintptr_t *at, size_t len) {
    len = (len + 65535) / 65536 * 65536;
    void *memory = mmap(0, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || count == MOST)
        return 0;
    blocks[count].start = *at = (uintptr_t)memory;
    blocks[count++].len = len;
    return 1;
}

// Copies to or from a block.
static void move(void *to, const void *from, size_t len, int block) {
    void *start = (void *)blocks[block].start;
    mprotect(start, blocks[block].len, PROT_READ | PROT_WRITE);
    memcpy(to, from, len);
    mprotect(start, blocks[block].len, PROT_NONE);
}
