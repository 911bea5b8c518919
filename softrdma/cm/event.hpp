// Event: what the connection manager tells whoever has a connection, or asked for a service.
//
// Ownership: values. Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace softrdma::cm {

enum class EventType : std::uint8_t {
  request,         // somebody wants a connection: a new one, which nobody has yet
  reply,           // ours was accepted; confirm() is next
  established,     // the peer confirms
  rejected,        // status: the reason
  unreachable,     // nobody answers (status: -ETIMEDOUT), or the service is not there (why)
  disconnected,    // status: 0, or -ETIMEDOUT if the peer does not answer
  time_wait_over,  // nothing of it is on its way any more
  service_request,
  service_reply,
};

struct Event {
  EventType type{};
  int status = 0;
  std::vector<std::byte> private_data{};
  // Of the peer, as this side sees it: its resources are our depth. Of request and reply.
  std::uint32_t queue_pair = 0;
  std::uint32_t queue_key = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t not_ready_retry_count = 0;
  bool flow_control = false;
  bool has_shared_receives = false;
  std::uint64_t service = 0;  // of requests
};

}  // namespace softrdma::cm
