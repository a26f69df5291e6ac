/* The header of libibumad, whose bindings are apart; see `regenerate`. */
#include <infiniband/umad.h>
