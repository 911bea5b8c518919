// The choice behind MPI_Type_create_f90_*: which Fortran kinds satisfy a precision and a range.
//
// Threads: pure functions.
#pragma once

#include "core/datatype/datatype.hpp"

namespace hawser::core {

/// Bytes of the smallest real kind with at least PRECISION decimal digits and decimal exponent
/// RANGE (each may be MPI_UNDEFINED), as SELECTED_REAL_KIND; MPI_ERR_ARG if there is none.
Result<int> select_real_bytes(int precision, int range);
/// Bytes of the smallest integer kind that holds all of -10^RANGE < n < 10^RANGE.
Result<int> select_integer_bytes(int range);

}  // namespace hawser::core
