// Endpoint: one peer, reached over whatever channels it has (DESIGN §3-5).
//
// It numbers the frames, chooses the channel by the policy's table, keeps what finds no room in a
// FIFO, puts incoming frames into order, and counts. A silent peer has no endpoint.
//
// FIFO: control frames, and messages of the layer above that have not been made into frames yet.
//       What is in it goes first; so messages keep their order, and each is in place once.
// Loss: where some channel of the link may lose frames, all are numbered, acknowledged, and kept
//       until they are (Assurance). Elsewhere a frame costs none of that, unless the user wants
//       some channel of the link to be acknowledged or checked (DeliveryChannels).
//
// Rails: one of its links is used, whose channels are the endpoint's; where there are several
//       (Rails), frames come by any of them, and each is released by the link that keeps it.
//
// Side link: one of another network, if the layer above asked for it. It carries no frames, earns
//       nothing and serves payload of long messages alone; the endpoint can lose it and go on.
//
// Ownership: owned by EndpointTable for the life of the process.
// Threads:   the lane lock.
// Bounds:    the FIFO holds no payload and is limited by memory alone (DESIGN §4); it is charged to
//            the ledger.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/counters.hpp"
#include "base/growing_queue.hpp"
#include "base/ids.hpp"
#include "channel/control.hpp"
#include "channel/endpoint/assurance.hpp"
#include "channel/endpoint/channel_counts.hpp"
#include "channel/endpoint/delivery_channels.hpp"
#include "channel/endpoint/frame_check.hpp"
#include "channel/endpoint/rails.hpp"
#include "channel/endpoint/timers.hpp"
#include "channel/frame.hpp"
#include "channel/policy/policy.hpp"
#include "delivery/reorder/reorder.hpp"
#include "memory/ledger/ledger.hpp"
#include "transport/transport.hpp"

namespace hawser::channel {

using base::Identity;
using transport::FrameRoom;
using transport::FrameView;
using transport::Link;

/// The largest frame that every channel of every transport carries, with a checksum behind it, so
/// that a frame may be built before it is known which channel will take it.
inline constexpr std::size_t frame_bytes_guaranteed = 448;

class Endpoint;

/// The layer above: p2p.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  /// A frame in order, prefix included and checked (it is at least a prefix of our version).
  virtual void on_frame(Endpoint& from, ChannelKind kind, std::span<const std::byte> frame) = 0;
  /// The same of one in two pieces; the prefix is in the first.
  virtual void on_frame_apart(Endpoint& from, ChannelKind kind, const FrameView& frame) = 0;
  /// The turn of a MESSAGE that was deferred (Endpoint::defer). False: there is no room; it keeps
  /// its turn. It is forgotten afterwards, also if the endpoint is lost.
  virtual bool on_turn(void* message) = 0;
  virtual void on_lost(Endpoint& endpoint) = 0;
  /// Calls VISIT for each peer that something waits for, perhaps several times. True: something
  /// waits for a message from anybody.
  virtual bool for_each_awaited(const std::function<void(Endpoint&)>& /*visit*/) { return false; }
  /// PROCESS, which has no endpoint, has taken its leave and ended.
  virtual void on_ended(const Identity& /*process*/) {}
  /// ENDPOINT, which was lost, ends after this.
  virtual void on_forgotten(Endpoint& /*endpoint*/) {}
  /// See Sink::on_operation_done.
  virtual void on_operation_done(Endpoint& peer, std::uint64_t token, bool was_done) = 0;
  /// See Sink::on_clearance.
  virtual void on_clearance(Endpoint& peer, std::uint64_t token,
                            const transport::Clearance& clearance) = 0;
};

enum class Sequencing : std::uint8_t { none = 0, ordered = FramePrefix::sequenced };

class Endpoint {
 public:
  Endpoint(const Identity& identity, bool same_host, memory::Ledger& ledger)
      : identity_(identity),
        ledger_(ledger),
        same_host_(same_host),
        reorder_(ledger),
        counts_(ledger) {}
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] bool is_open() const { return table_ != nullptr; }
  [[nodiscard]] bool is_lost() const { return lost_; }
  /// Why, once it is lost.
  [[nodiscard]] const std::string& loss() const { return *loss_; }
  /// It is lost, and had finalised MPI before.
  [[nodiscard]] bool took_leave() const { return took_leave_; }
  /// The peer has finalised MPI, and reads nothing unless it initialises it again.
  [[nodiscard]] bool is_away() const {
    return (link_ != nullptr && link_->is_away()) || (assurance_ && assurance_->is_peer_gone());
  }
  /// The peer has ended, as far as the channels tell: it is lost, or has left and is not connected
  /// any more.
  [[nodiscard]] bool is_over() const { return lost_ || (is_away() && !is_open()); }
  /// What we sent has arrived, and the peer knows of all that it sent; or nobody is there.
  [[nodiscard]] bool is_settled() const {
    return !assurance_ || assurance_->is_settled() || lost_ || is_not_waited_for();
  }
  /// At the end nobody waits for its answers: it reads nothing, or need not be there.
  [[nodiscard]] bool is_not_waited_for() const { return is_away() || is_courtesy(); }

  /// The channel that the policy gives to a message of BYTES; the endpoint must be open.
  [[nodiscard]] ChannelKind select(std::size_t message_bytes) const {
    return table_->select(message_bytes);
  }
  /// A message from or to the peer may be copied once if its receiver finds that this pays.
  [[nodiscard]] bool may_be_copied_once(std::size_t message_bytes) const {
    return table_->select_where_one_copy_pays(message_bytes) == ChannelKind::single_copy;
  }
  [[nodiscard]] bool has(ChannelKind kind) const { return link_->channels().has(kind); }
  /// The channel that takes any frame of at most frame_bytes_guaranteed soonest.
  [[nodiscard]] ChannelKind frame_channel() const { return frame_channel_; }
  /// The channel with the longest frames.
  [[nodiscard]] ChannelKind bulk_channel() const { return bulk_channel_; }
  /// Of what goes by that channel; see Link::wants_reading_first().
  [[nodiscard]] bool wants_reading_first() {
    return link_ != nullptr && link_->wants_reading_first(bulk_channel_);
  }
  /// Of payload and header together, on a channel that the endpoint has; 0 if it carries no frames.
  [[nodiscard]] std::size_t frame_bytes_max(ChannelKind kind) const {
    return frame_bytes_max_[static_cast<std::size_t>(kind)];
  }

  /// Sends a frame of FRAME_BYTES over KIND if it has room and nothing waits in the FIFO. FILL
  /// writes what follows the prefix: fill(std::byte* body).
  template <class Fill>
  bool try_send(ChannelKind kind, std::uint8_t frame_class, Sequencing sequencing,
                std::size_t frame_bytes, Fill&& fill) {
    return try_send_apart(kind, frame_class, sequencing, frame_bytes, 0, 0,
                          [&](std::byte* body, std::byte*) { fill(body); });
  }
  /// The same with a head of HEAD_BYTES, prefix included, and PAYLOAD_BYTES that may lie elsewhere:
  /// fill(std::byte* body, std::byte* payload), which had best write the payload first: what is
  /// stored behind a store to the head may have to wait for it. PHASE: see Link::reserve_apart();
  /// of short ones, and where it does not matter, 0.
  template <class Fill>
  [[gnu::always_inline]] bool try_send_apart(ChannelKind kind, std::uint8_t frame_class,
                                             Sequencing sequencing, std::size_t head_bytes,
                                             std::size_t payload_bytes, std::size_t phase,
                                             Fill&& fill) {
    if (has_waiting_) [[unlikely]]
      return false;
    if (assurance_) [[unlikely]]
      return try_send_assured(kind, frame_class, head_bytes, payload_bytes, fill);
    const FrameRoom room = link_->reserve_apart(kind, head_bytes, payload_bytes, phase);
    if (room.head == nullptr) [[unlikely]]
      return false;
    const FramePrefix prefix = next_prefix(frame_class, sequencing);
    fill(room.head + sizeof(FramePrefix), room.payload);
    std::memcpy(room.head, &prefix, sizeof(prefix));
    link_->commit(kind);
    return true;
  }
  /// Sends a control frame of at most frame_bytes_guaranteed bytes over any channel, now or later.
  template <class Fill>
  void send(std::uint8_t frame_class, std::size_t frame_bytes, Fill&& fill) {
    if (is_open() && try_send(frame_channel_, frame_class, Sequencing::none, frame_bytes, fill))
      return;
    if (lost_) [[unlikely]]
      return;  // nobody to keep it for
    std::byte* frame = enqueue(frame_bytes);
    write_unnumbered_prefix(frame, frame_class);
    fill(frame + sizeof(FramePrefix));
  }
  /// The frame that was sent last, or came last, is a courtesy: with whom nothing else was
  /// exchanged, it may have ended long ago, and is not waited for at the end.
  void note_courtesy_sent() { ++courtesies_sent_; }
  void note_courtesy_received() { ++courtesies_received_; }
  [[nodiscard]] bool is_courtesy() const {
    return courtesies_sent_ > 0 && reorder_.expected() == courtesies_received_ &&
           next_sequence_ + fifo_.size() == courtesies_sent_;
  }
  /// MESSAGE shall have its turn (FrameHandler::on_turn) after all that waits now.
  void defer(void* message);
  /// Something waits: a message that is begun now would be before its turn.
  [[nodiscard]] bool has_waiting() const { return has_waiting_; }

  /// What crosses KIND on the way to or from the peer is checked.
  [[nodiscard]] bool is_checked(ChannelKind kind) const { return delivery_.checked.has(kind); }
  /// The peer has a channel of KIND to us that front() can look into. What is checked arrives by
  /// progress() alone.
  [[nodiscard]] bool has_incoming(ChannelKind kind) const {
    return link_ != nullptr && link_->incoming().has(kind) && !is_checked(kind);
  }
  /// The next frame of such a channel if it has arrived, or an empty one: a look past progress(),
  /// which changes nothing. pop() takes it out if it has its turn; else progress() has to.
  [[nodiscard]] FrameView front(ChannelKind kind) {
    const std::span<const std::byte> head = link_->front(kind);
    return {head, link_->front_payload()};
  }
  /// Whether FRAME, the front one, is the next sequenced frame of the peer, and of FRAME_CLASS.
  [[nodiscard]] bool has_turn(const FrameView& frame, std::uint8_t frame_class) const {
    std::uint64_t prefix;
    if (frame.head.size() < sizeof(prefix)) return false;
    std::memcpy(&prefix, frame.head.data(), sizeof(prefix));
    const auto wanted = std::bit_cast<std::uint64_t>(FramePrefix{
        frame_class, FramePrefix::current_version, FramePrefix::sequenced, 0, reorder_.expected()});
    return prefix == wanted && !reorder_.has_early();
  }
  void pop(ChannelKind kind) {
    reorder_.skip();
    if (assurance_)
      note_delivered(*link_, kind, 0);  // a short one: else nobody takes it past progress()
    link_->pop(kind);
  }

  /// It has something to say in the next round of progress: that the peer's frames are here.
  [[nodiscard]] bool is_urgent() const { return assurance_ && assurance_->timer_state.is_urgent; }

  /// Counts a message of BYTES payload on KIND, in the direction away from us or towards us.
  void count_sent(ChannelKind kind, std::uint64_t bytes) {
    counts_.of(kind).sent.add(bytes);
    ++messages_;
  }
  [[gnu::always_inline]] void count_received(ChannelKind kind, std::uint64_t bytes) {
    counts_.of(kind).received.add(bytes);
  }
  /// BYTES that belong to a message which was counted, without them, before.
  void count_more_received(ChannelKind kind, std::uint64_t bytes) {
    counts_.of(kind).received.bytes += bytes;
  }
  [[nodiscard]] const base::ChannelCounters& sent(ChannelKind kind) const {
    return counts_[kind].sent;
  }
  [[nodiscard]] const base::ChannelCounters& received(ChannelKind kind) const {
    return counts_[kind].received;
  }
  /// Frames that were sent again for want of an answer.
  [[nodiscard]] std::uint64_t sent_again() const {
    return absorbed_sent_again_ + (assurance_ ? assurance_->window.sent_again() : 0);
  }
  /// Frames and payload from the peer that failed their checksum.
  [[nodiscard]] std::uint64_t failed_checksum() const { return failed_checksum_; }
  void count_failed_checksum() { ++failed_checksum_; }
  /// Messages sent so far, over all channels.
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  /// The policy looks at this peer again once it has sent this many messages.
  [[nodiscard]] bool is_due_for_policy() const { return messages_ >= next_look_messages_; }

  [[nodiscard]] Link& link() const { return *link_; }
  [[nodiscard]] std::uint8_t rail_number() const { return link_->rail_number; }
  /// The link by rail NUMBER, or null.
  [[nodiscard]] Link* link(std::uint8_t number) const {
    if (rails_) return rails_->link(number);
    return link_ != nullptr && link_->rail_number == number ? link_ : nullptr;
  }

  /// The same if it has operations on memory now.
  [[nodiscard]] Link* operations_link(std::uint8_t number) const {
    Link* const by = link(number);
    const bool has_some = by != nullptr && (by->channels().has(ChannelKind::rc_rdma) ||
                                            by->channels().has(ChannelKind::tcp_zero_copy));
    return has_some ? by : nullptr;
  }

  /// The link of another network, or null; see EndpointTable::seek_side_link().
  [[nodiscard]] Link* side_link() const { return side_link_; }
  /// Payload that crosses it is checked.
  [[nodiscard]] bool is_side_link_checked() const { return is_side_link_checked_; }

  // Credit for unexpected payload (DESIGN §4), kept here because it is per peer; p2p decides.
  std::int64_t send_credit_bytes = 0;  // eager payload that we may still send
  std::int64_t credit_to_return = 0;   // payload consumed since we last told the peer
  // Messages to the peer, as streams or asked for, that are not over; counted by p2p.
  std::uint32_t sends_under_way = 0;
  // For how many long messages more we expect the peer, who has the choice, to copy them once,
  // since it did so lately; by p2p.
  std::uint8_t copies_expected = 0;
  // Long messages from it since the last one that crossed one of these, counted down; by p2p.
  std::uint8_t crossings_remembered = 0;

 private:
  friend class EndpointTable;

  /// A control frame or a message.
  struct Waiting {
    std::unique_ptr<std::byte[]> frame;
    std::size_t bytes = 0;
    void* message = nullptr;
  };

  /// try_send_apart() where frames are kept, and perhaps checked. FILL is a copy, so that what it
  /// knows stays in registers elsewhere.
  template <class Fill>
  [[gnu::noinline]] bool try_send_assured(ChannelKind kind, std::uint8_t frame_class,
                                          std::size_t head_bytes, std::size_t payload_bytes,
                                          Fill fill) {
    if (!assurance_->window.has_room()) return false;
    if (assurance_->timer_state.is_urgent && link_->sends_once_along()) [[unlikely]]
      acknowledge_if_due(0);  // the clock would cost more than the rest
    const std::size_t whole_bytes =
        head_bytes + payload_bytes + (is_checked(kind) ? frame_check_bytes : 0);
    std::byte* frame = link_->reserve(kind, whole_bytes);
    if (frame == nullptr) return false;
    const FramePrefix prefix = next_prefix(frame_class, Sequencing::ordered);
    std::memcpy(frame, &prefix, sizeof(prefix));
    fill(frame + sizeof(FramePrefix), frame + head_bytes);
    std::byte* const kept = make_ready(kind, {frame, whole_bytes});
    link_->commit(kind);
    note_sent(kind, kept, whole_bytes);
    return true;
  }
  FramePrefix next_prefix(std::uint8_t frame_class, Sequencing sequencing) {
    const bool ordered = sequencing == Sequencing::ordered;
    return {frame_class, FramePrefix::current_version, static_cast<std::uint8_t>(sequencing), 0,
            ordered ? next_sequence_++ : 0};
  }
  static void write_unnumbered_prefix(std::byte* frame, std::uint8_t frame_class) {
    const FramePrefix prefix{frame_class, FramePrefix::current_version, 0, 0, 0};
    std::memcpy(frame, &prefix, sizeof(prefix));
  }
  std::byte* enqueue(std::size_t frame_bytes);
  /// Sends what waits as far as there is room; true if anything left.
  bool flush(FrameHandler& handler);
  bool send_waiting(const Waiting& waiting, FrameHandler& handler);
  /// Gives up what waits.
  void drop_waiting(FrameHandler& handler);
  void use_table(const SendTable& table);

  // Where frames are acknowledged:
  /// Ends FRAME, which leaves by KIND as soon as this returns: where it is kept, if it is.
  std::byte* make_ready(ChannelKind kind, std::span<std::byte> frame);
  void note_sent(ChannelKind kind, std::byte* kept, std::size_t frame_bytes);
  [[nodiscard]] std::uint32_t receive_window();
  /// The channels of its link in use have changed, and with them what may be on its way.
  void narrow_windows() {
    assurance_->window.narrow(link_->send_window());
    assurance_->acknowledger.follow(receive_window());
  }
  void note_delivered(const Link& by, ChannelKind kind, std::size_t frame_bytes);
  /// This endpoint has something to do at DEADLINE: 0 at once, never_ns not at all.
  /// Its link has no channels for now: what is to be sent waits.
  void close() { table_ = nullptr; }
  void expect(std::uint64_t deadline_ns) {
    assurance_->timers.expect(*this, assurance_->timer_state, deadline_ns);
  }
  /// NOW_NS may be 0: only what is due at once, whatever the time.
  void acknowledge_if_due(std::uint64_t now_ns);
  /// The peer shall hear soon what we have: something about its frames is not as it should be.
  void hurry(const Link& by);
  void on_acknowledged(const delivery::Acknowledgement& acknowledgement);
  /// Sends again and acknowledges what is due; the next deadline.
  std::uint64_t serve(std::uint64_t now_ns);
  /// False: there is no room now. Sets ASKS if the frame is under way already.
  bool send_again(const delivery::SentFrame& frame, bool& asks);
  bool send_copy_again(const delivery::SentFrame& frame);
  void release(const delivery::SentFrame& frame);
  /// A frame of the peer failed its checksum.
  void on_damaged(std::span<const std::byte> frame);
  bool send_damage_report();
  void on_damage_reported(std::uint32_t sequence);
  /// No frame is on its way that only a channel of KIND might be able to carry again.
  [[nodiscard]] bool can_do_without(ChannelKind kind) const {
    return !assurance_ || transport::keeps_frames(kind) || assurance_->copies.is_empty();
  }
  bool send_acknowledgement();
  // Whether it may have vanished (vigil.cpp):
  [[nodiscard]] bool has_unanswered() const { return assurance_ && !assurance_->window.is_empty(); }
  /// Something waits for the peer, as it did an interval before: asks it for a sign of life.
  /// Returns how many times that was done since it gave one.
  std::uint32_t note_watched();
  [[nodiscard]] bool is_questioned() const { return assurance_ && assurance_->silent_looks > 0; }
  /// It was asked, and has been silent since.
  [[nodiscard]] bool is_suspect() const {
    return assurance_ && assurance_->silent_looks > looks_to_suspect;
  }
  /// Sends a frame past all others, once, by the link in use or another one. False: there is no
  /// room now.
  bool send_unnumbered(ControlClass frame_class, std::span<const std::byte> body) {
    return send_unnumbered(*link_, frame_class, body);
  }
  bool send_unnumbered(Link& by, ControlClass frame_class, std::span<const std::byte> body);
  /// Sends our last frame, now or later. IS_PEER_AT_END: the peer does the same.
  void part(bool is_peer_at_end);
  void drop_sent();
  void on_undelivered(const Link& link, transport::ChannelSet kinds);

  /// Counts what OTHER, which ends, has counted.
  void absorb(const Endpoint& other);
  /// What it takes of the ledger's account of endpoints.
  [[nodiscard]] std::size_t footprint_bytes() const;

  // Where there are several links:
  /// Asks by another rail, if the one in use has brought no answer for long.
  void ask_by_another();
  /// The rail in use is another one now, that before it OLD.
  void change_rail(Link& old);
  /// One of its links has TEST.
  template <class Test>
  [[nodiscard]] bool any_link(Test&& test) const {
    for (std::uint8_t number = 0; number < Rails::rails_max; ++number)
      if (const Link* const each = link(number); each != nullptr && test(*each)) return true;
    return false;
  }
  /// Calls USE(Link&) for all its links, the one in use first.
  template <class Use>
  void for_each_link(Use&& use) {
    if (link_ == nullptr) return;
    Link* const first = link_;
    use(*first);
    for (std::uint8_t number = 0; rails_ && number < Rails::rails_max; ++number)
      if (Link* const each = rails_->link(number); each != nullptr && each != first) use(*each);
  }

  /// Messages before which it earns no channel of KIND, whatever the rules say.
  std::uint64_t& earns_from(ChannelKind kind) {
    return earns_from_.at(transport::earned_index(kind));
  }
  /// A slot for KIND is reserved, which it does not hold yet: no more, and whether it was.
  bool release_reserved(ChannelKind kind) {
    const bool was = reserved_.has(kind);
    reserved_.remove(kind);
    return was;
  }
  /// The policy shall look at this peer again at MESSAGES, if not before.
  void look_again_at(std::uint64_t messages) {
    next_look_messages_ = std::min(next_look_messages_, messages);
  }
  /// Messages of whatever way that crossed the channels between the peer and us.
  [[nodiscard]] std::uint64_t activity() const;

  /// More questions than these without a sign of life are not for want of time to answer.
  static constexpr std::uint32_t looks_to_suspect = 1;

  const Identity identity_;
  memory::Ledger& ledger_;
  Link* link_ = nullptr;
  Link* side_link_ = nullptr;
  const SendTable* table_ = nullptr;  // null while the link has no channels
  DeliveryChannels delivery_;         // of the link
  ChannelKind frame_channel_ = ChannelKind::shared_queue;
  ChannelKind bulk_channel_ = ChannelKind::shared_queue;
  std::array<std::uint32_t, transport::channel_kind_count> frame_bytes_max_{};  // less a checksum
  std::uint32_t next_sequence_ = 0;
  std::uint32_t courtesies_sent_ = 0;
  std::uint32_t courtesies_received_ = 0;
  transport::ChannelSet reserved_;  // slots that it does not hold yet
  std::uint64_t messages_ = 0;
  std::uint64_t next_look_messages_ = 0;
  std::array<std::uint64_t, transport::earned_kinds.size()> earns_from_{};
  const bool same_host_;
  bool has_sought_side_link_ = false;
  bool is_side_link_checked_ = false;
  bool listed_ = false;  // in the table's list of endpoints with frames that wait
  bool lost_ = false;
  bool took_leave_ = false;
  bool has_waiting_ = false;  // in the FIFO, and it is not their turn
  base::GrowingQueue<Waiting> fifo_;
  delivery::ReorderBuffer reorder_;
  std::unique_ptr<Assurance> assurance_;  // null: the link loses nothing, and nobody asked for it
  std::unique_ptr<Rails> rails_;          // null: there is one link
  std::uint64_t failed_checksum_ = 0;
  std::uint64_t absorbed_sent_again_ = 0;
  ChannelCounts counts_;
  std::unique_ptr<const std::string> loss_;
};

}  // namespace hawser::channel
