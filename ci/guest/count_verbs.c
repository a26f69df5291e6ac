/* Counts what a process asks of its RDMA device and how much it copies: preloaded, so that it counts the same in any
 * program. When the process ends it writes a JSON object of names and numbers to the file $COUNT_VERBS.RANK, where RANK is
 * what VERBCAST_RANK, Open MPI or PMI says; a process without a rank, such as a launcher, writes nothing.
 *
 *   cc -O2 -shared -fPIC -fno-builtin -o count_verbs.so count_verbs.c -ldl
 *
 * The operations of each device that is opened are replaced in its context, where the functions of verbs.h look for
 * them. Copies are those by memcpy and memmove of at least COPY bytes: parts of messages, not headers. Counts are exact
 * for processes with one thread at work. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The least copy that counts. */
#define COPY 512
/* The QP number of a multicast. */
#define MULTICAST 0xffffff

#define COUNTERS(X)                                                                                                  \
    X(send_doorbells) X(multicasts) X(datagrams) X(reliable_sends) X(rdma_writes) X(rdma_reads)                      \
    X(receive_doorbells) X(receives) X(polls) X(empty_polls) X(send_completions) X(receive_completions) X(arms)      \
    X(wakeups) X(writes) X(yields) X(copies) X(copied_bytes)

#define DECLARE(name) static unsigned long name;
COUNTERS(DECLARE)

/* What the provider does; all devices of a process have the same provider. */
static struct ibv_context_ops real;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    send_doorbells++;
    for (struct ibv_send_wr *at = wr; at; at = at->next) {
        if (at->opcode == IBV_WR_RDMA_READ)
            rdma_reads++;
        else if (at->opcode == IBV_WR_RDMA_WRITE || at->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
            rdma_writes++;
        else if (qp->qp_type != IBV_QPT_UD)
            reliable_sends++;
        else if (at->wr.ud.remote_qpn == MULTICAST)
            multicasts++;
        else
            datagrams++;
    }
    return real.post_send(qp, wr, bad);
}

static void count_receives(const struct ibv_recv_wr *wr)
{
    receive_doorbells++;
    for (; wr; wr = wr->next)
        receives++;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    count_receives(wr);
    return real.post_recv(qp, wr, bad);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    count_receives(wr);
    return real.post_srq_recv(srq, wr, bad);
}

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
    int count = real.poll_cq(cq, room, wc);

    polls++;
    empty_polls += count == 0;
    for (int i = 0; i < count; i++) {
        if (wc[i].opcode & IBV_WC_RECV)
            receive_completions++;
        else
            send_completions++;
    }
    return count;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
    arms++;
    return real.req_notify_cq(cq, solicited);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *(*open)(struct ibv_device *) = dlsym(RTLD_NEXT, "ibv_open_device");
    struct ibv_context *context = open(device);

    if (!context)
        return NULL;
    real = context->ops;
    context->ops.post_send = post_send;
    context->ops.post_recv = post_recv;
    context->ops.post_srq_recv = post_srq_recv;
    context->ops.poll_cq = poll_cq;
    context->ops.req_notify_cq = req_notify_cq;
    return context;
}

/* An event is what wakes a process that sleeps until there is something to poll; its time may have been over just then. */
int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **of)
{
    static int (*next)(struct ibv_comp_channel *, struct ibv_cq **, void **);
    int result;

    if (!next)
        next = dlsym(RTLD_NEXT, "ibv_get_cq_event");
    result = next(channel, cq, of);
    wakeups += result == 0;
    return result;
}

ssize_t write(int fd, const void *from, size_t len)
{
    static ssize_t (*next)(int, const void *, size_t);

    if (!next)
        next = dlsym(RTLD_NEXT, "write");
    writes++;
    return next(fd, from, len);
}

int sched_yield(void)
{
    static int (*next)(void);

    if (!next)
        next = dlsym(RTLD_NEXT, "sched_yield");
    yields++;
    return next();
}

/* Before the linker has told where the real one is, which takes copies itself. */
static void *slowly(void *to, const void *from, size_t len)
{
    volatile char *out = to;
    const char *in = from;

    if (in < (char *)to)
        while (len--)
            out[len] = in[len];
    else
        for (size_t i = 0; i < len; i++)
            out[i] = in[i];
    return to;
}

static void *(*move)(void *, const void *, size_t);

static void *copy(void *to, const void *from, size_t len)
{
    if (len >= COPY) {
        copies++;
        copied_bytes += len;
    }
    return move ? move(to, from, len) : slowly(to, from, len);
}

void *memcpy(void *to, const void *from, size_t len)
{
    return copy(to, from, len);
}

void *memmove(void *to, const void *from, size_t len)
{
    return copy(to, from, len);
}

__attribute__((constructor)) static void begin(void)
{
    move = dlsym(RTLD_NEXT, "memmove");
}

__attribute__((destructor)) static void end(void)
{
    const char *names[] = {"VERBCAST_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}, *rank = NULL;
    const char *to = getenv("COUNT_VERBS");
    char path[4096];
    FILE *file;

    for (int i = 0; i < 3 && !rank; i++)
        rank = getenv(names[i]);
    if (!to || !rank || snprintf(path, sizeof(path), "%s.%s", to, rank) >= (int)sizeof(path))
        return;
    file = fopen(path, "w");
    if (!file)
        return;
#define WRITE(name) fprintf(file, ", \"" #name "\": %lu", name);
    fprintf(file, "{\"rank\": %s", rank);
    COUNTERS(WRITE)
    fprintf(file, "}\n");
    fclose(file);
}
