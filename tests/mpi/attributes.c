// What the program has attached to its types and communicators is copied by its own calls alone; communicators made by
// MPI_Comm_idup broadcast as any other.
#include "common.h"

enum { LEN = 300 };
static int rank, size, numbers[2 * LEN], copied_types, deleted_types, copied_comms, deleted_comms;

static int copy_type(MPI_Datatype type, int key, void *extra, void *value, void *to, int *is_copied) {
    (void)type, (void)key, (void)extra;
    *(void **)to = value;
    *is_copied = 1;
    copied_types++;
    return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int key, void *value, void *extra) {
    (void)type, (void)key, (void)value, (void)extra;
    deleted_types++;
    return MPI_SUCCESS;
}

static int copy_comm(MPI_Comm comm, int key, void *extra, void *value, void *to, int *is_copied) {
    (void)comm, (void)key, (void)extra;
    *(void **)to = value;
    *is_copied = 1;
    copied_comms++;
    return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    deleted_comms++;
    return MPI_SUCCESS;
}

static void check(int root, int round) {
    static int expected[2 * LEN];
    fill(expected, sizeof expected, root, round);
    for (int at = 0; at < LEN; at++)
        require(numbers[2 * at] == expected[2 * at], "the root's number");
    add(numbers, sizeof numbers);
}

static void broadcast(MPI_Comm comm, MPI_Datatype type, int round) {
    MPI_Request request;
    int root = round % size;
    fill(numbers, sizeof numbers, rank, round);
    MPI_Bcast(numbers, 1, type, root, comm);
    check(root, round);
    fill(numbers, sizeof numbers, rank, round + 1);
    MPI_Ibcast(numbers, 1, type, root, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(root, round + 1);
    MPI_Bcast_init(numbers, 1, type, root, comm, MPI_INFO_NULL, &request);
    fill(numbers, sizeof numbers, rank, round + 2);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(root, round + 2);
    MPI_Request_free(&request);
}

int main(int argc, char **argv) {
    int type_key, comm_key, value = 1;
    MPI_Datatype type;
    MPI_Comm copy, later;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_create_keyval(copy_type, delete_type, &type_key, NULL);
    MPI_Comm_create_keyval(copy_comm, delete_comm, &comm_key, NULL);
    MPI_Type_vector(LEN, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, type_key, &value);
    MPI_Comm_set_attr(MPI_COMM_WORLD, comm_key, &value);
    broadcast(MPI_COMM_WORLD, type, 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    broadcast(copy, type, 5);
    MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    broadcast(later, type, 9);
    require(copied_types == 0 && deleted_types == 0, "no call copied a type");
    require(copied_comms == 2 && deleted_comms == 0, "two calls copied a communicator");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&later);
    MPI_Type_free(&type);
    require(copied_types == 0 && deleted_types == 1, "the type was freed");
    require(copied_comms == 2 && deleted_comms == 2, "the copies were freed");
    print_checksums("attributes");
    MPI_Finalize();
    return 0;
}
