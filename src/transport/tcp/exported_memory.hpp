// ExportedMemory: the memory of this process that one peer may read, by keys that it was told.
//
// Memory that is held has no key before somebody asks for it: what a process receives into is held
// as well, and nobody may read it.
// Ownership: of the table; memory that is held outlives neither it nor what it lies in. Copies of
//            the table's handle keep it, since holders may end after the link.
// Threads:   the lane lock.
// Invariant: a key says nothing of where the memory is, and none is given twice within 2^32 times.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "transport/transport.hpp"

namespace hawser::transport::tcp {

class ExportedMemory {
 public:
  /// BYTES from ADDRESS on, which the peer may read once it has the key, until it is let go.
  [[nodiscard]] std::unique_ptr<HeldMemory> hold(std::uint64_t address, std::size_t bytes) {
    return std::make_unique<Held>(table_, Range{address, bytes});
  }
  /// All of BYTES from ADDRESS on is memory of KEY.
  [[nodiscard]] bool may_read(std::uint32_t key, std::uint64_t address, std::uint64_t bytes) const {
    const auto found = table_->ranges.find(key);
    if (found == table_->ranges.end()) return false;
    const Range& range = found->second;
    return address >= range.address && address - range.address <= range.bytes &&
           bytes <= range.bytes - (address - range.address);
  }

 private:
  struct Range {
    std::uint64_t address;
    std::uint64_t bytes;
  };
  struct Table {
    std::unordered_map<std::uint32_t, Range> ranges;
    std::uint32_t last_key = 0;
  };

  class Held final : public HeldMemory {
   public:
    Held(std::shared_ptr<Table> table, const Range& range)
        : table_(std::move(table)), range_(range) {}
    ~Held() override {
      if (key_ != 0) table_->ranges.erase(key_);
    }
    [[nodiscard]] std::uint32_t remote_key() const override {
      while (key_ == 0) {
        const std::uint32_t key = ++table_->last_key;
        if (key != 0 && table_->ranges.emplace(key, range_).second) key_ = key;
      }
      return key_;
    }
    /// No adapter wants one.
    [[nodiscard]] std::uint32_t local_key() const override { return 0; }

   private:
    const std::shared_ptr<Table> table_;
    const Range range_;
    mutable std::uint32_t key_ = 0;  // 0: nobody has asked for it
  };

  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace hawser::transport::tcp
