// A tool that counts a program's broadcasts by MPI's profiling interface (MPI 4.0, section 15.2).
#include <mpi.h>
#include <stdio.h>

static int started, broadcasts;

int MPI_Init(int *argc, char ***argv) {
    started++;
    return PMPI_Init(argc, argv);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    broadcasts++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Finalize(void) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "tool: rank %d: %d start, %d broadcasts\n", rank, started, broadcasts);
    return PMPI_Finalize();
}
