// Crossings: messages that go from one simulated process's memory to another's without copies and
// without a connection (channel ud_zero_copy).
//
// The receiver clears one part after the other. What leaves may be lost, on the way or half-way
// into the receiver's memory, or be refused by the sender's adapter; the receiver then gives the
// message up after a while. A part is read when it leaves, and written when it comes, so that
// memory that was given up too early is noticed.
//
// Ownership: a part of the Network; borrows the memory of messages that are under way.
// Threads:   one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/random.hpp"
#include "transport/transport.hpp"

namespace hawser::sim {

class Network;

class Crossings {
 public:
  /// What a sender has to know of a part.
  struct Clear {
    std::uint64_t expectation;
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  /// What a process is told of a message of its own, as the data of a parcel.
  struct News {
    enum class Kind : std::uint8_t { cleared, ended };
    Kind kind;
    bool was_done;
    std::uint64_t token;
    Clear clear;
  };

  Crossings(Network& network, std::uint64_t seed) : network_(network), random_(seed, 5) {}

  /// RECEIVER expects MESSAGE of SENDER; nothing if there are too many.
  std::optional<Clear> expect(std::uint32_t receiver, std::uint32_t sender,
                              const transport::DirectMessage& message);
  void stop_expecting(std::uint32_t receiver, std::uint64_t token);
  /// False: not now, or CLEARANCE makes no sense.
  bool send(std::uint32_t sender, std::uint32_t receiver, const transport::DirectMessage& message,
            std::span<const std::byte> clearance);
  /// PROCESS is closed: its memory is gone.
  void forget(std::uint32_t process);

 private:
  struct Expectation {
    std::uint32_t receiver;
    std::uint32_t sender;
    transport::DirectMessage message;
    std::uint64_t arrived = 0;  // bytes; the part that is cleared begins here
  };
  using Part = std::vector<std::byte>;

  std::uint64_t draw_delay_ns();
  Clear clear_next(std::uint64_t number);
  void leave(std::uint32_t sender, std::uint32_t receiver, const transport::DirectMessage& message,
             const Clear& clear);
  void come(const Clear& clear, const Part& part);
  void give_up(std::uint64_t number);
  void tell(std::uint32_t process, std::uint32_t peer, const News& news);

  Network& network_;
  Random random_;
  std::map<std::uint64_t, Expectation> expected_;  // by number
  std::uint64_t last_ = 0;
};

}  // namespace hawser::sim
