// Checksums of what ranks receive, so that a run's output can be compared with that of another.
#ifndef VERBCAST_TEST_COMMON_H
#define VERBCAST_TEST_COMMON_H

#include <mpi.h>
#if MPI_VERSION < 4
// Open MPI 4's extension.
#include <mpi-ext.h>
#define MPI_Bcast_init MPIX_Bcast_init
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t checksum = 1469598103934665603u;

// FNV-1a.
static inline void add(const void *bytes, size_t len) {
    for (size_t at = 0; at < len; at++) {
        checksum ^= ((const unsigned char *)bytes)[at];
        checksum *= 1099511628211u;
    }
}

// What a rank has in its buffer before broadcast `number`: bytes of its own.
static inline void fill(void *buffer, size_t len, int rank, int number) {
    for (size_t at = 0; at < len; at++)
        ((unsigned char *)buffer)[at] = (unsigned char)(at * 31 + at / 251 + rank * 7 + number * 13);
}

// Each rank's line, in the order of ranks.
static inline void print_checksums(const char *name) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    uint64_t *all = malloc(sizeof *all * (size_t)size);
    MPI_Gather(&checksum, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (int other = 0; rank == 0 && other < size; other++)
        printf("%s: rank %d: %016llx\n", name, other, (unsigned long long)all[other]);
    free(all);
}

static inline void require(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 3);
        exit(3);
    }
}

#endif
