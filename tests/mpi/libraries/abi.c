// What says that handles are those of the standard's binary interface (MPI 5.0, section 20.2).
int MPI_Abi_get_version(int *major, int *minor) {
    *major = 1;
    *minor = 0;
    return 0;
}
