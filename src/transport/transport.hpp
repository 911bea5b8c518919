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

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/copy.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "platform/process.hpp"
#include "transport/joint_copies.hpp"

namespace hawser::transport {

using base::Error;
using base::ErrorClass;
using base::Identity;
using base::Result;
using platform::MemoryPiece;

/// A frame that begins with this byte says nothing (see Sink::on_operation_done). All others mean
/// something to the layers above alone.
inline constexpr std::byte void_frame_class{0xff};

/// Kinds of channels over all transports. A name says who shares it and what a send costs.
enum class ChannelKind : std::uint8_t {
  self,          // frames to this very process
  shared_queue,  // one receive queue per process, for all its peers: no memory per peer
  ring,          // a ring of its own in the receiver's memory: one cache line per small frame
  single_copy,   // no frames: the receiver copies straight out of the sender's memory
  ud_send,       // datagrams, which may be lost: one queue pair per process, for all its peers
  ud_zero_copy,  // no frames: long messages by datagrams straight between the programs' memory
  copy,          // no frames of its own: long messages in pieces, by whatever carries frames
  rc_send,       // frames over a reliable connection into buffers that all peers share
  rc_fast_path,  // frames written into a ring of its own in the receiver's memory, which that polls
  rc_rdma,       // operations on the program's memory over the connection, and frames behind them
  xrc_send,      // frames over a reliable queue pair that all peers of a host share
  tcp,           // frames over a TCP connection, which is made anew when it breaks
  tcp_zero_copy,  // no frames: operations that have the peer's memory sent into ours by it
  count_
};
inline constexpr std::size_t channel_kind_count = static_cast<std::size_t>(ChannelKind::count_);

constexpr std::string_view channel_name(ChannelKind kind) {
  constexpr std::array<std::string_view, channel_kind_count> names = {
      "self",    "shared_queue", "ring",    "single_copy", "ud_send", "ud_zero_copy", "copy",
      "rc_send", "rc_fast_path", "rc_rdma", "xrc_send",    "tcp",     "tcp_zero_copy"};
  return names[static_cast<std::size_t>(kind)];
}

/// Messages can travel in frames of a channel of KIND.
constexpr bool carries_frames(ChannelKind kind) {
  return kind != ChannelKind::single_copy && kind != ChannelKind::ud_zero_copy &&
         kind != ChannelKind::copy && kind != ChannelKind::rc_rdma &&
         kind != ChannelKind::tcp_zero_copy;
}
/// Link::start works while there is a channel of KIND.
constexpr bool has_operations(ChannelKind kind) {
  return kind == ChannelKind::rc_rdma || kind == ChannelKind::tcp_zero_copy;
}
/// A frame of KIND that was committed may be lost or come twice.
constexpr bool may_lose_frames(ChannelKind kind) { return kind == ChannelKind::ud_send; }
/// A frame of KIND that was committed stays where it is until Link::release(), so that it can be
/// sent again, should it be lost or the channel break.
constexpr bool keeps_frames(ChannelKind kind) {
  return kind == ChannelKind::ud_send || kind == ChannelKind::rc_send ||
         kind == ChannelKind::rc_fast_path || kind == ChannelKind::rc_rdma ||
         kind == ChannelKind::xrc_send || kind == ChannelKind::tcp;
}
/// The kinds that a peer has to earn. What is built upon another one stands behind it.
inline constexpr std::array earned_kinds = {ChannelKind::ring, ChannelKind::rc_send,
                                            ChannelKind::rc_fast_path, ChannelKind::xrc_send};
/// The place of KIND, one of them, among earned_kinds.
constexpr std::size_t earned_index(ChannelKind kind) {
  return static_cast<std::size_t>(std::ranges::find(earned_kinds, kind) - earned_kinds.begin());
}
/// One channel of KIND serves both directions, whoever asked for it, and either side ends it.
constexpr bool is_mutual(ChannelKind kind) { return kind == ChannelKind::rc_send; }

/// Transports of one network reach the same peers, each by a port or interface of its own: as a
/// rail. The rails of a process have the numbers 0, 1, … without gaps, the preferred one first;
/// rail N of a process reaches rail N of another.
struct Rail {
  std::string_view network;
  std::uint8_t number = 0;
};
inline constexpr std::uint8_t rails_max = 4;  // of one network

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

/// Memory of this process that a link's adapter may reach: as long as this lives.
class HeldMemory {
 public:
  HeldMemory() = default;
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  virtual ~HeldMemory() = default;
  /// What the peer's operations on it need besides its address.
  [[nodiscard]] virtual std::uint32_t remote_key() const = 0;
  /// The same for our own operations.
  [[nodiscard]] virtual std::uint32_t local_key() const = 0;
};

/// A copy between this process's memory and the peer's, done by the adapter.
struct Operation {
  enum class Kind : std::uint8_t { get, put };
  Kind kind = Kind::get;
  bool is_chained = false;
  std::uint64_t local_address = 0;
  std::uint32_t local_key = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t remote_address = 0;
  std::size_t bytes = 0;
  std::uint64_t token = 0;  // for Sink::on_operation_done
};

/// A message in this process's memory that crosses without copies and without a connection.
struct DirectMessage {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  std::uint32_t local_key = 0;
  std::uint64_t token = 0;  // for the sink; unlike any other that is under way in this process
};

/// What a receiving link says, to the peer's link alone, of a part of such a message that may come.
class Clearance {
 public:
  static constexpr std::size_t bytes_max = 64;

  template <class T>
  static Clearance of(const T& value) {
    static_assert(sizeof(T) <= bytes_max);
    Clearance clearance;
    std::memcpy(clearance.bytes_.data(), &value, sizeof(T));
    clearance.size_ = sizeof(T);
    return clearance;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, bytes_max> bytes_{};
  std::size_t size_ = 0;
};

/// A frame that has arrived, in memory of its channel: its head, and what the channel keeps apart
/// from that: nothing, or all of its payload.
struct FrameView {
  FrameView() = default;
  /// One that is in one piece.
  template <class Bytes>
    requires std::convertible_to<const Bytes&, std::span<const std::byte>>
  FrameView(const Bytes& whole) : head(whole) {}  // NOLINT(google-explicit-constructor)
  FrameView(std::span<const std::byte> its_head, std::span<const std::byte> its_payload)
      : head(its_head), payload(its_payload) {}
  [[nodiscard]] std::size_t size() const { return head.size() + payload.size(); }

  std::span<const std::byte> head;
  std::span<const std::byte> payload;
};

/// Where a frame is to be written; null if there is no room.
struct FrameRoom {
  std::byte* head = nullptr;
  std::byte* payload = nullptr;
};

class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() = default;

  /// What can be used now; empty until connected, and while a connection that all channels need is
  /// made anew. Changes only inside progress() and give_back().
  [[nodiscard]] ChannelSet channels() const { return channels_; }
  /// Those that it may have at some time; always the same, and the same for the peer.
  [[nodiscard]] virtual ChannelSet possible_channels() const = 0;
  /// The largest whole frame of a channel that carries frames.
  [[nodiscard]] virtual std::size_t frame_bytes_max(ChannelKind kind) const = 0;

  /// Room for one frame of BYTES (at most frame_bytes_max), 8-byte aligned; null if there is none
  /// now. Must be followed at once by commit(): peers may be waiting behind it.
  virtual std::byte* reserve(ChannelKind kind, std::size_t bytes) = 0;
  /// The same for a frame of HEAD_BYTES, 8-byte aligned, and PAYLOAD_BYTES, which lie behind the
  /// head or apart from it. PHASE, a multiple of 8 below 64: where in a cache line the payload had
  /// best begin, so that it stands there as it does in the sender's memory, which makes copies
  /// quick. A wish; nobody depends on it.
  virtual FrameRoom reserve_apart(ChannelKind kind, std::size_t head_bytes,
                                  std::size_t payload_bytes, std::size_t /*phase*/) {
    std::byte* const frame = reserve(kind, head_bytes + payload_bytes);
    return {frame, frame == nullptr ? nullptr : frame + head_bytes};
  }
  /// Asked before each further long frame of what progress() goes on with: whether it had better
  /// read first what has come from this peer. Never more than a few times in a row.
  virtual bool wants_reading_first(ChannelKind /*kind*/) { return false; }
  /// What is shorter than that, in the frame that was reserved last, needs no copy_in().
  [[nodiscard]] std::size_t copy_in_bytes_min() const { return copy_in_bytes_min_; }
  /// Copies a long run of BYTES into a reserved frame, by whatever way is quickest to this peer.
  virtual void copy_in(std::byte* to, const std::byte* from, std::size_t bytes) {
    base::copy_bytes(to, from, bytes);
  }
  /// The opposite, out of a frame that has arrived, with a part of a message of MESSAGE_BYTES.
  virtual void copy_out(std::byte* to, const std::byte* from, std::size_t bytes,
                        std::uint64_t /*message_bytes*/) {
    base::copy_bytes(to, from, bytes);
  }
  /// Makes the reserved frame visible to the peer and wakes it if it sleeps.
  virtual void commit(ChannelKind kind) = 0;

  /// Which rail of which network this link goes by. Where the network's name is empty, it is the
  /// only way to its peer; links of different networks may lead to the same peer.
  [[nodiscard]] virtual Rail rail() const { return {}; }
  /// This side's end of its rail can send and receive now; see Sink::on_link_state.
  [[nodiscard]] virtual bool is_up() const { return true; }
  /// What its rail carries, or what copies by it do; 0 if that is not known.
  [[nodiscard]] virtual std::uint64_t bits_per_second() const { return 0; }
  /// The rail has failed: what was committed shall not be waited for any more. Channels that lose
  /// nothing break (Sink::on_undelivered), operations end; others may come when it is up again.
  virtual void break_connection() {}

  /// Some channel of this link may lose frames: all frames of the link have to be acknowledged.
  [[nodiscard]] virtual bool may_lose_frames() const { return false; }
  /// Frames that the peer may have on its way to us and find room for.
  [[nodiscard]] virtual std::uint32_t receive_window() const { return ~std::uint32_t{0}; }
  /// Frames that we may have on our way to the peer, as it said when the channels opened that there
  /// are; its acknowledgements say more.
  [[nodiscard]] virtual std::uint32_t send_window() const { return ~std::uint32_t{0}; }
  /// Sends a short FRAME (at most 64 bytes) that nobody misses if it is lost: it is kept by nobody,
  /// and finds room where frames that wait for an answer have taken all there is. False: not now.
  virtual bool send_once(ChannelKind kind, std::span<const std::byte> frame) {
    std::byte* const room = reserve(kind, frame.size());
    if (room == nullptr) return false;
    base::copy_bytes(room, frame.data(), frame.size());
    commit(kind);
    return true;
  }
  /// What is sent once leaves together with the next frame, if that comes soon enough.
  [[nodiscard]] virtual bool sends_once_along() const { return false; }
  enum class Resent : std::uint8_t {
    sent,
    no_room,    // now
    under_way,  // by a channel that loses nothing: sending it again would be for nothing
  };
  /// Sends a FRAME of BYTES that was committed to KIND, a channel that keeps frames, once more.
  /// MAY_BE_DAMAGED: it may have arrived, and have been of no use; so it is not taken for under
  /// way.
  virtual Resent resend(ChannelKind, std::byte* /*frame*/, std::size_t /*bytes*/,
                        bool /*may_be_damaged*/) {
    return Resent::no_room;
  }
  /// Such a FRAME is on its way by a channel that loses nothing, or that broke and whose frames
  /// Sink::on_undelivered is about to name: it is not settled yet what the frame will say.
  [[nodiscard]] virtual bool is_under_way(std::byte* /*frame*/) const { return false; }
  /// Sends a copy of a FRAME that was committed to another link to this peer, and that stays there,
  /// by a channel that may lose it.
  virtual Resent send_copy(std::span<const std::byte> /*frame*/) { return Resent::no_room; }
  /// Such a FRAME is not needed any more; its last sending may still be under way.
  virtual void release(ChannelKind, std::byte* /*frame*/) {}

  /// The kinds of channels that ask() may bring.
  [[nodiscard]] ChannelSet earnable() const { return earnable_; }
  /// The kinds that are not, since as many as this side can have are in use: once one of those is
  /// gone they are again, which is told by Sink::on_channels_changed. Who lies idle shall go.
  [[nodiscard]] ChannelSet crowded_out() const { return crowded_out_; }
  /// Asks the peer for a channel; the answer is Sink::on_channels_changed or on_channel_refused.
  /// False if even the question found no room now: ask again later, unless earnable() lacks the
  /// kind since: then this side can't have it.
  virtual bool ask(ChannelKind kind) = 0;
  /// Gives up an earned channel, which is gone at once; what was committed to it still arrives.
  /// The peer hears on_channel_given_back, and so do we where the channel is mutual, once what it
  /// took is free. False if the notice found no room now: nothing changed.
  virtual bool give_back(ChannelKind kind) = 0;
  /// Asks the peer to give back a channel that we granted; it hears on_channel_recalled. Does
  /// nothing where we granted none. False as above.
  virtual bool recall(ChannelKind kind) = 0;

  /// The peer is gone: nothing is sent to it any more, and its answers are not waited for. The sink
  /// hears what becomes of channels and operations, as ever; there are none afterwards.
  virtual void abandon() {}

  /// The peer has left (Transport::leave): until it comes back it reads nothing, and what finds no
  /// room need not be waited for.
  [[nodiscard]] virtual bool is_away() const = 0;
  /// A peer that vanishes with its host, and tells nobody, is noticed by this link while it has a
  /// connection (Sink::on_lost), whether frames are on their way or not.
  [[nodiscard]] virtual bool notices_end() const { return true; }
  /// Somebody waits for the peer: until then the link does not go to rest, and a connection that
  /// rests is made again.
  virtual void keep_in_touch(std::uint64_t /*until_ns*/) {}
  /// Both sides do without a connection for now, since nothing is under way: there is nothing to
  /// say at the end.
  [[nodiscard]] virtual bool is_at_rest() const { return false; }

  /// The earned channels from the peer to us that are not mutual; front() looks into those that are
  /// memory of ours. Changes only inside progress().
  [[nodiscard]] ChannelSet incoming() const { return incoming_; }
  /// The next frame of such a channel if it has arrived, or an empty one, and of one that is in two
  /// pieces its head; looking changes nothing, and the frame is valid until progress() or pop(),
  /// which takes it out.
  virtual std::span<const std::byte> front(ChannelKind) { return {}; }
  /// The payload of the frame that front() has just given, if that is its head alone.
  [[nodiscard]] std::span<const std::byte> front_payload() const { return front_payload_; }
  /// Looks at front() wait for a frame of up to so many bytes: the memory where it would lie may be
  /// asked for along with each. Changes nothing.
  virtual void expect(ChannelKind, std::size_t /*bytes*/) {}
  virtual void pop(ChannelKind) {}

  /// Copies from the peer's memory (channel single_copy): REMOTE, in order, into LOCAL. Returns the
  /// bytes copied, perhaps fewer (then call again for the rest), or an error number negated;
  /// refused once, the channel is gone.
  virtual std::int64_t get(std::span<const MemoryPiece> local,
                           std::span<const MemoryPiece> remote) = 0;
  /// While long messages flow both ways: whether to get() the next one from the peer, of BYTES,
  /// takes this process less than to copy that out of frames and another one into frames. Asked
  /// once for each; says so now and then to find out.
  [[nodiscard]] virtual bool does_one_copy_pay(std::size_t /*bytes*/) { return false; }
  /// Copies that both sides make together, of messages that cross none; null if the link has none.
  [[nodiscard]] virtual JointCopies* joint_copies() { return nullptr; }

  // Operations on the program's memory (channel rc_rdma; tcp_zero_copy has gets alone).

  /// BYTES of this process's memory from ADDRESS on, for operations of this link's adapter, until
  /// it is let go. MPI_ERR_NO_MEM: not now; other errors: not this memory.
  virtual Result<std::unique_ptr<HeldMemory>> hold(std::uint64_t /*address*/,
                                                   std::size_t /*bytes*/) {
    return Error(ErrorClass::unsupported_operation, "this link has no operations on memory");
  }
  /// The same, but what has to be registered for it does not stay so when it is let go.
  virtual Result<std::unique_ptr<HeldMemory>> hold_once(std::uint64_t address, std::size_t bytes) {
    return hold(address, bytes);
  }
  /// All of that memory is registered already: hold() costs next to nothing.
  [[nodiscard]] virtual bool is_registered(std::uint64_t /*address*/, std::size_t /*bytes*/) {
    return false;
  }
  /// Starts an operation on memory that stays held until Sink::on_operation_done, which follows
  /// whatever happens. Those that are chained leave with the next frame that is committed to
  /// rc_rdma, or the next operation that is not chained, and arrive before it. False: no room now.
  virtual bool start(const Operation&) { return false; }

  /// Changes whenever the connection that carries operations does.
  [[nodiscard]] virtual std::uint32_t operations_epoch() const { return 0; }
  /// Nothing that the peer started in EPOCH reaches our memory after this call, though the
  /// connection may break of it.
  virtual void stop_operations(std::uint32_t /*epoch*/) {}

  // Messages between the programs' memory without a connection (channel ud_zero_copy). The
  // receiver's link clears the way, part by part; the layer above carries what it says to the
  // peer's link of the same rail, in order and without loss.

  /// The peer's MESSAGE comes into memory that stays held until Sink::on_operation_done, which
  /// follows unless stop_expecting() does. Returns the first clearance; Sink::on_clearance has
  /// further ones. MPI_ERR_NO_MEM: not now; other errors: not this message.
  virtual Result<Clearance> expect(const DirectMessage& /*message*/) {
    return Error(ErrorClass::unsupported_operation, "this link copies all messages");
  }
  /// The message of TOKEN is not expected any more: nothing is written into its memory from here
  /// on.
  virtual void stop_expecting(std::uint64_t /*token*/) {}
  /// Sends the part of MESSAGE that the peer's CLEARANCE is about, from memory that stays held
  /// until Sink::on_operation_done: it says whether all of the part has left, not whether it has
  /// arrived. False: there is no room now, or the clearance makes no sense.
  virtual bool send_cleared(const DirectMessage& /*message*/,
                            std::span<const std::byte> /*clearance*/) {
    return false;
  }

  // For the sink alone.
  void* user = nullptr;
  std::uint8_t rail_number = 0;
  bool is_beside = false;  // another network's link to the peer is the one for frames
  ChannelSet asked;        // for, and neither granted nor refused
  ChannelSet taken;        // earned ones: asked for, or there, or about to end

 protected:
  ChannelSet channels_;
  ChannelSet earnable_;
  ChannelSet crowded_out_;
  ChannelSet incoming_;
  std::span<const std::byte> front_payload_;
  std::size_t copy_in_bytes_min_ = base::long_copy_bytes;
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void on_frame(Link& link, ChannelKind kind, std::span<const std::byte> frame) = 0;
  /// The same of a frame that the channel keeps in two pieces.
  virtual void on_frame_apart(Link& link, ChannelKind kind, const FrameView& frame) = 0;
  /// From inside these: nobody has asked for this frame's data yet, so they had to be copied
  /// to be kept. What comes behind it had better stay in its channel till the next progress().
  void end_turn() { has_ended_turn_ = true; }
  /// Asked after each frame by channels that can keep the next one.
  [[nodiscard]] bool take_end_of_turn() { return std::exchange(has_ended_turn_, false); }
  /// A peer has reached us first. Not called for links that connect() made.
  virtual void on_link(Link& link, const Identity& peer) = 0;
  /// A peer asks for a channel that costs us memory: true grants it.
  virtual bool on_channel_asked(Link& link, ChannelKind kind) = 0;
  virtual void on_channels_changed(Link& link) = 0;
  /// Link::is_up() has changed.
  virtual void on_link_state(Link& link) = 0;
  /// The peer has no room for the channel that we asked for; what we have goes on working.
  virtual void on_channel_refused(Link& link, ChannelKind kind) = 0;
  /// The peer has given back a channel that we granted, and all its frames were delivered; or the
  /// grant came to nothing.
  virtual void on_channel_given_back(Link& link, ChannelKind kind) = 0;
  /// The peer wants back the memory of a channel that it granted.
  virtual void on_channel_recalled(Link& link, ChannelKind kind) = 0;
  /// Channels of KINDS broke: what was committed to them and is not released may not arrive, unless
  /// it is sent again.
  virtual void on_undelivered(Link& link, ChannelSet kinds) = 0;
  /// An operation (Link::start, expect, send_cleared) has ended: WAS_DONE, or it may have copied a
  /// part, or nothing. A frame that was chained behind one that was not done arrives as one that
  /// says nothing.
  virtual void on_operation_done(Link& link, std::uint64_t token, bool was_done) = 0;
  /// The next part of a message (Link::expect) may come: CLEARANCE is for the peer's link.
  virtual void on_clearance(Link& link, std::uint64_t token, const Clearance& clearance) = 0;
  /// The peer is gone; nothing more will arrive or leave on this link.
  virtual void on_lost(Link& link, std::string_view cause) = 0;
  /// What PEER has published for the transport called NAME, and connect() would be given: for a
  /// peer that has reached us first. Empty: it is not known.
  virtual std::vector<std::byte> address_of(const Identity& /*peer*/, std::string_view /*name*/) {
    return {};
  }

 private:
  bool has_ended_turn_ = false;
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Under which its address is published: for rails NETWORK, NETWORK.1, ...
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// See Link::rail().
  [[nodiscard]] virtual Rail rail() const { return {}; }
  /// It reaches processes of its own host alone, though others publish addresses of its kind too.
  [[nodiscard]] virtual bool is_for_one_host() const { return false; }
  /// It reaches processes of other jobs, too.
  [[nodiscard]] virtual bool reaches_other_jobs() const { return false; }
  /// What has crossed this transport by one port or interface, for statistics.
  struct Traffic {
    std::string by;
    std::uint64_t bytes_sent = 0;  // and written or read by operations of this side
  };
  /// Of each that it uses; empty: nobody counts.
  [[nodiscard]] virtual std::vector<Traffic> traffic() const { return {}; }
  /// Peers with which there is a connection, where each needs one, for statistics.
  struct PeerConnections {
    std::uint64_t now = 0;
    std::uint64_t most = 0;    // at a time
    std::uint64_t opened = 0;  // so far; those that were made anew count again
    std::uint64_t rested = 0;  // of these, ended because nobody used them

    void note_opened() {
      ++opened;
      most = std::max(most, ++now);
    }
    void note_ended() { --now; }
  };
  [[nodiscard]] virtual PeerConnections connections() const { return {}; }
  /// The bytes that others need to reach us (at most 255); from then on they may.
  virtual Result<std::span<const std::byte>> address() = 0;
  /// A link to PEER, who published ADDRESS; connects in the background, frames have to wait until
  /// it has channels.
  virtual Result<Link*> connect(const Identity& peer, std::span<const std::byte> address) = 0;
  /// PEER, of another job, has ended, and its link with it, which the layer above has abandoned.
  virtual void forget(const Identity& /*peer*/) {}
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
  /// A second one for what has left, of a transport that was told to keep it apart: then
  /// descriptor() is for what has come. -1: it is for both.
  [[nodiscard]] virtual int departures_descriptor() const { return -1; }
  /// Called before this process looks for work once more and then sleeps.
  virtual void arm() {}
  /// When progress() has something to do by itself, in nanoseconds of the clock: 0 at once,
  /// never_ns not at all.
  [[nodiscard]] virtual std::uint64_t deadline_ns() const { return base::never_ns; }
  /// The program got BYTES of memory at ADDRESS for its messages and keeps them until
  /// on_memory_freed(ADDRESS): what has operations registers them once for all that time.
  virtual void on_memory_allocated(std::uint64_t /*address*/, std::size_t /*bytes*/) {}
  virtual void on_memory_freed(std::uint64_t /*address*/) {}
  /// The largest frame of a channel that all its peers share, if that loses frames; else 0.
  [[nodiscard]] virtual std::size_t datagram_bytes_max() const { return 0; }
};

}  // namespace hawser::transport
