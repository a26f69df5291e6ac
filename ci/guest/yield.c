/*
 * Preloaded under programs with MPICH over UCX: yields when there was nothing to do.
 *
 * MPICH polls without a pause and has no setting for it, so where ranks outnumber cores, most of them wait for
 * one that has no core. Open MPI yields at the same place if mpi_yield_when_idle is set.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>

typedef unsigned progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static progress *next;
    unsigned count;

    if (next == NULL) {
        next = (progress *)dlsym(RTLD_NEXT, "ucp_worker_progress");
        if (next == NULL)
            abort();
    }
    count = next(worker);
    if (count == 0)
        sched_yield();
    return count;
}
