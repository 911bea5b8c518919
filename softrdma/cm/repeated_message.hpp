// RepeatedMessage: a message that is sent again until it is answered, a bounded number of times.
//
// Ownership: of the message. Threads: one.
#pragma once

#include <cstdint>
#include <optional>

#include "softrdma/cm/message.hpp"

namespace softrdma::cm {

/// Timeouts of the connection manager: 4.096 us times 2^EXPONENT.
constexpr std::uint64_t timeout_ns(std::uint8_t exponent) {
  constexpr std::uint64_t unit_ns = 4096;
  return unit_ns << exponent;
}

class RepeatedMessage {
 public:
  void start(const Message& message, std::uint64_t wait_ns, std::uint8_t repeats,
             std::uint64_t now_ns) {
    message_ = message;
    wait_ns_ = wait_ns;
    repeats_left_ = repeats;
    deadline_ns_ = now_ns + wait_ns;
  }
  /// The peer needs longer.
  void wait_until(std::uint64_t deadline_ns) {
    if (message_) deadline_ns_ = deadline_ns;
  }
  void stop() { message_.reset(); }
  [[nodiscard]] bool is_waiting() const { return message_.has_value(); }
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const {
    return message_ ? std::optional(deadline_ns_) : std::nullopt;
  }
  [[nodiscard]] bool is_due(std::uint64_t now_ns) const {
    return message_ && now_ns >= deadline_ns_;
  }
  /// It is due: what has to be sent again; null, and it stops, if that was often enough.
  const Message* next(std::uint64_t now_ns) {
    if (repeats_left_ == 0) {
      stop();
      return nullptr;
    }
    --repeats_left_;
    deadline_ns_ = now_ns + wait_ns_;
    return &*message_;
  }

 private:
  std::optional<Message> message_;
  std::uint64_t wait_ns_ = 0;
  std::uint64_t deadline_ns_ = 0;
  std::uint8_t repeats_left_ = 0;
};

}  // namespace softrdma::cm
