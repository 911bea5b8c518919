// SlotMap: objects under tokens that peers may hold: a token is checked when it comes back, and one
// of an object that is gone finds nothing.
//
// token: 63            32 31             0
//       +----------------+----------------+
//       | generation ≥ 1 | index          |
//       +----------------+----------------+
// Ownership: borrows the objects. Threads: the owner's.
#pragma once

#include <cstdint>
#include <vector>

namespace hawser::base {

template <class T>
class SlotMap {
 public:
  std::uint64_t insert(T* object) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.push_back({nullptr, 0});
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.object = object;
    if (++slot.generation == 0) slot.generation = 1;
    return (static_cast<std::uint64_t>(slot.generation) << 32) | index;
  }
  /// Null if TOKEN is of no object that is here now.
  [[nodiscard]] T* find(std::uint64_t token) const {
    const auto index = static_cast<std::uint32_t>(token);
    if (index >= slots_.size() || slots_[index].generation != token >> 32) return nullptr;
    return slots_[index].object;
  }
  void erase(std::uint64_t token) {
    if (find(token) == nullptr) return;
    const auto index = static_cast<std::uint32_t>(token);
    slots_[index].object = nullptr;
    free_.push_back(index);
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (T* object = slots_[i].object; object != nullptr) visit(*object);
  }

 private:
  struct Slot {
    T* object;
    std::uint32_t generation;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace hawser::base
