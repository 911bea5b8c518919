// StaleParts: which parts of a registered region have lost the memory that they were registered
// with.
//
// An adapter has pinned that memory, and would reach it still; a device that works on addresses
// reaches what lies there now. Threads: the adapter's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace softrdma::memory {

/// What became of memory after it was registered.
enum class Change : std::uint8_t { unmapped, moved, discarded };

/// Addresses in this process.
struct StalePart {
  std::uintptr_t begin;
  std::uintptr_t end;
  Change change;
};

class StaleParts {
 public:
  /// What is stale already stays as it is: what happened first, counts.
  void add(const StalePart& part);
  /// The first one that MEMORY touches; null: none.
  [[nodiscard]] const StalePart* find(std::span<const std::byte> memory) const;

 private:
  std::vector<StalePart> parts_;  // by address, disjoint
};

}  // namespace softrdma::memory
