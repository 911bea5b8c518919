// Opcodes of the base transport header (InfiniBand Architecture Specification, volume 1, §9.2.1 and
// annex A14), and what an opcode says about the rest of its packet.
//
//    7     5 4             0
//   +-------+---------------+
//   |service|   operation   |
//   +-------+---------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace softrdma::wire {

enum class Service : std::uint8_t {
  reliable_connection = 0,
  unreliable_connection = 1,
  unreliable_datagram = 3,
  congestion = 4,  // its one packet is the congestion notification of RoCEv2
  extended_reliable_connection = 5,
};

/// Whether its messages are acknowledged.
constexpr bool is_reliable(Service service) {
  return service == Service::reliable_connection ||
         service == Service::extended_reliable_connection;
}

enum class Operation : std::uint8_t {
  send_first = 0x00,
  send_middle = 0x01,
  send_last = 0x02,
  send_last_immediate = 0x03,
  send_only = 0x04,
  send_only_immediate = 0x05,
  write_first = 0x06,
  write_middle = 0x07,
  write_last = 0x08,
  write_last_immediate = 0x09,
  write_only = 0x0a,
  write_only_immediate = 0x0b,
  read_request = 0x0c,
  read_response_first = 0x0d,
  read_response_middle = 0x0e,
  read_response_last = 0x0f,
  read_response_only = 0x10,
  acknowledge = 0x11,
  atomic_acknowledge = 0x12,
  compare_swap = 0x13,
  fetch_add = 0x14,
  send_last_invalidate = 0x16,
  send_only_invalidate = 0x17,
};
inline constexpr std::size_t operation_count = 0x18;

struct Opcode {
  Service service;
  Operation operation;

  friend constexpr bool operator==(const Opcode&, const Opcode&) = default;
  [[nodiscard]] constexpr std::uint8_t byte() const {
    return static_cast<std::uint8_t>(static_cast<unsigned>(service) << 5 |
                                     static_cast<unsigned>(operation));
  }
};

/// 0x81, the one opcode of its service; 16 reserved bytes follow (annex A17.9.3).
inline constexpr Opcode congestion_notification{Service::congestion, Operation::send_middle};

/// Where in its message a packet stands.
enum class Place : std::uint8_t { first, middle, last, only };

/// What is asked for, or answered.
enum class Kind : std::uint8_t {
  send,
  write,
  read,
  atomic,
  read_response,
  acknowledge,
  congestion
};

/// The extended headers of an operation, in the order of the wire. Those of the service (deth, and
/// xrceth in requests) come before.
struct Shape {
  Kind kind;
  Place place;
  bool reth = false;
  bool atomic_eth = false;
  bool aeth = false;
  bool atomic_ack_eth = false;
  bool immediate = false;
  bool ieth = false;
  bool payload = false;

  [[nodiscard]] constexpr bool is_request() const {
    return kind == Kind::send || kind == Kind::write || kind == Kind::read || kind == Kind::atomic;
  }
  [[nodiscard]] constexpr bool starts() const {
    return place == Place::first || place == Place::only;
  }
  [[nodiscard]] constexpr bool ends() const { return place == Place::last || place == Place::only; }
};

namespace detail {

inline constexpr auto shapes = [] {
  using enum Kind;
  using enum Place;
  std::array<std::optional<Shape>, operation_count> out{};
  const auto set = [&](Operation operation, Shape shape) {
    out[static_cast<std::size_t>(operation)] = shape;
  };
  set(Operation::send_first, {.kind = send, .place = first, .payload = true});
  set(Operation::send_middle, {.kind = send, .place = middle, .payload = true});
  set(Operation::send_last, {.kind = send, .place = last, .payload = true});
  set(Operation::send_last_immediate,
      {.kind = send, .place = last, .immediate = true, .payload = true});
  set(Operation::send_last_invalidate,
      {.kind = send, .place = last, .ieth = true, .payload = true});
  set(Operation::send_only, {.kind = send, .place = only, .payload = true});
  set(Operation::send_only_immediate,
      {.kind = send, .place = only, .immediate = true, .payload = true});
  set(Operation::send_only_invalidate,
      {.kind = send, .place = only, .ieth = true, .payload = true});
  set(Operation::write_first, {.kind = write, .place = first, .reth = true, .payload = true});
  set(Operation::write_middle, {.kind = write, .place = middle, .payload = true});
  set(Operation::write_last, {.kind = write, .place = last, .payload = true});
  set(Operation::write_last_immediate,
      {.kind = write, .place = last, .immediate = true, .payload = true});
  set(Operation::write_only, {.kind = write, .place = only, .reth = true, .payload = true});
  set(Operation::write_only_immediate,
      {.kind = write, .place = only, .reth = true, .immediate = true, .payload = true});
  set(Operation::read_request, {.kind = read, .place = only, .reth = true});
  set(Operation::read_response_first,
      {.kind = read_response, .place = first, .aeth = true, .payload = true});
  set(Operation::read_response_middle, {.kind = read_response, .place = middle, .payload = true});
  set(Operation::read_response_last,
      {.kind = read_response, .place = last, .aeth = true, .payload = true});
  set(Operation::read_response_only,
      {.kind = read_response, .place = only, .aeth = true, .payload = true});
  set(Operation::acknowledge, {.kind = acknowledge, .place = only, .aeth = true});
  set(Operation::atomic_acknowledge,
      {.kind = acknowledge, .place = only, .aeth = true, .atomic_ack_eth = true});
  set(Operation::compare_swap, {.kind = atomic, .place = only, .atomic_eth = true});
  set(Operation::fetch_add, {.kind = atomic, .place = only, .atomic_eth = true});
  return out;
}();

constexpr bool allows(Service service, const Shape& shape, Operation operation) {
  switch (service) {
    case Service::reliable_connection:
    case Service::extended_reliable_connection:
      return true;
    case Service::unreliable_connection:
      return (shape.kind == Kind::send || shape.kind == Kind::write) && !shape.ieth;
    case Service::unreliable_datagram:
      return operation == Operation::send_only || operation == Operation::send_only_immediate;
    case Service::congestion:
      return false;
  }
  return false;
}

}  // namespace detail

/// Nothing for a service or an operation that does not exist, or not together.
constexpr std::optional<Shape> shape_of(Opcode opcode) {
  if (opcode == congestion_notification)
    return Shape{.kind = Kind::congestion, .place = Place::only, .payload = true};
  const auto operation = static_cast<std::size_t>(opcode.operation);
  if (operation >= operation_count || !detail::shapes[operation]) return std::nullopt;
  const Shape& shape = *detail::shapes[operation];
  if (!detail::allows(opcode.service, shape, opcode.operation)) return std::nullopt;
  return shape;
}

/// BYTE as it came; shape_of() says whether there is such an opcode.
constexpr Opcode opcode_from(std::uint8_t byte) {
  return {static_cast<Service>(byte >> 5), static_cast<Operation>(byte & 0x1f)};
}

}  // namespace softrdma::wire
