// One rank calls wrongly; all are told, in bounded time. Argument: which mistake.
#include "common.h"

int main(int argc, char **argv) {
    int rank, size, mistake, failed = 0, code = MPI_SUCCESS, class = 0;
    char text[MPI_MAX_ERROR_STRING];
    static unsigned char buffer[100000];
    MPI_Comm comm;
    MPI_Datatype uncommitted;
    MPI_Init(&argc, &argv);
    require(argc == 2, "there is one argument");
    mistake = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    require(MPI_Bcast(buffer, 10, MPI_INT, 1, comm) == MPI_SUCCESS, "the first broadcast succeeds");
    // Those that go ahead are told by a later broadcast.
    for (int time = 0; time < 100 && code == MPI_SUCCESS; time++) {
        int wrong = rank == 2 && time == 1;
        switch (wrong ? mistake : 0) {
        case 1: code = MPI_Bcast(buffer, -1, MPI_INT, 0, comm); break;
        case 2: code = MPI_Bcast(buffer, 10, MPI_DATATYPE_NULL, 0, comm); break;
        case 3: code = MPI_Bcast(buffer, 10, uncommitted, 0, comm); break;
        case 4: code = MPI_Bcast(buffer, 10, MPI_INT, size, comm); break;
        case 5: code = MPI_Bcast(buffer, 9, MPI_INT, 0, comm); break;
        case 6: code = MPI_Bcast(buffer, 10, MPI_INT, 1, comm); break;
        case 7: code = MPI_Bcast(buffer, 0, MPI_INT, 0, comm); break;
        default: code = MPI_Bcast(buffer, 10, MPI_INT, 0, comm);
        }
        failed |= code != MPI_SUCCESS;
    }
    require(failed, "every rank is told");
    require(MPI_Error_class(code, &class) == MPI_SUCCESS, "the error has a class");
    int len;
    require(MPI_Error_string(code, text, &len) == MPI_SUCCESS && len > 0, "the error has a text");
    require(MPI_Bcast(buffer, 10, MPI_INT, 0, comm) != MPI_SUCCESS, "the communicator stays in error");
    MPI_Type_free(&uncommitted);
    MPI_Comm_free(&comm);
    // Others are not touched by it.
    int value = rank;
    MPI_Bcast(&value, 1, MPI_INT, 3, MPI_COMM_WORLD);
    require(value == 3, "another communicator goes on");
    printf("mistake %d: rank %d: class %s\n", mistake, rank,
           class == MPI_ERR_COUNT  ? "count"
           : class == MPI_ERR_TYPE ? "type"
           : class == MPI_ERR_ROOT ? "root"
           : class > MPI_ERR_LASTCODE ? "verbcast"
                                    : "another");
    MPI_Finalize();
    return 0;
}
