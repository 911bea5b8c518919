// ZeroCopyTransfers: the messages without copies of all links, those that come and those that go:
// whose each is, and how the sink hears of it.
//
// A message that comes is under way from expect() to its report, or to stop_expecting(); each of
// its parts that goes, from send() to its report. Ownership: owns both ends; borrows what they
// borrow, the sink, and the links, which live as long. Threads:   the lane lock. Bounds:    those
// of ZeroCopySettings.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "transport/transport.hpp"
#include "transport/verbs/settings.hpp"
#include "transport/verbs/zero_copy_receiver.hpp"
#include "transport/verbs/zero_copy_sender.hpp"

namespace hawser::transport::verbs {

class ZeroCopyTransfers {
 public:
  ZeroCopyTransfers(const Port& port, const Settings& settings, memory::Ledger& ledger,
                    ibv_comp_channel* channel, Sink& sink);

  /// See Link::expect(): MESSAGE comes to LINK, in segments of SEGMENT_BYTES.
  Result<Clearance> expect(Link& link, const DirectMessage& message, std::size_t segment_bytes,
                           std::uint64_t now_ns);
  /// See Link::stop_expecting().
  void stop_expecting(const Link& link, std::uint64_t token);
  /// See Link::send_cleared(): goes by TO.
  bool send(Link& link, const DirectMessage& message, std::span<const std::byte> clearance,
            ibv_ah* to);

  /// Nothing is under way.
  [[nodiscard]] bool is_idle() const { return incoming_.empty() && outgoing_.empty(); }
  /// No part has still to leave.
  [[nodiscard]] bool is_drained() const { return outgoing_.empty(); }
  /// Goes on with all that is under way, and tells the sink; true if anything has happened.
  bool poll(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t deadline_ns() const { return receiver_.deadline_ns(); }
  void arm();

 private:
  void report(const ZeroCopyReceiver::Event& event);
  void report(const ZeroCopySender::Event& event);

  Sink& sink_;
  ZeroCopyReceiver receiver_;
  ZeroCopySender sender_;
  std::unordered_map<std::uint64_t, Link*> incoming_;  // by token
  std::unordered_map<std::uint64_t, Link*> outgoing_;
};

}  // namespace hawser::transport::verbs
