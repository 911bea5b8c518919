// Congestion (RoCEv2: InfiniBand Architecture Specification, volume 1, annex A17.9): whose packets
// a switch has marked is told so, and sends less.
//
// State machines: they take events and the time. Threads: the adapter's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "softrdma/qp/context.hpp"

namespace softrdma::qp {

/// What tells the sender: at most one packet in this time, for all that were marked.
inline constexpr std::uint64_t notice_interval_ns = 50'000;

class CongestionNotices {
 public:
  /// A packet came that was marked.
  void on_marked(std::uint64_t now_ns) {
    if (now_ns < silent_until_ns_) return;
    silent_until_ns_ = now_ns + notice_interval_ns;
    is_owed_ = true;
  }
  /// The notice, if one is owed.
  bool next(const Context& context, Outgoing* out) {
    if (!std::exchange(is_owed_, false)) return false;
    static constexpr std::array<std::byte, 16> reserved{};
    out->payload.clear();
    out->payload.add(reserved);
    out->headers = {};
    out->headers.opcode = wire::congestion_notification;
    out->headers.partition_key = context.partition_key;
    out->headers.destination_qp = context.destination_qp;
    out->headers.backward_congestion = true;
    return true;
  }

 private:
  std::uint64_t silent_until_ns_ = 0;
  bool is_owed_ = false;
};

}  // namespace softrdma::qp
