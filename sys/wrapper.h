/* The headers the bindings are made from; see `regenerate`. */
#include <infiniband/verbs.h>
#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>
