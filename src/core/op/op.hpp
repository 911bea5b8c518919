// Op: reduction operations, predefined and made by users (MPI-5.0 §6.9).
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/datatype/datatype.hpp"
#include "core/object.hpp"

namespace hawser::core {

/// Predefined operations with the numbers of their handles in the standard ABI.
enum class OpCode : std::uint8_t {
  null = 0x20,
  sum = 0x21,
  min = 0x22,
  max = 0x23,
  prod = 0x24,
  band = 0x28,
  bor = 0x29,
  bxor = 0x2a,
  land = 0x30,
  lor = 0x31,
  lxor = 0x32,
  minloc = 0x38,
  maxloc = 0x39,
  replace = 0x3c,
  no_op = 0x3d,
};

/// inout[i] = in[i] op inout[i] for COUNT elements.
using Kernel = void (*)(const void* in, void* inout, Count count);

class Op : public Object {
 public:
  /// inout[i] = in[i] op inout[i] for COUNT items. A user's function: called without our locks.
  using Function = std::function<void(const void* in, void* inout, Count count, Datatype& type)>;

  explicit Op(OpCode code);
  Op(Function function, bool commutative)
      : code_(OpCode::null), commutative_(commutative), function_(std::move(function)) {}

  [[nodiscard]] bool is_predefined() const { return code_ != OpCode::null; }
  [[nodiscard]] bool is_commutative() const { return commutative_; }
  [[nodiscard]] OpCode code() const { return code_; }

  /// MPI_ERR_OP unless this operation may be used on TYPE in a reduction (MPI-5.0 §6.9.2); the
  /// sentence names both. REPLACE and NO_OP are for RMA only.
  Result<void> check(const Datatype& type) const;
  /// inout[i] = in[i] op inout[i]. check() must have passed. A predefined operation on a basic type
  /// vectorises; buffers may be unaligned.
  void apply(const void* in, void* inout, Count count, Datatype& type) const;
  /// The loop by which apply() does that, for who calls it often; null: it takes more than one
  /// loop, and apply() has to be called.
  [[nodiscard]] Kernel kernel_for(const Datatype& type) const;

 private:
  static constexpr std::size_t predefined_types_max = 128;

  OpCode code_;
  bool commutative_;
  std::bitset<predefined_types_max> works_on_;  // by their place among predefined_types()
  Function function_;
};

/// The name of a predefined operation as the standard spells it, such as "MPI_SUM".
const char* op_name(OpCode code);

}  // namespace hawser::core
