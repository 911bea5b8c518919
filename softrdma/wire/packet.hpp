// Packet: a transport packet of InfiniBand and RoCEv2 between its bytes and its fields (InfiniBand
// Architecture Specification, volume 1, chapter 9; annexes A14 for XRC, A17 for RoCEv2). Fields of
// the wire are big-endian, as the specification wants it.
//
// Base transport header, 12 bytes; TVer is 0:
//    0               1               2               3
//   +---------------+-+-+---+-------+-------------------------------+
//   | opcode        |S|M|Pad| TVer  | partition key                 |
//   +-+-+-----------+-+-+---+-------+-------------------------------+
//   |F|B| reserved  | destination queue pair                        |
//   +-+-+-----------+-----------------------------------------------+
//   |A| reserved    | packet sequence number                        |
//   +-+-------------+-----------------------------------------------+
//   S solicited event, M migrated, F and B congestion notifications, A acknowledgement wanted
//
// What may follow it, in this order:
//   XRCETH        4: 0 (8) | shared receive queue (24)                  requests of XRC
//   DETH          8: queue key (32) | 0 (8) | source queue pair (24)    datagrams
//   RETH         16: address (64) | remote key (32) | length (32)       write and read requests
//   AtomicETH    28: address (64) | remote key (32) | swap or add (64) | compare (64)
//   AETH          4: syndrome (8) | message sequence number (24)        answers
//   AtomicAckETH  8: the value before (64)
//   ImmDt         4: immediate data, as given
//   IETH          4: remote key to invalidate
//   payload, and 0 to 3 bytes (Pad) up to a multiple of 4
// and last the ICRC (icrc.hpp), which is not looked at here.
//
// Ownership: a parsed packet points into the bytes it came in. Threads: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "softrdma/wire/opcode.hpp"
#include "softrdma/wire/payload.hpp"

namespace softrdma::wire {

/// Of 24 bits: sequence numbers count modulo this, queue pairs are numbered below it.
inline constexpr std::uint32_t number_mask = 0xffffff;

/// What a memory request names: RETH, and the first part of AtomicETH.
struct RemoteRange {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t bytes = 0;  // always 8 in an atomic request
};

/// Every field that a packet may have; which ones it has, its opcode says.
struct Headers {
  Opcode opcode{};
  bool solicited = false;
  bool migrated = true;  // as without path migration
  bool ack_request = false;
  bool forward_congestion = false;
  bool backward_congestion = false;
  std::uint16_t partition_key = 0xffff;
  std::uint32_t destination_qp = 0;
  std::uint32_t sequence = 0;

  std::uint32_t receive_queue = 0;  // XRCETH
  std::uint32_t queue_key = 0;      // DETH
  std::uint32_t source_qp = 0;
  RemoteRange range{};  // RETH, AtomicETH
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  std::uint8_t syndrome = 0;  // AETH
  std::uint32_t message_sequence = 0;
  std::uint64_t original = 0;  // AtomicAckETH
  /// ImmDt in the order of the wire; IETH: the key.
  std::array<std::byte, 4> immediate{};
  std::uint32_t invalidated_key = 0;
};

struct Packet {
  Headers headers;
  Shape shape{};
  Payload payload;  // without padding
};

/// Base header and the most that can follow it: XRCETH, AtomicETH.
inline constexpr std::size_t headers_bytes_max = 12 + 4 + 28;
inline constexpr std::size_t padding_bytes_max = 3;

constexpr std::size_t padding_of(std::size_t payload_bytes) { return -payload_bytes & 3; }

/// BYTES: from the base header to the padding, without ICRC. Nothing if they are no packet: too
/// short, an unknown opcode, a payload where none belongs.
std::optional<Packet> parse(std::span<const std::byte> bytes);

/// Writes the headers of a packet whose payload has PAYLOAD_BYTES; returns how many bytes they
/// have. The payload follows, then padding_of(payload_bytes) zeros. The opcode must exist.
std::size_t build(const Headers& headers, std::size_t payload_bytes,
                  std::span<std::byte, headers_bytes_max> out);

}  // namespace softrdma::wire
