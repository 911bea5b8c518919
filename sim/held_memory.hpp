// HeldMemory: which memory of simulated processes the adapters may reach, by keys that are never
// used again, and a transport::HeldMemory that stands for one of them.
//
// Ownership: HeldMemories is a part of the Network and outlives what it gave. Threads: one.
#pragma once

#include <cstdint>
#include <map>

#include "transport/transport.hpp"

namespace hawser::sim {

class HeldMemories {
 public:
  std::uint32_t add(std::uint64_t address, std::size_t bytes) {
    held_.emplace(++last_key_, Range{address, bytes});
    return last_key_;
  }
  void remove(std::uint32_t key) { held_.erase(key); }
  /// All of BYTES from ADDRESS on may be reached by KEY.
  [[nodiscard]] bool covers(std::uint32_t key, std::uint64_t address, std::size_t bytes) const {
    const auto found = held_.find(key);
    if (found == held_.end() || address < found->second.address) return false;
    const std::uint64_t offset = address - found->second.address;
    return offset <= found->second.bytes && bytes <= found->second.bytes - offset;
  }

 private:
  struct Range {
    std::uint64_t address;
    std::size_t bytes;
  };
  std::map<std::uint32_t, Range> held_;
  std::uint32_t last_key_ = 0;
};

class SimHeldMemory final : public transport::HeldMemory {
 public:
  SimHeldMemory(HeldMemories& memories, std::uint64_t address, std::size_t bytes)
      : memories_(memories), key_(memories.add(address, bytes)) {}
  ~SimHeldMemory() override { memories_.remove(key_); }
  [[nodiscard]] std::uint32_t remote_key() const override { return key_; }
  [[nodiscard]] std::uint32_t local_key() const override { return key_; }

 private:
  HeldMemories& memories_;
  const std::uint32_t key_;
};

}  // namespace hawser::sim
