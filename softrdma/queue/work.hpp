// What a work request says, once it is in a queue (InfiniBand Architecture Specification, volume 1,
// §11.4.1). Scatter/gather entries are those of libibverbs; as there, addresses and keys are in the
// order of the host, immediate data in that of the wire.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "softrdma/queue/work_ring.hpp"

namespace softrdma::queue {

struct SendWork {
  std::uint64_t id;
  std::uint64_t remote_address;
  std::uint64_t compare_or_add;
  std::uint64_t swap;
  ibv_wr_opcode opcode;
  unsigned flags;  // ibv_send_flags; IBV_SEND_SIGNALED also where the queue pair signals all
  std::uint32_t remote_key;
  std::uint32_t remote_qp;       // datagrams
  std::uint32_t queue_key;       // datagrams
  std::uint32_t receive_queue;   // XRC
  std::uint32_t bytes;           // of the message
  std::uint32_t invalidate_key;  // SEND_WITH_INV, LOCAL_INV
  std::array<std::byte, 4> immediate;
  std::uint16_t entries;  // scatter/gather entries; of inline data none
  bool is_inline;
  bool is_of_device;  // not posted by the program, who does not hear of it
  // Of the requester, once it has begun
  std::uint32_t first_sequence;
  std::uint32_t packets;  // 0: it needs none
  /// Known to be over, by other means than acknowledgement of its packets.
  bool is_over;
  ibv_wc_status status;  // then
};

/// Of work that binds a window, in the place of entries: keys as the window and its region have
/// them, access as ibv_access_flags.
struct BindWork {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t window_key;
  std::uint32_t new_key;
  std::uint32_t region_key;
  unsigned access;
};

struct ReceiveWork {
  std::uint64_t id;
  std::uint32_t entries;
};

/// Send work with its address (datagrams only), and entries, inline data or what is to be bound.
class SendQueue : public WorkRing<SendWork> {
 public:
  SendQueue(std::uint32_t capacity, std::uint32_t entries_max, std::uint32_t inline_bytes_max,
            bool has_addresses)
      : WorkRing(capacity, address_bytes(has_addresses) +
                               std::max({entries_max * sizeof(ibv_sge),
                                         std::size_t{inline_bytes_max}, sizeof(BindWork)})),
        data_offset_(address_bytes(has_addresses)) {}

  ibv_ah_attr& address(SendWork& work) const {
    return *reinterpret_cast<ibv_ah_attr*>(room(work).data());
  }
  std::span<ibv_sge> entries(SendWork& work) const {
    return {reinterpret_cast<ibv_sge*>(room(work).data() + data_offset_), work.entries};
  }
  BindWork& bind(SendWork& work) const {
    return *reinterpret_cast<BindWork*>(room(work).data() + data_offset_);
  }
  std::span<std::byte> inline_data(SendWork& work) const {
    return room(work).subspan(data_offset_, work.bytes);
  }

 private:
  static constexpr std::size_t address_bytes(bool has_addresses) {
    return has_addresses ? sizeof(ibv_ah_attr) : 0;
  }
  std::size_t data_offset_;
};
static_assert(sizeof(ibv_ah_attr) % alignof(ibv_sge) == 0);

/// Receive work: of a queue pair, or shared by many.
class ReceiveQueue : public WorkRing<ReceiveWork> {
 public:
  ReceiveQueue(std::uint32_t capacity, std::uint32_t entries_max)
      : WorkRing(capacity, entries_max * sizeof(ibv_sge)), entries_max_(entries_max) {}

  [[nodiscard]] std::uint32_t entries_max() const { return entries_max_; }
  /// One request, without its successors. EINVAL: it has too many entries; ENOMEM: no room.
  int post(const ibv_recv_wr& request) {
    if (request.num_sge < 0 || static_cast<std::uint32_t>(request.num_sge) > entries_max_)
      return EINVAL;
    if (is_full()) return ENOMEM;
    ReceiveWork& work = next();
    work = {.id = request.wr_id, .entries = static_cast<std::uint32_t>(request.num_sge)};
    std::copy_n(request.sg_list, request.num_sge, entries(work).begin());
    push();
    return 0;
  }
  std::span<ibv_sge> entries(ReceiveWork& work) const {
    return {reinterpret_cast<ibv_sge*>(room(work).data()), work.entries};
  }

 private:
  std::uint32_t entries_max_;
};

}  // namespace softrdma::queue
