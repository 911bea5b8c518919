// What the verbs transport puts on the wire. All fields are little-endian.
//
// A datagram, behind the 40 bytes that the adapter keeps for the global route:
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +---------------+---------------+---------------+---------------+
//   | version (1)   | type          | MTU           | 0             |
//   +---------------+---------------+---------------+---------------+
//   | index of the sender in its job                                |
//   +---------------------------------------------------------------+
//   | epoch of the sender                                           |
//   +---------------------------------------------------------------+
//   | 0                                                             |
//   +---------------------------------------------------------------+
//   | token (64): keyed hash of who sends this to whom (token.hpp)  |
//   |                                                               |
//   +---------------------------------------------------------------+
//   | a frame                                                       |
//
// type: 1: a frame of the channel ud_send. MTU: of the sender's port, as the verbs number it.
// With the 40 bytes a frame begins at a multiple of 64.
//
// An address, as a process publishes it:
//   | version (1) 8 | MTU 8 | LID 16 | number of the datagram queue pair 32 | GID 128 |
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace hawser::transport::verbs {

inline constexpr std::size_t global_route_bytes = 40;

struct DatagramHeader {
  static constexpr std::uint8_t current_version = 1;
  static constexpr std::uint8_t frame = 1;

  std::uint8_t version = current_version;
  std::uint8_t type = frame;
  std::uint8_t mtu = 0;
  std::uint8_t reserved = 0;
  std::uint32_t index = 0;
  std::uint32_t epoch = 0;
  std::uint32_t reserved_too = 0;
  std::uint64_t token = 0;
};
static_assert(sizeof(DatagramHeader) == 24);
static_assert((global_route_bytes + sizeof(DatagramHeader)) % 64 == 0);

struct PortAddress {
  static constexpr std::uint8_t current_version = 1;

  std::uint8_t version = current_version;
  std::uint8_t mtu = 0;
  std::uint16_t lid = 0;
  std::uint32_t queue_pair = 0;
  std::uint8_t gid[16] = {};
};
static_assert(sizeof(PortAddress) == 24);

/// Bytes of an MTU as the verbs number it (1: 256 … 5: 4096); 0 for other numbers.
constexpr std::size_t mtu_bytes(std::uint8_t mtu) {
  return mtu >= 1 && mtu <= 5 ? std::size_t{128} << mtu : 0;
}

/// A T at the front of BYTES, of its current version; nothing if there is none.
template <class T>
std::optional<T> parse(std::span<const std::byte> bytes) {
  T value;
  if (bytes.size() < sizeof(T)) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof(T));
  if (value.version != T::current_version || mtu_bytes(value.mtu) == 0) return std::nullopt;
  return value;
}

}  // namespace hawser::transport::verbs
