// All roots, many lengths and datatypes; also pairs of count and type that differ between ranks.
#include "common.h"
#include <stddef.h>

enum { ROOM = 1 << 21 };
static unsigned char buffer[ROOM];
static int rank, size, number;

// Broadcasts from every root, and adds all of the buffer's memory, gaps too.
static void broadcast(int count, MPI_Datatype type, size_t span) {
    for (int root = 0; root < size; root++) {
        fill(buffer, span, rank, number++);
        MPI_Bcast(buffer, count, type, root, MPI_COMM_WORLD);
        add(buffer, span);
    }
}

static void lengths(void) {
    int lens[] = {0, 1, 8, 4095, 4096, 4097, 1000000};
    for (size_t at = 0; at < sizeof lens / sizeof *lens; at++)
        broadcast(lens[at], MPI_BYTE, (size_t)lens[at] + 16);
}

static void basic_types(void) {
    MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_C_BOOL,
                            MPI_DOUBLE_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_INT, MPI_C_DOUBLE_COMPLEX, MPI_WCHAR};
    for (size_t at = 0; at < sizeof types / sizeof *types; at++) {
        broadcast(1, types[at], 64);
        broadcast(700, types[at], 16384);
    }
}

static void derived_types(void) {
    MPI_Datatype row, vector, indexed, record, resized, nested, empty, negative;
    MPI_Type_contiguous(5, MPI_INT, &row);
    MPI_Type_commit(&row);
    broadcast(300, row, 8192);
    MPI_Type_vector(40, 3, 7, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    broadcast(1, vector, 4096);
    broadcast(20, vector, 65536);
    int lens[] = {3, 0, 1, 4}, places[] = {10, 2, 0, 20};
    MPI_Type_indexed(4, lens, places, MPI_SHORT, &indexed);
    MPI_Type_commit(&indexed);
    broadcast(9, indexed, 1024);
    int blocks[] = {1, 2, 3};
    MPI_Aint at[] = {0, 8, 96};
    MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE_INT, row};
    MPI_Type_create_struct(3, blocks, at, parts, &record);
    MPI_Type_create_resized(record, 0, 200, &resized);
    MPI_Type_contiguous(3, resized, &nested);
    MPI_Type_commit(&nested);
    broadcast(11, nested, 8192);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    broadcast(4, empty, 64);
    MPI_Type_create_resized(MPI_INT, -4, 12, &negative);
    MPI_Type_commit(&negative);
    for (int root = 0; root < size; root++) {
        fill(buffer, 256, rank, number++);
        MPI_Bcast(buffer + 64, 5, negative, root, MPI_COMM_WORLD);
        add(buffer, 256);
    }
    MPI_Type_free(&row);
    MPI_Type_free(&vector);
    MPI_Type_free(&indexed);
    MPI_Type_free(&record);
    MPI_Type_free(&resized);
    MPI_Type_free(&nested);
    MPI_Type_free(&empty);
    MPI_Type_free(&negative);
}

// Types by Fortran's numbers of digits: MPI's own, which nobody frees, and others made of them.
static void fortran_types(void) {
    MPI_Datatype own[3];
    MPI_Type_create_f90_real(15, 307, &own[0]);
    MPI_Type_create_f90_complex(6, 30, &own[1]);
    MPI_Type_create_f90_integer(9, &own[2]);
    for (int which = 0; which < 3; which++) {
        MPI_Datatype row;
        MPI_Type_contiguous(3, own[which], &row);
        MPI_Type_commit(&row);
        broadcast(10, own[which], 128);
        broadcast(10, row, 512);
        MPI_Type_free(&row);
    }
}

// Types that are made with large counts, as MPI 4 has them.
static void large_count_types(void) {
#if MPI_VERSION >= 4
    MPI_Datatype row, rows, vector, indexed;
    MPI_Type_contiguous_c(5, MPI_INT, &row);
    MPI_Type_contiguous_c(3, row, &rows);
    MPI_Type_commit(&rows);
    broadcast(100, rows, 8192);
    MPI_Type_vector_c(40, 3, 7, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    broadcast(20, vector, 65536);
    MPI_Count lens[] = {3, 0, 1, 4}, places[] = {10, 2, 0, 20};
    MPI_Type_indexed_c(4, lens, places, MPI_SHORT, &indexed);
    MPI_Type_commit(&indexed);
    broadcast(9, indexed, 1024);
    MPI_Type_free(&row);
    MPI_Type_free(&rows);
    MPI_Type_free(&vector);
    MPI_Type_free(&indexed);
#endif
}

// The same signature, told in another way by each rank.
static void differing(void) {
    enum { INTS = 1200 };
    MPI_Datatype all, pairs;
    MPI_Type_contiguous(INTS, MPI_INT, &all);
    MPI_Type_vector(INTS / 2, 2, 3, MPI_INT, &pairs);
    MPI_Type_commit(&all);
    MPI_Type_commit(&pairs);
    for (int root = 0; root < size; root++) {
        fill(buffer, 16384, rank, number++);
        switch ((rank + root) % 3) {
        case 0: MPI_Bcast(buffer, INTS, MPI_INT, root, MPI_COMM_WORLD); break;
        case 1: MPI_Bcast(buffer, 1, all, root, MPI_COMM_WORLD); break;
        default: MPI_Bcast(buffer, 1, pairs, root, MPI_COMM_WORLD);
        }
        add(buffer, 16384);
    }
    MPI_Type_free(&all);
    MPI_Type_free(&pairs);
}

// Addresses in the type, and none in the call.
static void bottom(void) {
    MPI_Aint address;
    MPI_Datatype here;
    int len = 3000;
    MPI_Get_address(buffer, &address);
    MPI_Type_create_hindexed(1, &len, &address, MPI_BYTE, &here);
    MPI_Type_commit(&here);
    for (int root = 0; root < size; root++) {
        fill(buffer, 4096, rank, number++);
        MPI_Bcast(MPI_BOTTOM, 1, here, root, MPI_COMM_WORLD);
        add(buffer, 4096);
    }
    MPI_Type_free(&here);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    lengths();
    print_checksums("lengths");
    basic_types();
    print_checksums("basic types");
    derived_types();
    print_checksums("derived types");
    fortran_types();
    print_checksums("types by Fortran's digits");
    large_count_types();
    print_checksums("types with large counts");
    differing();
    bottom();
    print_checksums("all");
    MPI_Finalize();
    return 0;
}
