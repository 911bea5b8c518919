// ActiveMessages: messages that are not matched, made into parts that every channel carries, and
// put together again on the other side.
//
// Ownership: owned by the backend; holds messages that are not complete and those that wait for
//            progress() to hand them over, so that a handler runs when no transport is in the
//            middle of something.
// Threads:   the lane lock.
// Bounds:    incomplete_max messages of a peer at a time, of active_bytes_max each; a peer that
//            begins more is not one of ours, and its parts are dropped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "channel/endpoint/endpoint_table.hpp"
#include "p2p/backend.hpp"
#include "p2p/protocol/wire.hpp"

namespace hawser::p2p {

class ActiveMessages {
 public:
  static constexpr std::size_t incomplete_max = 64;
  /// Of one part.
  static constexpr std::size_t part_bytes_max =
      channel::frame_bytes_guaranteed - sizeof(channel::FramePrefix) - sizeof(wire::ActiveHeader);

  explicit ActiveMessages(channel::EndpointTable& endpoints) : endpoints_(endpoints) {}

  void set_handler(ActiveClass message_class, const Backend::ActiveHandler& handler) {
    handlers_.at(static_cast<std::size_t>(message_class)) = handler;
  }
  void set_departure_handler(const Backend::DepartureHandler& handler) {
    departure_handler_ = handler;
  }

  Result<void> post(const Identity& peer, ActiveClass message_class,
                    std::span<const std::byte> message);
  void on_frame(channel::Endpoint& from, std::span<const std::byte> body);
  void on_departure(const Departure& departure);
  /// Hands over what has come; true if there was anything.
  bool hand_over() { return !has_come_ ? false : hand_over_now(); }

 private:
  struct Message {
    Identity from;
    std::uint32_t message_class;
    std::uint32_t number;
    std::uint32_t received;
    std::vector<std::byte> bytes;
  };
  void send_part(channel::Endpoint& to, const wire::ActiveHeader& header,
                 std::span<const std::byte> payload);
  Message* find_or_begin(const Identity& from, const wire::ActiveHeader& header);
  bool hand_over_now();

  channel::EndpointTable& endpoints_;
  std::array<Backend::ActiveHandler, active_class_count> handlers_;
  Backend::DepartureHandler departure_handler_;
  std::uint32_t next_number_ = 0;
  bool has_come_ = false;
  std::vector<Message> incomplete_;
  std::vector<Message> complete_;
  std::vector<Departure> departures_;
};

}  // namespace hawser::p2p
