// A tool within a program: it finds the performance variables by their names, reads those of verbcast around broadcasts, and
// goes on with those of MPI.
#include "common.h"

enum { LEN = 20000, BROADCASTS = 7, MAX_NAME = 256 };
static unsigned char buffer[LEN];

struct found {
    int index, class;
};

// The variable of a name, by asking each for its own.
static struct found find(const char *wanted) {
    int number;
    struct found found = {-1, -1};
    require(MPI_T_pvar_get_num(&number) == MPI_SUCCESS, "their number is told");
    for (int index = 0; index < number; index++) {
        char name[MAX_NAME], about[MAX_NAME];
        int name_len = MAX_NAME, about_len = MAX_NAME, verbosity, class, bind, readonly, continuous, atomic, by_name;
        MPI_Datatype type;
        MPI_T_enum kinds;
        int code = MPI_T_pvar_get_info(index, name, &name_len, &verbosity, &class, &type, &kinds, about, &about_len, &bind,
                                       &readonly, &continuous, &atomic);
        if (code != MPI_SUCCESS) continue; // Of a part of MPI that is not loaded any more.
        require(MPI_T_pvar_get_index(name, class, &by_name) == MPI_SUCCESS, "each has an index by its name");
        if (strncmp(name, "verbcast_", 9) == 0) {
            require(by_name == index, "it is the same index");
            require(type == MPI_UNSIGNED_LONG_LONG && bind == MPI_T_BIND_NO_OBJECT, "it is a number of the process");
            require(strlen(name) + 1 == (size_t)name_len && strlen(about) > 0, "its texts are whole");
        }
        if (strcmp(name, wanted) == 0) found = (struct found){index, class};
    }
    return found;
}

static MPI_T_pvar_handle handle_of(MPI_T_pvar_session session, int index) {
    MPI_T_pvar_handle handle;
    int count;
    require(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS && count == 1, "there is a handle");
    return handle;
}

static unsigned long long value_of(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    unsigned long long value = 0;
    require(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS, "it is read");
    return value;
}

static void broadcast(int rank) {
    for (int number = 0; number < BROADCASTS; number++) {
        fill(buffer, LEN, rank, number);
        MPI_Bcast(buffer, LEN, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
}

// A variable of MPI itself that has one value and can be read at any time; how many there are.
static int read_theirs(MPI_T_pvar_session session) {
    int number, theirs = 0;
    MPI_T_pvar_get_num(&number);
    for (int index = 0; index < number; index++) {
        char name[MAX_NAME], value[4096];
        int name_len = MAX_NAME, class, bind, readonly, continuous, atomic, count, size;
        MPI_Datatype type;
        MPI_T_pvar_handle handle;
        int code = MPI_T_pvar_get_info(index, name, &name_len, NULL, &class, &type, NULL, NULL, NULL, &bind, &readonly,
                                       &continuous, &atomic);
        if (code != MPI_SUCCESS || strncmp(name, "verbcast_", 9) == 0 || bind != MPI_T_BIND_NO_OBJECT) continue;
        // Open MPI's for an adapter that is not there end the process.
        if (strncmp(name, "mtl_", 4) == 0) continue;
        if (MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) != MPI_SUCCESS) continue;
        MPI_Type_size(type, &size);
        if (!continuous) MPI_T_pvar_start(session, handle);
        if ((size_t)count * (size_t)size <= sizeof value && MPI_T_pvar_read(session, handle, value) == MPI_SUCCESS) theirs++;
        require(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS, "a handle of MPI's is freed");
    }
    return theirs;
}

int main(int argc, char **argv) {
    int rank, provided, index, theirs;
    MPI_T_pvar_session session, other;
    MPI_T_pvar_handle broadcasts, bytes, lost, unstarted;
    require(MPI_T_pvar_get_index("verbcast_broadcasts", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS,
            "the interface is not initialised");
    require(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "the interface is initialised");
    // Before MPI is, which has more variables when it is.
    struct found first = find("verbcast_broadcasts");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct found again = find("verbcast_broadcasts");
    require(first.index >= 0 && again.index == first.index, "a variable stays at its index");
    require(first.class == MPI_T_PVAR_CLASS_COUNTER, "broadcasts are counted");
    require(MPI_T_pvar_get_index("verbcast_broadcasts", MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS, "they are no level");
    require(MPI_T_pvar_session_create(&session) == MPI_SUCCESS, "there is a session");
    require(MPI_T_pvar_session_create(&other) == MPI_SUCCESS, "there is another");
    broadcasts = handle_of(session, first.index);
    bytes = handle_of(session, find("verbcast_broadcast_bytes").index);
    lost = handle_of(session, find("verbcast_datagrams_lost").index);
    unstarted = handle_of(other, first.index);
    broadcast(rank);
    require(value_of(session, broadcasts) == 0, "nothing counts before it is started");
    require(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS, "all are started");
    broadcast(rank);
    require(value_of(session, broadcasts) == BROADCASTS, "each broadcast counts");
    require(value_of(session, bytes) == (unsigned long long)BROADCASTS * LEN, "and so do its bytes");
    require(value_of(other, unstarted) == 0, "sessions are apart");
    require(MPI_T_pvar_read(other, broadcasts, buffer) != MPI_SUCCESS, "a handle is one of its session");
    require(MPI_T_pvar_stop(session, broadcasts) == MPI_SUCCESS, "it is stopped");
    broadcast(rank);
    require(value_of(session, broadcasts) == BROADCASTS, "what is stopped counts nothing");
    unsigned long long value = 0;
    require(MPI_T_pvar_readreset(session, bytes, &value) == MPI_SUCCESS && value == 2ull * BROADCASTS * LEN, "it is read");
    require(value_of(session, bytes) == 0, "and reset");
    printf("variables: rank %d: lost %llu\n", rank, value_of(session, lost));
    value = 40;
    require(MPI_T_pvar_write(session, broadcasts, &value) == MPI_SUCCESS && value_of(session, broadcasts) == 40, "it is written");
    require(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS && value_of(session, broadcasts) == 0, "all are reset");
    require(MPI_T_pvar_handle_free(session, &lost) == MPI_SUCCESS && lost == MPI_T_PVAR_HANDLE_NULL, "a handle is freed");
    theirs = read_theirs(session);
    require(MPI_T_pvar_session_free(&session) == MPI_SUCCESS, "a session is freed");
    require(MPI_T_pvar_session_free(&other) == MPI_SUCCESS, "and so is the other");
    // Indices in categories are those of the list.
    int categories, in_categories = 0, number;
    MPI_T_category_get_num(&categories);
    MPI_T_pvar_get_num(&number);
    for (int category = 0; category < categories; category++) {
        int cvars, pvars, parts, indices[4096];
        char name[MAX_NAME];
        int name_len = MAX_NAME;
        if (MPI_T_category_get_info(category, name, &name_len, NULL, NULL, &cvars, &pvars, &parts) != MPI_SUCCESS) continue;
        require(pvars <= 4096 && MPI_T_category_get_pvars(category, 4096, indices) == MPI_SUCCESS, "a category is listed");
        for (int at = 0; at < pvars; at++, in_categories++) {
            char their[MAX_NAME];
            int their_len = MAX_NAME;
            require(indices[at] < number, "its variables are there");
            int code = MPI_T_pvar_get_info(indices[at], their, &their_len, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
            require(code != MPI_SUCCESS || strncmp(their, "verbcast_", 9) != 0, "they are MPI's");
        }
    }
    printf("variables: rank %d: %d of MPI read, %d in categories\n", rank, theirs, in_categories);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
