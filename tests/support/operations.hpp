// Operations and their expected results for tests of reductions.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "core/op/op.hpp"
#include "tests/support/typed_memory.hpp"

namespace hawser::test {

/// x -> a x + b modulo 2^32. Composition is associative and does not commute.
using Affine = std::array<std::uint32_t, 2>;
inline Affine compose(const Affine& left, const Affine& right) {
  return {left[0] * right[0], left[0] * right[1] + left[1]};
}
inline Affine add(const Affine& left, const Affine& right) {
  return {left[0] + right[0], left[1] + right[1]};
}

/// A user's operation on items of two integers in any layout.
inline Ref<core::Op> pair_op(Affine (*function)(const Affine&, const Affine&), bool commutative) {
  return base::make_ref<core::Op>(
      [function](const void* in, void* inout, Count count, Datatype& type) {
        for (Count i = 0; i < count; ++i) {
          const auto* left_item = static_cast<const std::byte*>(in) + i * type.extent();
          auto* right_item = static_cast<std::byte*>(inout) + i * type.extent();
          Affine left, right;
          type.pack(left_item, 1, 0, left.data(), 8);
          type.pack(right_item, 1, 0, right.data(), 8);
          right = function(left, right);
          type.unpack(right_item, 1, 0, right.data(), 8);
        }
      },
      commutative);
}

/// An operation, the layout of its items, and what it does to lists of integers.
struct Reduction {
  const char* name;
  Ref<core::Op> op;
  Datatype* type;
  Affine (*pairwise)(const Affine&, const Affine&);

  /// The items of ranks [first, last] combined in rank order; items [begin, begin + count).
  [[nodiscard]] std::vector<std::int32_t> expected(int first, int last, Count begin,
                                                   Count count) const {
    const Count per_item = integers_per_item(*type);
    auto result = samples(first, begin * per_item, count * per_item);
    for (int rank = first + 1; rank <= last; ++rank) {
      const auto next = samples(rank, begin * per_item, count * per_item);
      for (std::size_t i = 0; i < result.size(); i += 2) {
        const std::size_t second = i + 1 < result.size() ? i + 1 : i;
        const auto u = [](std::int32_t value) { return static_cast<std::uint32_t>(value); };
        const Affine both =
            pairwise({u(result[i]), u(result[second])}, {u(next[i]), u(next[second])});
        result[i] = static_cast<std::int32_t>(both[0]);
        if (second != i) result[second] = static_cast<std::int32_t>(both[1]);
      }
    }
    return result;
  }
};

inline std::vector<Reduction> reductions(const Layouts& types) {
  return {
      {"MPI_SUM of integers", base::make_ref<core::Op>(core::OpCode::sum), &types.integer(), add},
      {"commutative, with gaps", pair_op(add, true), &types.gaps(), add},
      {"ordered", pair_op(compose, false), &types.pair(), compose},
      {"ordered, interleaved", pair_op(compose, false), &types.before(), compose},
  };
}

}  // namespace hawser::test
