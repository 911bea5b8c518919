// Policy: which channel carries which message, and who earns a dedicated one (DESIGN §5).
//
// Two chains of rules that a user can read and set, one rule per line or `;`:
//
//   channel.send_rules   size <= 32K -> self
//                        one_copy_pays and not oversubscribed and size >= 16K -> single_copy
//                        size <= 16K -> ring
//                        size <= 448 -> shared_queue
//                        ranks <= 5 and size <= 64K and not progress_threads -> ring
//                        not oversubscribed and not progress_threads -> ring
//                        true -> single_copy
//                        true -> ring
//                        true -> shared_queue
//                        size <= 2048 -> rc_fast_path
//                        size <= ud_max -> ud_send
//                        size <= 8192 -> rc_send
//                        size <= 8192 -> xrc_send
//                        true -> rc_rdma
//                        size <= 16K -> ud_send
//                        true -> ud_zero_copy
//                        true -> ud_send
//                        size <= 64K -> tcp
//                        true -> tcp_zero_copy
//                        true -> tcp
//   channel.earn_rules   messages >= 16 -> ring
//                        messages >= 16 -> rc_send
//                        messages >= 16 -> rc_fast_path
//
// A condition is `true`, or comparisons (<=, <, >=, >, ==) of size (bytes of the message, with K,
// M, G, or ud_max: what fits into one datagram), ranks (in the job) and messages (sent to this peer
// so far), or the bare words same_host, oversubscribed (ranks on this host outnumber its cores),
// progress_threads (some move messages on beside the program) and one_copy_pays (to copy this
// message straight out of its sender's memory is less work for the receiver, as was measured: see
// Link::does_one_copy_pay), also with `not`; joined by `and`. A send rule applies only where its
// channel exists (`copy` exists everywhere); the last one must be `true` with a channel that all
// peers of some transport have, and none may stand where it is never reached. Where no rule applies
// (to this very process, say, which has no shared queue) the first channel that carries frames
// does. The chain is compiled into size-class tables, one per set of existing channels and stage of
// `messages`, shared by all endpoints alike.
//
// Ownership: one Policy per process; endpoints point into its tables, and ask for theirs again when
//            it has changed.
// Errors:    name the rule, the word in it, and what would be right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/transport.hpp"

namespace hawser::channel {

using base::Result;
using transport::ChannelKind;
using transport::ChannelSet;

struct PolicySettings {
  std::string send_rules =
      "size <= 32K -> self; one_copy_pays and not oversubscribed and size >= 16K -> single_copy; "
      "size <= 16K -> ring; size <= 448 -> shared_queue; "
      "ranks <= 5 and size <= 64K and not progress_threads -> ring; "
      "not oversubscribed and not progress_threads -> ring; true -> single_copy; true -> ring; "
      "true -> shared_queue; size <= 2048 -> rc_fast_path; size <= ud_max -> ud_send; "
      "size <= 8192 -> rc_send; size <= 8192 -> xrc_send; true -> rc_rdma; size <= 16K -> ud_send; "
      "true -> ud_zero_copy; true -> ud_send; size <= 64K -> tcp; true -> tcp_zero_copy; "
      "true -> tcp";
  std::string earn_rules =
      "messages >= 16 -> ring; messages >= 16 -> rc_send; messages >= 16 -> rc_fast_path";
  std::int64_t rings_asked_max = 16;    // rings to peers that this process asks for
  std::int64_t rings_granted_max = 16;  // rings that this process grants to peers
  std::int64_t connections_max = 16;    // peers with a reliable connection
  std::int64_t fast_paths_max = 8;      // that it asks for, and as many that it grants
  std::int64_t xrc_peers_max = 64;      // likewise, by queue pairs that the peers of a host share
  std::int64_t memory_max = 0;          // bytes that all of them take in this process; 0: no limit
  // Or, everyone at start, whatever the limits: "static", or "client_server", where a process asks
  // those with lower numbers, one after another.
  std::string connect = "on_demand";

  [[nodiscard]] bool connects_at_start() const { return connect != "on_demand"; }
};

/// The compiled send chain of one channel set: the channel of a message by its size.
class SendTable {
 public:
  /// CHANNELS of the peer lacks none of the kinds that these two return. Where one copy does not
  /// pay, as far as is known:
  [[nodiscard]] ChannelKind select(std::size_t message_bytes) const {
    return classes_.select(message_bytes);
  }
  /// Where it does (Link::does_one_copy_pay).
  [[nodiscard]] ChannelKind select_where_one_copy_pays(std::size_t message_bytes) const {
    return classes_where_one_copy_pays_.select(message_bytes);
  }
  /// From this many messages sent on, another table holds; never: the maximum of the type.
  [[nodiscard]] std::uint64_t valid_until_messages() const { return valid_until_messages_; }

 private:
  friend class Policy;
  struct Class {
    std::size_t bytes_max;
    ChannelKind kind;
    friend bool operator==(const Class&, const Class&) = default;
  };
  struct Classes {
    std::vector<Class> list;  // ascending; the last reaches to the maximum
    [[nodiscard]] ChannelKind select(std::size_t message_bytes) const {
      const Class* c = list.data();
      while (message_bytes > c->bytes_max) ++c;
      return c->kind;
    }
    friend bool operator==(const Classes&, const Classes&) = default;
  };
  Classes classes_;
  Classes classes_where_one_copy_pays_;
  std::uint64_t valid_until_messages_ = ~std::uint64_t{0};
};

/// What is the same for all messages of a process.
struct Situation {
  std::uint32_t ranks = 1;      // in the job
  bool oversubscribed = false;  // ranks on this host outnumber its cores
  bool progress_threads = false;
  std::uint64_t ud_max = 2000;  // bytes of the longest message in one datagram
};

class Policy {
 public:
  ~Policy();
  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;

  static Result<Policy> parse(const PolicySettings& settings, const Situation& situation);

  /// Takes over the rules of SETTINGS, or none if one of them is wrong. All tables end.
  Result<void> change(const PolicySettings& settings);
  /// The longest message in one datagram has BYTES. All tables end.
  Result<void> set_ud_max(std::uint64_t bytes);

  /// The table for a peer with CHANNELS (not empty) after MESSAGES messages; compiled at first use,
  /// valid until change().
  const SendTable& table(ChannelSet channels, bool same_host, std::uint64_t messages);
  /// The number of messages at which the earn chain first gives a channel of KIND to a peer, or the
  /// maximum of the type if never.
  [[nodiscard]] std::uint64_t earned_at(ChannelKind kind, bool same_host) const;
  /// The chains as text, one rule per line, for `hawser info` and reports.
  [[nodiscard]] std::string send_rules_text() const;
  [[nodiscard]] std::string earn_rules_text() const;

 private:
  struct State;
  explicit Policy(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hawser::channel
