// Typed memory for tests: items of some datatype between sentinel bytes, so that a comparison sees
// every byte that should not have been touched.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/datatype/datatype.hpp"
#include "p2p/backend.hpp"

namespace hawser::test {

using base::Count;
using base::Ref;
using core::Datatype;

/// Layouts of 32-bit integers.
class Layouts {
 public:
  Layouts() {
    integer_ = table_.find(0x250);  // MPI_INT32_T
    pair_ = commit(*core::make_contiguous(2, *integer_, false));
    // Two integers with a hole before, between and after them.
    gaps_ = resized({8, 16}, 4, 28);
    // One that begins before its address, and whose items interleave with their neighbours.
    before_ = resized({-4, 8}, -4, 8);
  }
  [[nodiscard]] Datatype& integer() const { return *integer_; }
  [[nodiscard]] Datatype& pair() const { return *pair_; }
  [[nodiscard]] Datatype& gaps() const { return *gaps_; }
  [[nodiscard]] Datatype& before() const { return *before_; }
  [[nodiscard]] std::vector<Datatype*> all() const {
    return {integer_, pair_.get(), gaps_.get(), before_.get()};
  }

 private:
  static Ref<Datatype> commit(Ref<Datatype> type) {
    type->commit();
    return type;
  }
  [[nodiscard]] Ref<Datatype> resized(std::array<Count, 2> places, Count lower_bound,
                                      Count extent) const {
    auto ragged = *core::make_hindexed_block(1, places, *integer_, false);
    return commit(*core::make_resized(*ragged, lower_bound, extent, false));
  }

  core::TypeTable table_;
  Datatype* integer_ = nullptr;
  Ref<Datatype> pair_, gaps_, before_;
};

inline Count integers_per_item(const Datatype& type) { return type.size() / 4; }

/// The INDEX-th integer that RANK contributes; large enough to show any mix-up.
inline std::int32_t sample(int rank, Count index) {
  return static_cast<std::int32_t>(1000003 * (rank + 1) + 7 * index);
}
inline std::vector<std::int32_t> samples(int rank, Count first, Count count) {
  std::vector<std::int32_t> values;
  for (Count i = 0; i < count; ++i) values.push_back(sample(rank, first + i));
  return values;
}

/// Room for ITEMS items of TYPE (of positive extent).
class TypedMemory {
 public:
  TypedMemory(Datatype& type, Count items)
      : type_(&type),
        items_(items),
        margin_(64 - std::min(type.lower_bound(), type.true_lower_bound())),
        memory_(static_cast<std::size_t>(
                    margin_ + 64 + items * type.extent() +
                    std::max<Count>(0, type.true_lower_bound() + type.true_extent())),
                std::byte{0x5a}) {}

  [[nodiscard]] void* data() { return memory_.data() + margin_; }
  [[nodiscard]] p2p::Buffer buffer() { return {data(), items_, type_}; }
  [[nodiscard]] p2p::Buffer buffer(Count items) { return {data(), items, type_}; }
  [[nodiscard]] p2p::ConstBuffer const_buffer() { return {data(), items_, type_}; }
  [[nodiscard]] p2p::ConstBuffer const_buffer(Count items) { return {data(), items, type_}; }

  /// Items from FIRST on become VALUES.
  void write(Count first, const std::vector<std::int32_t>& values) {
    if (values.empty()) return;
    const auto bytes = static_cast<Count>(values.size() * 4);
    type_->unpack(memory_.data() + margin_ + first * type_->extent(), bytes / type_->size(), 0,
                  values.data(), bytes);
  }
  friend bool operator==(const TypedMemory& a, const TypedMemory& b) {
    return a.memory_ == b.memory_;
  }

 private:
  Datatype* type_;
  Count items_;
  Count margin_;
  std::vector<std::byte> memory_;
};

}  // namespace hawser::test
