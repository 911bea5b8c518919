// The contract of a transport (DESIGN §4): it moves frames between this process and peers, and
// knows no rank, tag, communicator or protocol.
//
// Five stages: open (the constructor or factory, after probe()), initialise (address(): others can
// reach us), communicate (connect(), links, progress()), finalise (drain: is_drained(), then
// leave(); come_back() if it was not the end), close (the destructor).
//
// Link:      one peer over one transport, with channels of several kinds. A frame is reserved in a
//            channel, written in place and committed; channels differ in what they cost.
// Sink:      the layer above; told of frames, new links and changed channels from inside
//            progress(), never from inside a send. Who waits for one peer alone may look into a
//            channel of that peer itself (Link::front), and the sink does not hear of that frame.
// Ownership: a Transport owns its links; they live as long as it does. Frames that the sink is
//            handed are valid during the call only.
// Threads:   everything under the lane lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/copy.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "platform/process.hpp"

namespace hawser::transport {

using base::Error;
using base::ErrorClass;
using base::Identity;
using base::Result;
using platform::MemoryPiece;

/// Kinds of channels over all transports. A name says who shares it and what a send costs.
enum class ChannelKind : std::uint8_t {
  self,          // frames to this very process
  shared_queue,  // one receive queue per process, for all its peers: no memory per peer
  ring,          // a ring of its own in the receiver's memory: one cache line per small frame
  single_copy,   // no frames: the receiver copies straight out of the sender's memory
  ud_send,       // datagrams, which may be lost: one queue pair per process, for all its peers
  copy,          // no frames of its own: long messages in pieces, by whatever carries frames
  count_
};
inline constexpr std::size_t channel_kind_count = static_cast<std::size_t>(ChannelKind::count_);

constexpr std::string_view channel_name(ChannelKind kind) {
  constexpr std::array<std::string_view, channel_kind_count> names = {
      "self", "shared_queue", "ring", "single_copy", "ud_send", "copy"};
  return names[static_cast<std::size_t>(kind)];
}

/// Frames can be reserved in a channel of KIND.
constexpr bool carries_frames(ChannelKind kind) {
  return kind != ChannelKind::single_copy && kind != ChannelKind::copy;
}
/// A frame of KIND that was committed may be lost or come twice: it stays where it is until
/// Link::release().
constexpr bool may_lose_frames(ChannelKind kind) { return kind == ChannelKind::ud_send; }

/// A set of channel kinds.
class ChannelSet {
 public:
  constexpr ChannelSet() = default;
  constexpr ChannelSet(std::initializer_list<ChannelKind> kinds) {
    for (const ChannelKind kind : kinds) add(kind);
  }
  [[nodiscard]] constexpr bool has(ChannelKind kind) const { return (bits_ & bit(kind)) != 0; }
  constexpr void add(ChannelKind kind) { bits_ |= bit(kind); }
  constexpr void remove(ChannelKind kind) { bits_ &= ~bit(kind); }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint32_t bits() const { return bits_; }
  friend constexpr bool operator==(ChannelSet, ChannelSet) = default;

 private:
  static constexpr std::uint32_t bit(ChannelKind kind) { return 1U << static_cast<unsigned>(kind); }
  std::uint32_t bits_ = 0;
};

class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() = default;

  /// What can be used now; empty until connected. Changes only inside progress() and give_back().
  [[nodiscard]] ChannelSet channels() const { return channels_; }
  /// The largest whole frame of a channel that carries frames.
  [[nodiscard]] virtual std::size_t frame_bytes_max(ChannelKind kind) const = 0;

  /// Room for one frame of BYTES (at most frame_bytes_max), 8-byte aligned; null if there is none
  /// now. Must be followed at once by commit(): peers may be waiting behind it.
  virtual std::byte* reserve(ChannelKind kind, std::size_t bytes) = 0;
  /// Copies a long run of BYTES into a reserved frame, by whatever way is quickest to this peer.
  virtual void copy_in(std::byte* to, const std::byte* from, std::size_t bytes) {
    base::copy_bytes(to, from, bytes);
  }
  /// Makes the reserved frame visible to the peer and wakes it if it sleeps.
  virtual void commit(ChannelKind kind) = 0;

  /// Some channel of this link may lose frames: all frames of the link have to be acknowledged.
  [[nodiscard]] virtual bool may_lose_frames() const { return false; }
  /// Sends a short FRAME (at most 64 bytes) that nobody misses if it is lost: it is kept by nobody,
  /// and finds room where frames that wait for an answer have taken all there is. False: not now.
  virtual bool send_once(ChannelKind kind, std::span<const std::byte> frame) {
    std::byte* const room = reserve(kind, frame.size());
    if (room == nullptr) return false;
    base::copy_bytes(room, frame.data(), frame.size());
    commit(kind);
    return true;
  }
  /// Sends a FRAME of BYTES that was committed to KIND, a channel that may lose frames, once more.
  /// False: there is no room now.
  virtual bool resend(ChannelKind, std::byte* /*frame*/, std::size_t /*bytes*/) { return false; }
  /// Such a FRAME is not needed any more; its last sending may still be under way.
  virtual void release(ChannelKind, std::byte* /*frame*/) {}

  /// The kinds of channels that ask() may bring.
  [[nodiscard]] ChannelSet earnable() const { return earnable_; }
  /// Asks the peer for a channel; the answer is Sink::on_channels_changed or on_channel_refused.
  /// False if even the question found no room now: ask again later.
  virtual bool ask(ChannelKind kind) = 0;
  /// Gives up an earned channel, which is gone at once; what was committed to it still arrives.
  /// The peer hears on_channel_given_back. False if the notice found no room now: nothing changed.
  virtual bool give_back(ChannelKind kind) = 0;
  /// Asks the peer to give back a channel that we granted; it hears on_channel_recalled. Does
  /// nothing where we granted none. False as above.
  virtual bool recall(ChannelKind kind) = 0;

  /// The peer has left (Transport::leave): until it comes back it reads nothing, and what finds no
  /// room need not be waited for.
  [[nodiscard]] virtual bool is_away() const = 0;

  /// The channels from the peer to us that front() looks into. Changes only inside progress().
  [[nodiscard]] ChannelSet incoming() const { return incoming_; }
  /// The next frame of such a channel if it has arrived, or an empty one; looking changes nothing,
  /// and the frame is valid until progress() or pop(), which takes it out.
  virtual std::span<const std::byte> front(ChannelKind) { return {}; }
  virtual void pop(ChannelKind) {}

  /// Copies from the peer's memory (channel single_copy): REMOTE, in order, into LOCAL. Returns the
  /// bytes copied, perhaps fewer (then call again for the rest), or an error number negated;
  /// refused once, the channel is gone.
  virtual std::int64_t get(std::span<const MemoryPiece> local,
                           std::span<const MemoryPiece> remote) = 0;

  /// For the sink alone.
  void* user = nullptr;

 protected:
  ChannelSet channels_;
  ChannelSet earnable_;
  ChannelSet incoming_;
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void on_frame(Link& link, ChannelKind kind, std::span<const std::byte> frame) = 0;
  /// A peer has reached us first. Not called for links that connect() made.
  virtual void on_link(Link& link, const Identity& peer) = 0;
  /// A peer asks for a channel that costs us memory: true grants it.
  virtual bool on_channel_asked(Link& link, ChannelKind kind) = 0;
  virtual void on_channels_changed(Link& link) = 0;
  /// The peer has no room for the channel that we asked for; what we have goes on working.
  virtual void on_channel_refused(Link& link, ChannelKind kind) = 0;
  /// The peer has given back a channel that we granted, and all its frames were delivered; or the
  /// grant came to nothing.
  virtual void on_channel_given_back(Link& link, ChannelKind kind) = 0;
  /// The peer wants back the memory of a channel that it granted.
  virtual void on_channel_recalled(Link& link, ChannelKind kind) = 0;
  /// The peer is gone; nothing more will arrive or leave on this link.
  virtual void on_lost(Link& link, std::string_view cause) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The bytes that others need to reach us (at most 255); from then on they may.
  virtual Result<std::span<const std::byte>> address() = 0;
  /// A link to PEER, who published ADDRESS; connects in the background, frames have to wait until
  /// it has channels.
  virtual Result<Link*> connect(const Identity& peer, std::span<const std::byte> address) = 0;
  /// Polls; true if anything happened.
  virtual bool progress() = 0;
  /// No committed frame or control message of ours is still on this side, but for peers that are
  /// away.
  [[nodiscard]] virtual bool is_drained() const = 0;
  /// Tells all peers that there will be no progress() here until come_back().
  virtual void leave() = 0;
  virtual void come_back() = 0;
  /// Where no peer wakes this process through its wake word: a descriptor that becomes readable,
  /// once arm() has been called, when progress() has something to do. -1: peers do.
  [[nodiscard]] virtual int descriptor() const { return -1; }
  /// Called before this process looks for work once more and then sleeps.
  virtual void arm() {}
};

}  // namespace hawser::transport
