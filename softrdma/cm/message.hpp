// Messages of the connection manager, between their bytes and their fields (InfiniBand Architecture
// Specification, volume 1, §12.6 and §12.11): datagrams of 256 bytes from queue pair 1 to queue
// pair 1. Fields of the wire are big-endian.
//
// The header of every management datagram (§13.4.3), 24 bytes:
//    0               1               2               3
//   +---------------+---------------+---------------+---------------+
//   | base version 1| class 7       | class vers. 2 | method 3: send|
//   +---------------+---------------+---------------+---------------+
//   | status 0                      | class specific 0              |
//   +-------------------------------+-------------------------------+
//   | transaction (64)                                              |
//   |                                                               |
//   +-------------------------------+-------------------------------+
//   | attribute: which message      | reserved                      |
//   +-------------------------------+-------------------------------+
//   | attribute modifier 0                                          |
//   +---------------------------------------------------------------+
// 232 bytes follow it, whose fields message.cpp lists by their bits, as the tables of the
// specification do; the last of each is the private data, which is the consumer's.
//
// Ownership: values. Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

namespace softrdma::cm {

inline constexpr std::size_t datagram_bytes = 256;
using Datagram = std::array<std::byte, datagram_bytes>;
using Gid = std::array<std::byte, 16>;

/// Transport services, as a request names them.
enum class Service : std::uint8_t { reliable = 0, unreliable = 1, extended = 3 };

/// Why a request is rejected (table 108), as far as we say so.
namespace reason {
inline constexpr std::uint16_t timeout = 4;
inline constexpr std::uint16_t unknown_communication = 6;
inline constexpr std::uint16_t unknown_service = 8;
inline constexpr std::uint16_t stale_connection = 10;
inline constexpr std::uint16_t consumer = 28;
}  // namespace reason

/// What becomes of a service request (table 121), as far as we say so.
namespace service_status {
inline constexpr std::uint8_t valid = 0;
inline constexpr std::uint8_t unsupported = 1;
inline constexpr std::uint8_t rejected = 2;
}  // namespace service_status

/// Which message is rejected, or takes long.
enum class Kind : std::uint8_t { request = 0, reply = 1, other = 2 };

/// The way that a connection is to go; local is the requester's end.
struct PrimaryPath {
  std::uint16_t local_lid = 0;
  std::uint16_t remote_lid = 0;
  Gid local_gid{};
  Gid remote_gid{};
  std::uint32_t flow_label = 0;
  std::uint8_t rate = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t service_level = 0;
  bool is_subnet_local = true;
  std::uint8_t ack_timeout = 0;  // as ibv_qp_attr has it
};

/// REQ
struct ConnectRequest {
  std::uint32_t local_id = 0;
  std::uint64_t service = 0;
  std::uint64_t adapter_guid = 0;
  std::uint32_t queue_key = 0;
  std::uint32_t queue_pair = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t remote_response_timeout = 0;  // how long the peer may take: 4.096 us times 2^this
  Service transport = Service::reliable;
  bool flow_control = false;
  std::uint32_t starting_sequence = 0;      // of what the requester receives
  std::uint8_t local_response_timeout = 0;  // how long the requester may take
  std::uint8_t retry_count = 0;
  std::uint16_t partition_key = 0xffff;
  std::uint8_t path_mtu = 0;  // as ibv_mtu
  std::uint8_t not_ready_retry_count = 0;
  std::uint8_t retries_max = 0;  // of messages of the connection manager
  bool has_shared_receives = false;
  PrimaryPath path{};
  std::array<std::byte, 92> private_data{};
};

/// MRA: an answer takes longer.
struct Delay {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  Kind of = Kind::request;
  std::uint8_t service_timeout = 0;  // 4.096 us times 2^this
  std::array<std::byte, 222> private_data{};
};

/// REJ
struct Rejection {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  Kind of = Kind::request;
  std::uint8_t information_bytes = 0;
  std::uint16_t reason = 0;
  std::array<std::byte, 72> information{};
  std::array<std::byte, 148> private_data{};
};

/// REP
struct ConnectReply {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::uint32_t queue_key = 0;
  std::uint32_t queue_pair = 0;
  std::uint32_t starting_sequence = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;
  bool flow_control = false;
  std::uint8_t not_ready_retry_count = 0;
  bool has_shared_receives = false;
  std::uint64_t adapter_guid = 0;
  std::array<std::byte, 196> private_data{};
};

/// RTU
struct ReadyToUse {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::array<std::byte, 224> private_data{};
};

/// DREQ
struct DisconnectRequest {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::uint32_t remote_queue_pair = 0;
  std::array<std::byte, 220> private_data{};
};

/// DREP
struct DisconnectReply {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::array<std::byte, 224> private_data{};
};

/// SIDR_REQ
struct ServiceRequest {
  std::uint32_t request_id = 0;
  std::uint16_t partition_key = 0xffff;
  std::uint64_t service = 0;
  std::array<std::byte, 216> private_data{};
};

/// SIDR_REP
struct ServiceReply {
  std::uint32_t request_id = 0;
  std::uint8_t status = 0;
  std::uint32_t queue_pair = 0;
  std::uint64_t service = 0;
  std::uint32_t queue_key = 0;
  std::array<std::byte, 136> private_data{};
};

using Message = std::variant<ConnectRequest, Delay, Rejection, ConnectReply, ReadyToUse,
                             DisconnectRequest, DisconnectReply, ServiceRequest, ServiceReply>;

/// Nothing for what is no message of the connection manager, or none that is known here.
std::optional<Message> parse(std::span<const std::byte> bytes);
Datagram build(const Message& message, std::uint64_t transaction);

}  // namespace softrdma::cm
