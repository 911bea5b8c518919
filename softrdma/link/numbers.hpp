// Numbers: who has which queue pair number on an adapter, of which there may be several processes.
//
// Threads: any, where several processes share them; else the device's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

namespace softrdma::link {

/// 0 and 1 are special in InfiniBand.
inline constexpr std::uint32_t first_number = 16;
/// The queue pair of the general services, connection management among them: a packet for it comes
/// to each process that said so, Link::open_management().
inline constexpr std::uint32_t management_number = 1;
/// What stands for all queue pairs of a multicast group; nobody has it.
inline constexpr std::uint32_t multicast_number = 0xffffff;

class Numbers {
 public:
  virtual ~Numbers() = default;
  /// A number of 24 bits that nobody has, and nobody had lately: a packet for a queue pair that is
  /// gone should find nobody. Nothing if all are taken.
  virtual std::optional<std::uint32_t> take() = 0;
  virtual void give_back(std::uint32_t number) = 0;
};

/// Those of an adapter that one process has for itself.
class OwnNumbers final : public Numbers {
 public:
  std::optional<std::uint32_t> take() override {
    constexpr std::uint32_t most = multicast_number - 1;
    if (taken_.size() > most - first_number) return std::nullopt;
    do {
      last_ = last_ >= most || last_ < first_number ? first_number : last_ + 1;
    } while (!taken_.insert(last_).second);
    return last_;
  }
  void give_back(std::uint32_t number) override { taken_.erase(number); }

 private:
  std::uint32_t last_ = 0;
  std::unordered_set<std::uint32_t> taken_;
};

}  // namespace softrdma::link
