// Broadcasts of a program that never calls MPI_Init, but opens a session (MPI 4.0, section 11.3).
#include "common.h"

int main(void) {
    unsigned char buffer[5000], expected[5000];
    int rank, size;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "verbcast", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int root = 0; root < size; root++) {
        fill(buffer, sizeof buffer, rank, root);
        fill(expected, sizeof expected, root, root);
        MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, root, comm);
        require(!memcmp(buffer, expected, sizeof buffer), "the root's message");
    }
    if (rank == 0) printf("sessions: %d messages were right\n", size);
    fflush(stdout);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}
