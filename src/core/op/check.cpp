#include <fmt/format.h>

#include <functional>
#include <optional>

#include "base/assert.hpp"
#include "core/datatype/basic.hpp"
#include "core/op/kernels.hpp"

namespace hawser::core {
namespace {

constexpr std::uint32_t kByteHandle = 0x247;  // not MPI_PACKED, which is bytes as well

/// Whether the standard's table of operations and groups of types (MPI-5.0 §6.9.2) has this entry.
bool is_allowed(OpCode code, const Basic& basic) {
  const Scalar scalar = basic.scalar();
  const bool integer = scalar == Scalar::signed_integer || scalar == Scalar::unsigned_integer;
  const bool floating = scalar == Scalar::floating || scalar == Scalar::long_double;
  const bool complex = scalar == Scalar::complex_floating || scalar == Scalar::complex_long_double;
  const bool logical = scalar == Scalar::logical || scalar == Scalar::boolean;
  switch (code) {
    case OpCode::sum:
    case OpCode::prod:
      return integer || floating || complex;
    case OpCode::min:
    case OpCode::max:
      return integer || floating;
    case OpCode::land:
    case OpCode::lor:
    case OpCode::lxor:
      return logical || (integer && basic.language == Language::c);
    case OpCode::band:
    case OpCode::bor:
    case OpCode::bxor:
      return integer || basic.handle == kByteHandle;
    case OpCode::minloc:
    case OpCode::maxloc:
      return basic.is_pair();
    default:
      return false;
  }
}

const char* allowed_types(OpCode code) {
  switch (code) {
    case OpCode::sum:
    case OpCode::prod:
      return "integer, floating-point and complex types";
    case OpCode::min:
    case OpCode::max:
      return "integer and floating-point types";
    case OpCode::land:
    case OpCode::lor:
    case OpCode::lxor:
      return "C integer and logical types";
    case OpCode::band:
    case OpCode::bor:
    case OpCode::bxor:
      return "integer types and MPI_BYTE";
    default:
      return "(value, index) pair types";
  }
}

std::string name_of(const Datatype& type) {
  if (!type.name().empty()) return type.name();
  return type.basic() == nullptr ? "a derived datatype" : "an unnamed predefined datatype";
}

bool has_kernel(OpCode code, const Basic& basic) {
  return basic.is_pair() ? find_pair_kernel(code, basic) != nullptr
                         : find_kernel(code, basic.value) != nullptr;
}

/// Among the predefined types; a pair of the user's own (MPI_Type_get_value_index) has none.
std::optional<std::size_t> place_of(const Basic& basic) {
  const std::span<const Basic> types = predefined_types();
  const std::less<const Basic*> before;
  if (before(&basic, types.data()) || !before(&basic, types.data() + types.size())) return {};
  return static_cast<std::size_t>(&basic - types.data());
}

}  // namespace

const char* op_name(OpCode code) {
  switch (code) {
    case OpCode::null:
      return "MPI_OP_NULL";
    case OpCode::sum:
      return "MPI_SUM";
    case OpCode::min:
      return "MPI_MIN";
    case OpCode::max:
      return "MPI_MAX";
    case OpCode::prod:
      return "MPI_PROD";
    case OpCode::band:
      return "MPI_BAND";
    case OpCode::bor:
      return "MPI_BOR";
    case OpCode::bxor:
      return "MPI_BXOR";
    case OpCode::land:
      return "MPI_LAND";
    case OpCode::lor:
      return "MPI_LOR";
    case OpCode::lxor:
      return "MPI_LXOR";
    case OpCode::minloc:
      return "MPI_MINLOC";
    case OpCode::maxloc:
      return "MPI_MAXLOC";
    case OpCode::replace:
      return "MPI_REPLACE";
    case OpCode::no_op:
      return "MPI_NO_OP";
  }
  return "an unknown operation";
}

Op::Op(OpCode code) : code_(code), commutative_(true) {
  const std::span<const Basic> types = predefined_types();
  HAWSER_DEBUG_ASSERT(types.size() <= works_on_.size());
  for (std::size_t place = 0; place < types.size(); ++place)
    works_on_[place] = is_allowed(code, types[place]) && has_kernel(code, types[place]);
}

Result<void> Op::check(const Datatype& type) const {
  if (!is_predefined()) return {};
  if (type.basic() != nullptr) [[likely]] {
    const std::optional<std::size_t> place = place_of(describe(type));
    if (place && works_on_[*place]) [[likely]]
      return {};
  }
  if (code_ == OpCode::replace || code_ == OpCode::no_op)
    return Error(ErrorClass::op,
                 fmt::format("{} on {}: this operation is for one-sided accumulates, not for "
                             "reductions",
                             op_name(code_), name_of(type)));
  if (type.basic() == nullptr || !is_allowed(code_, describe(type)))
    return Error(ErrorClass::op, fmt::format("{} does not work on {}; it works on {}",
                                             op_name(code_), name_of(type), allowed_types(code_)));
  if (!has_kernel(code_, describe(type)))
    return Error(ErrorClass::op,
                 fmt::format("{} on {}: this platform's compiler has no arithmetic for that type",
                             op_name(code_), name_of(type)));
  return {};
}

}  // namespace hawser::core
