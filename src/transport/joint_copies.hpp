// Copies that two processes of one host make together (channel single_copy): the receiver of a
// message reads one part of it out of the sender's memory while the sender writes the other into
// the receiver's. Each of the two calls its own link's. The layer above carries what they say to
// each other, in order and without loss.
//
// The receiver gives a claim on the sender's part; the sender takes it before it writes. Nobody
// writes into a receiver's memory who has not taken a claim, and what was withdrawn can't be taken:
// so the receiver never waits for a sender that computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "platform/process.hpp"

namespace hawser::transport {

/// A claim as its receiver names it.
using JointClaim = std::uint32_t;

class JointCopies {
 public:
  using Pieces = std::span<const platform::MemoryPiece>;

  JointCopies() = default;
  JointCopies(const JointCopies&) = delete;
  JointCopies& operator=(const JointCopies&) = delete;
  virtual ~JointCopies() = default;

  /// Of the two processes this one copies what comes first of each message, in both directions: so
  /// that what goes to and fro stays in the caches of the one that copies it.
  [[nodiscard]] virtual bool takes_front() const = 0;

  // Of messages from the peer.

  /// Whether the next one, of BYTES, had better be copied jointly than come by frames. Asked once
  /// for each that crosses none of ours; says so now and then to find out.
  [[nodiscard]] virtual bool do_pay(std::size_t bytes) = 0;
  /// One has come that crosses one of ours: this is no time for a trial.
  virtual void put_off_trial() = 0;
  /// A claim on the sender's part of one; nothing if too many are in use now.
  virtual std::optional<JointClaim> give_claim() = 0;
  /// True: the sender does not write that part. False: it does, or says that it does not. Once for
  /// each claim.
  virtual bool withdraw(JointClaim claim) = 0;
  /// Nothing is under way by that claim any more.
  virtual void close(JointClaim claim) = 0;
  /// The sender has taken a claim that is not closed: it is at work.
  [[nodiscard]] virtual bool is_peer_at_work() const = 0;
  /// Copies the pieces of REMOTE, in the peer's memory, into those of LOCAL in ours, each as long
  /// as its partner. Returns the bytes copied, perhaps fewer (then call again
  /// for the rest), or an error number negated.
  virtual std::int64_t get(Pieces local, Pieces remote) = 0;
  /// Whether it is to be known how long the peer takes for its part, of BYTES; and how long it
  /// took.
  [[nodiscard]] virtual bool wants_time(std::size_t bytes) = 0;
  virtual void took(std::size_t bytes, std::uint64_t ns) = 0;
  /// A part could not be copied: no other message from the peer shall be copied jointly.
  virtual void give_up() = 0;

  // Of messages to the peer.

  /// The peer would be asked before a message of BYTES is sent, since it may want it so.
  [[nodiscard]] virtual bool is_asked_for(std::size_t bytes) = 0;
  /// Whether our part of the message is ours to write. If not, the peer is to hear that.
  virtual bool take(JointClaim claim) = 0;
  /// The same from our memory into the peer's, where we have taken claims. NS: what it took.
  virtual std::int64_t put(Pieces local, Pieces remote, std::uint64_t* ns) = 0;
};

}  // namespace hawser::transport
