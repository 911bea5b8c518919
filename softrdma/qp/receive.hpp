// What the receiving half of a queue pair, connected or not, needs and tells.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "softrdma/wire/tag_header.hpp"

namespace softrdma::qp {

/// Where receives come from: the queue of the queue pair, or one shared.
class ReceiveSource {
 public:
  virtual ~ReceiveSource() = default;
  /// Takes the next receive for a message of RECEIVE_QUEUE (XRC; else 0): its id and entries. False
  /// if there is none.
  virtual bool take_receive(std::uint32_t receive_queue, std::uint64_t* id,
                            std::vector<ibv_sge>* entries) = 0;
};

/// A message that a receive was taken for.
struct Received {
  std::uint64_t id = 0;
  std::uint32_t receive_queue = 0;  // XRC
  ibv_wc_status status = IBV_WC_SUCCESS;
  ibv_wc_opcode opcode = IBV_WC_RECV;
  std::uint32_t bytes = 0;
  unsigned flags = 0;  // ibv_wc_flags
  std::array<std::byte, 4> immediate{};
  std::uint32_t invalidated_key = 0;
  bool solicited = false;
  std::uint32_t source_qp = 0;  // datagrams, and what follows
  std::uint16_t source_lid = 0;
  std::uint8_t service_level = 0;
  ibv_wc_tm_info tag{};  // of a message that matched one
};

/// A rendezvous: what is to be read from a sender's memory, and where it belongs. The sender is
/// told afterwards.
struct Transfer {
  std::uint64_t id = 0;  // of the buffer
  wire::TagHeader header;
  std::vector<ibv_sge> entries;
  bool solicited = false;
};

class ResponderListener {
 public:
  virtual ~ResponderListener() = default;
  virtual void on_received(const Received& received) = 0;
  /// The first request after start().
  virtual void on_established() = 0;
  /// A request broke the rules, and was refused: nothing more is done until start(). EVENT is that
  /// of the queue pair, unless the receive that failed tells of it.
  virtual void on_receive_failure(std::optional<ibv_event_type> event) = 0;
  /// False if no window or region has KEY, or it may not be invalidated by the peer.
  virtual bool invalidate(std::uint32_t key) = 0;
  /// A message matched a tag, which on_received() has told, and its data is for us to fetch.
  virtual void on_rendezvous(const Transfer& transfer) = 0;
};

}  // namespace softrdma::qp
