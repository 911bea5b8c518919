#include "channel/endpoint/endpoint.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.hpp"

namespace hawser::channel {

Endpoint::~Endpoint() {
  if (assurance_) assurance_->timers.forget(*this, assurance_->timer_state);
  for (std::size_t i = 0; i < fifo_.size(); ++i)
    ledger_.refund(memory::Account::sender_fifo, fifo_[i].bytes);
}

void Endpoint::absorb(const Endpoint& other) {
  for (std::size_t i = 0; i < transport::channel_kind_count; ++i) {
    const auto kind = static_cast<ChannelKind>(i);
    if (other.sent(kind).messages == 0 && other.received(kind).messages == 0) continue;
    counts_.of(kind).sent.add(other.sent(kind));
    counts_.of(kind).received.add(other.received(kind));
  }
  messages_ += other.messages_;
  failed_checksum_ += other.failed_checksum_;
  absorbed_sent_again_ += other.sent_again();
}

std::size_t Endpoint::footprint_bytes() const {
  return sizeof(Endpoint) + (assurance_ ? sizeof(Assurance) : 0) + (rails_ ? sizeof(Rails) : 0) +
         counts_.all().size_bytes();
}

std::byte* Endpoint::enqueue(std::size_t frame_bytes) {
  HAWSER_ASSERT(frame_bytes <= frame_bytes_guaranteed);
  ledger_.charge(memory::Account::sender_fifo, frame_bytes);
  has_waiting_ = true;
  fifo_.push_back({std::make_unique_for_overwrite<std::byte[]>(frame_bytes), frame_bytes, nullptr});
  return fifo_.back().frame.get();
}

void Endpoint::defer(void* message) {
  ledger_.charge(memory::Account::sender_fifo, sizeof(Waiting));
  has_waiting_ = true;
  fifo_.push_back({nullptr, sizeof(Waiting), message});
}

bool Endpoint::flush(FrameHandler& handler) {
  bool moved = false;
  has_waiting_ = false;  // what is sent in here has its turn
  while (!fifo_.empty() && is_open() && send_waiting(fifo_.front(), handler)) {
    ledger_.refund(memory::Account::sender_fifo, fifo_.front().bytes);
    fifo_.pop_front();
    moved = true;
  }
  has_waiting_ = !fifo_.empty();
  return moved;
}

bool Endpoint::send_waiting(const Waiting& waiting, FrameHandler& handler) {
  if (waiting.message != nullptr) return handler.on_turn(waiting.message);
  const std::span<const std::byte> frame(waiting.frame.get(), waiting.bytes);
  const std::span<const std::byte> body = frame.subspan(sizeof(FramePrefix));
  // It has its number now, if it gets one: what waited before it may have become many frames.
  return try_send(frame_channel_, static_cast<std::uint8_t>(frame.front()), Sequencing::none,
                  frame.size(), [&](std::byte* to) { std::memcpy(to, body.data(), body.size()); });
}

void Endpoint::drop_waiting(FrameHandler& handler) {
  base::GrowingQueue<Waiting> dropped = std::exchange(fifo_, {});
  has_waiting_ = false;
  for (; !dropped.empty(); dropped.pop_front()) {
    const Waiting& waiting = dropped.front();
    ledger_.refund(memory::Account::sender_fifo, waiting.bytes);
    if (waiting.message != nullptr) handler.on_turn(waiting.message);
  }
}

void Endpoint::use_table(const SendTable& table) {
  table_ = &table;
  const auto has = [channels = link_->channels()](ChannelKind kind) { return channels.has(kind); };
  for (std::size_t i = 0; i < transport::channel_kind_count; ++i) {
    const auto kind = static_cast<ChannelKind>(i);
    const std::size_t longest = transport::carries_frames(kind) ? link_->frame_bytes_max(kind) : 0;
    frame_bytes_max_[i] = static_cast<std::uint32_t>(
        longest - (is_checked(kind) ? std::min(longest, frame_check_bytes) : 0));
  }
  constexpr std::array by_latency = {ChannelKind::ring,    ChannelKind::shared_queue,
                                     ChannelKind::self,    ChannelKind::rc_fast_path,
                                     ChannelKind::rc_send, ChannelKind::xrc_send,
                                     ChannelKind::ud_send, ChannelKind::tcp};
  frame_channel_ = *std::ranges::find_if(by_latency, has);
  bulk_channel_ = frame_channel_;
  for (const ChannelKind kind : by_latency)
    if (has(kind) && frame_bytes_max(kind) > frame_bytes_max(bulk_channel_)) bulk_channel_ = kind;
}

std::byte* Endpoint::make_ready(ChannelKind kind, std::span<std::byte> frame) {
  if (is_checked(kind)) seal_frame(frame);
  if (transport::keeps_frames(kind)) return frame.data();
  const bool is_kept = is_checked(kind) || delivery_.acknowledged.has(kind);
  return is_kept ? assurance_->copies.keep(frame) : nullptr;
}

void Endpoint::note_sent(ChannelKind kind, std::byte* kept, std::size_t frame_bytes) {
  const delivery::SentFrame sent{
      .sequence = next_sequence_ - 1,
      .bytes = static_cast<std::uint32_t>(frame_bytes),
      .frame = kept,
      .channel = static_cast<std::uint8_t>(kind),
      .rail = link_->rail_number,
      // Of a copy: a frame that is late is cheap to send twice, and one that is damaged is a gap.
      .may_be_lost =
          transport::may_lose_frames(kind) || (kept != nullptr && !transport::keeps_frames(kind)),
  };
  const bool wants_time = assurance_->window.wants_time();
  assurance_->window.add(sent, wants_time ? assurance_->timers.now_ns() : 0);
  expect(assurance_->deadline_ns());
}

/// The few buffers of low priority are wanted back soon, whatever came in them. Those of a TCP
/// connection are no fewer for long frames, and an answer takes as long as copying some.
void Endpoint::note_delivered(const Link& by, ChannelKind kind, std::size_t frame_bytes) {
  assurance_->note_heard_by(by.rail_number);
  delivery::Acknowledger& acknowledger = assurance_->acknowledger;
  if (kind == ChannelKind::rc_rdma)
    frame_bytes = std::max(frame_bytes, 3 * delivery::Acknowledger::bytes_per_frame);
  if (kind == ChannelKind::tcp) frame_bytes = 0;
  acknowledger.on_delivered(acknowledger.owes() ? 0 : assurance_->timers.now_ns(), frame_bytes);
  expect(acknowledger.deadline_ns());
}

void Endpoint::hurry(const Link& by) {
  assurance_->note_heard_by(by.rail_number);
  assurance_->acknowledger.hurry();
  expect(0);
}

void Endpoint::on_acknowledged(const delivery::Acknowledgement& acknowledgement) {
  assurance_->silent_looks = 0;
  assurance_->window.acknowledge(acknowledgement, assurance_->timers.now_ns(),
                                 [&](const delivery::SentFrame& sent) { release(sent); });
  expect(assurance_->deadline_ns());
}

std::uint64_t Endpoint::serve(std::uint64_t now_ns) {
  if (lost_ || !is_open()) return never_ns;
  bool asks = false;
  assurance_->window.on_time(
      now_ns, [&](const delivery::SentFrame& sent) { return send_again(sent, asks); });
  // What is under way will arrive; what the peer says of it may have been lost.
  if (asks) send_unnumbered(ControlClass::question, {});
  acknowledge_if_due(now_ns);
  if (assurance_->damaged && send_damage_report()) assurance_->damaged.reset();
  return assurance_->deadline_ns();
}

bool Endpoint::send_again(const delivery::SentFrame& sent, bool& asks) {
  const auto kind = static_cast<ChannelKind>(sent.channel);
  if (sent.frame != nullptr && !transport::keeps_frames(kind)) return send_copy_again(sent);
  Link::Resent resent = Link::Resent::under_way;
  if (sent.frame != nullptr) {
    // Of a rail that is not in use nobody knows whether it carries anything.
    Link& keeper = *link(sent.rail);
    if (&keeper == link_)
      resent = keeper.resend(kind, sent.frame, sent.bytes, is_checked(kind));
    else if (is_checked(kind) || !keeper.is_under_way(sent.frame))
      resent = link_->send_copy({sent.frame, sent.bytes});
  }
  asks |= resent == Link::Resent::under_way;
  return resent != Link::Resent::no_room;
}

/// By any channel that carries one so long, whatever it left by first.
bool Endpoint::send_copy_again(const delivery::SentFrame& sent) {
  for (const ChannelKind kind : {frame_channel_, bulk_channel_}) {
    if (sent.bytes > link_->frame_bytes_max(kind)) continue;
    std::byte* const frame = link_->reserve(kind, sent.bytes);
    if (frame == nullptr) continue;
    std::memcpy(frame, sent.frame, sent.bytes);
    link_->commit(kind);
    return true;
  }
  return false;
}

void Endpoint::release(const delivery::SentFrame& sent) {
  const auto kind = static_cast<ChannelKind>(sent.channel);
  if (transport::keeps_frames(kind)) {
    link(sent.rail)->release(kind, sent.frame);
  } else {
    assurance_->copies.drop(sent.frame);
  }
}

/// The number is likely to be right, since it is a small part of the frame.
void Endpoint::on_damaged(std::span<const std::byte> frame) {
  ++failed_checksum_;
  if (!assurance_) return;
  FramePrefix prefix;
  std::memcpy(&prefix, frame.data(), sizeof(prefix));
  assurance_->damaged = prefix.sequence;
  expect(0);
}

void Endpoint::on_damage_reported(std::uint32_t sequence) {
  assurance_->window.on_damaged(sequence);
  expect(assurance_->deadline_ns());
}

bool Endpoint::send_damage_report() {
  const DamageReport report{*assurance_->damaged, 0};
  return send_unnumbered(ControlClass::damaged, std::as_bytes(std::span(&report, 1)));
}

/// Frames that the peer may have on its way: by which link it sends them is its own choice.
std::uint32_t Endpoint::receive_window() {
  std::uint32_t frames = assurance_->receive_window;
  for_each_link([&](const Link& by) { frames = std::min(frames, by.receive_window()); });
  return frames;
}

std::uint32_t Endpoint::note_watched() {
  send_unnumbered(ControlClass::question, {});
  return assurance_->silent_looks++;
}

bool Endpoint::send_acknowledgement() {
  const std::uint32_t window = receive_window();
  assurance_->acknowledger.follow(window);
  const auto [missing, early_bits] = reorder_.arrived();
  const delivery::Acknowledgement acknowledgement{
      .expected = missing, .window = window, .early = early_bits};
  const auto body = std::as_bytes(std::span(&acknowledgement, 1));
  if (!rails_ || assurance_->heard_by == 0)
    return send_unnumbered(ControlClass::acknowledgement, body);
  // Who asks by another rail does not hear what goes by this one.
  bool has_left = false;
  for (std::uint8_t number = 0; number < Rails::rails_max; ++number) {
    Link* const by = link(number);
    if ((assurance_->heard_by >> number & 1) != 0 && by != nullptr)
      has_left |= send_unnumbered(*by, ControlClass::acknowledgement, body);
  }
  if (has_left) assurance_->heard_by = 0;
  return has_left;
}

void Endpoint::acknowledge_if_due(std::uint64_t now_ns) {
  if (assurance_->acknowledger.deadline_ns() <= now_ns && send_acknowledgement())
    assurance_->acknowledger.on_sent();
}

bool Endpoint::send_unnumbered(Link& by, ControlClass frame_class,
                               std::span<const std::byte> body) {
  std::array<std::byte, acknowledgement_bytes + frame_check_bytes> memory;
  HAWSER_ASSERT(body.size() <= acknowledgement_bytes - sizeof(FramePrefix));
  write_unnumbered_prefix(memory.data(), static_cast<std::uint8_t>(frame_class));
  std::ranges::copy(body, memory.begin() + sizeof(FramePrefix));
  // The link may send it by another channel, so one that is checked is enough.
  const bool is_sealed = !delivery_.checked.empty();
  const std::span<std::byte> frame = std::span(memory).first(sizeof(FramePrefix) + body.size() +
                                                             (is_sealed ? frame_check_bytes : 0));
  if (is_sealed) seal_frame(frame);
  return by.send_once(&by == link_ ? frame_channel_ : ChannelKind::ud_send, frame);
}

void Endpoint::ask_by_another() {
  const auto number = rails_->next_to_ask(assurance_->window.unanswered());
  if (number) send_unnumbered(*link(*number), ControlClass::question, {});
}

void Endpoint::change_rail(Link& old) {
  link_ = rails_->link(rails_->used());
  if (rails_->is_usable(old.rail_number)) return;
  old.break_connection();
  assurance_->window.on_failed(old.rail_number);
  expect(assurance_->deadline_ns());
}

void Endpoint::drop_sent() {
  if (!assurance_) return;
  assurance_->window.clear([&](const delivery::SentFrame& sent) { release(sent); });
}

void Endpoint::on_undelivered(const Link& link, transport::ChannelSet kinds) {
  if (!assurance_) return;
  for (std::uint8_t kind = 0; kind < transport::channel_kind_count; ++kind)
    if (kinds.has(static_cast<ChannelKind>(kind)))
      assurance_->window.on_broken(link.rail_number, kind);
  expect(assurance_->deadline_ns());
}

std::uint64_t Endpoint::activity() const {
  std::uint64_t messages = messages_;
  for (const ChannelCounts::Entry& each : counts_.all()) messages += each.received.messages;
  return messages;
}

void Endpoint::part(bool is_peer_at_end) {
  if (!assurance_ || lost_ || (link_ != nullptr && link_->is_at_rest())) return;
  assurance_->is_peer_at_end |= is_peer_at_end;
  if (std::exchange(assurance_->has_parted, true)) return;
  if (is_courtesy()) ++courtesies_sent_;
  send(static_cast<std::uint8_t>(ControlClass::parting), sizeof(FramePrefix), [](std::byte*) {});
}

}  // namespace hawser::channel
