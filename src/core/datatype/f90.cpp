#include "core/datatype/f90.hpp"

#include <fmt/format.h>

namespace hawser::core {
namespace {

constexpr int kUndefined = -32766;  // MPI_UNDEFINED

struct RealKind {
  int bytes;
  int precision;
  int range;
};

// REAL(2) is missing on purpose: Fortran compilers do not choose it.
constexpr RealKind kRealKinds[] = {{4, 6, 37}, {8, 15, 307}, {16, 33, 4931}};

struct IntegerKind {
  int bytes;
  int range;
};

constexpr IntegerKind kIntegerKinds[] = {{1, 2}, {2, 4}, {4, 9}, {8, 18}, {16, 38}};

bool is_digits(int value) { return value == kUndefined || value >= 0; }

}  // namespace

Result<int> select_real_bytes(int precision, int range) {
  if (is_digits(precision) && is_digits(range))
    for (const RealKind& kind : kRealKinds)
      // MPI_UNDEFINED is negative and asks for nothing.
      if (precision <= kind.precision && range <= kind.range) return kind.bytes;
  return Error(ErrorClass::arg,
               fmt::format("precision {} and range {} fit no real kind; the precision must be in "
                           "[0,33] and the range in [0,4931], or MPI_UNDEFINED",
                           precision, range));
}

Result<int> select_integer_bytes(int range) {
  if (range >= 0)
    for (const IntegerKind& kind : kIntegerKinds)
      if (range <= kind.range) return kind.bytes;
  return Error(ErrorClass::arg,
               fmt::format("range {} fits no integer kind; it must be in [0,38]", range));
}

}  // namespace hawser::core
