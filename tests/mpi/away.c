// A rank that is away from MPI while its broadcast is in flight, until the others say that they have it, by files whose
// names begin as AWAY_PATHS says.
#include "common.h"
#include <unistd.h>

enum { LEN = 300000, SECONDS = 60 };
static unsigned char buffer[LEN], expected[LEN];

int main(int argc, char **argv) {
    int rank, size;
    const char *begin = getenv("AWAY_PATHS");
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(begin != NULL, "AWAY_PATHS is set");
    MPI_Bcast(buffer, 1, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int away = 0; away < size; away++) {
        char path[4096];
        fill(expected, LEN, 0, away);
        fill(buffer, LEN, rank, away);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Ibcast(buffer, LEN, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
        if (rank != away) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            snprintf(path, sizeof path, "%s.%d.%d", begin, away, rank);
            fclose(fopen(path, "w"));
        }
        for (int other = 0; rank == away && other < size; other++) {
            int naps = 0;
            snprintf(path, sizeof path, "%s.%d.%d", begin, away, other);
            while (other != away && access(path, F_OK) != 0) {
                require(naps++ < SECONDS * 1000, "the others need none of MPI's calls here");
                usleep(1000);
            }
            unlink(path);
        }
        if (rank == away) MPI_Wait(&request, MPI_STATUS_IGNORE);
        require(memcmp(buffer, expected, LEN) == 0, "the message is the root's");
    }
    MPI_Finalize();
    return 0;
}
