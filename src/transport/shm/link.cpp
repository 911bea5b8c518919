#include "transport/shm/link.hpp"

#include <cerrno>
#include <cstring>

#include "platform/clock.hpp"
#include "platform/this_process.hpp"
#include "transport/shm/read_timed.hpp"
#include "transport/shm/room.hpp"

namespace hawser::transport::shm {

using hostmem::OneCopyChoice;
using hostmem::SourceLines;
using hostmem::TimedCopy;

bool ShmLink::wants_time(TimedCopy kind, std::size_t bytes) {
  if (bytes < OneCopyChoice::run_bytes_min) return false;
  OneCopyChoice* const both_ways = one_copy_choice();
  return (both_ways != nullptr && both_ways->wants_time(kind)) ||
         (kind == TimedCopy::out_of_frame && joint_copies_.wants_time_of_frames());
}

template <class Copy>
void ShmLink::copy_timed(TimedCopy kind, std::size_t bytes, const Copy& copy) {
  if (!wants_time(kind, bytes)) return copy();
  const std::uint64_t began_ns = platform::monotonic_ns();
  copy();
  note_time(kind, bytes, platform::monotonic_ns() - began_ns);
}

void ShmLink::note_time(TimedCopy kind, std::size_t bytes, std::uint64_t ns) {
  if (kind == TimedCopy::out_of_frame) joint_copies_.frames_took(bytes, ns);
  if (OneCopyChoice* const both_ways = one_copy_choice(); both_ways != nullptr)
    both_ways->took(kind, bytes, ns);
}

std::size_t ShmLink::frame_bytes_max(ChannelKind kind) const {
  if (kind == ChannelKind::ring && outgoing_)
    return outgoing_->is_extended() ? outgoing_shape_.extended_frame_bytes_max()
                                    : outgoing_shape_.frame_bytes_max();
  return queue_frame_bytes_max;
}

/// Where all cells are away and the peer's frames wait for us: cells come back with those, and what
/// both sides put into their long areas meanwhile would leave the caches. But not for ever: what
/// waits may be short, and bring none.
bool ShmLink::wants_reading_first(ChannelKind kind) {
  const bool may_bring_cells = kind == ChannelKind::ring && cells_.are_all_away() &&
                               incoming_ring_ && incoming_ring_->has_front();
  if (!may_bring_cells || put_off_ == put_offs_max) {
    put_off_ = 0;
    return false;
  }
  ++put_off_;
  return true;
}

FrameRoom ShmLink::reserve_in_ring(std::size_t head_bytes, std::size_t payload_bytes,
                                   std::size_t phase) {
  if (head_bytes + payload_bytes > line_frame_bytes && !outgoing_->is_extended()) [[unlikely]]
    count_longer_frame(head_bytes + payload_bytes);
  FrameRoom room = outgoing_->reserve(head_bytes, payload_bytes, phase);
  if (room.head == nullptr && want_room(outgoing_->room(), own_word_, waker_.payer()))
    room = outgoing_->reserve(head_bytes, payload_bytes, phase);
  if (payload_bytes >= row_frame_bytes_min)
    copy_in_bytes_min_ =
        outgoing_->is_reserved_past_cache() ? row_frame_bytes_min : base::long_copy_bytes;
  return room;
}

std::byte* ShmLink::reserve(ChannelKind kind, std::size_t bytes) {
  return (kind == ChannelKind::ring ? reserve_in_ring(bytes, 0, 0) : reserve_in_queue(bytes, 0))
      .head;
}

FrameRoom ShmLink::reserve_apart(ChannelKind kind, std::size_t head_bytes,
                                 std::size_t payload_bytes, std::size_t phase) {
  if (kind != ChannelKind::ring) [[unlikely]]
    return reserve_in_queue(head_bytes, payload_bytes);
  const std::size_t frame_bytes = head_bytes + payload_bytes;
  if (frame_bytes <= line_frame_bytes)
    if (std::byte* const frame = outgoing_->try_reserve_in_line(frame_bytes)) [[likely]]
      return {frame, frame + head_bytes};
  return reserve_in_ring(head_bytes, payload_bytes, phase);
}

FrameRoom ShmLink::reserve_in_queue(std::size_t head_bytes, std::size_t payload_bytes) {
  claimed_ = claim_slot();
  if (claimed_ == nullptr) return {};
  claimed_bytes_ = head_bytes + payload_bytes;
  return {claimed_->frame, claimed_->frame + head_bytes};
}

/// Asks for a long area now and then, until there is one. A question that finds no room now is
/// asked again after as many bytes.
void ShmLink::count_longer_frame(std::size_t bytes) {
  longer_bytes_ += bytes;
  if (longer_bytes_ < longer_bytes_per_question) return;
  longer_bytes_ = 0;
  send_control(FrameType::ring_extend, {});
}

QueueSlot* ShmLink::claim_slot() {
  QueueSlot* slot = queue_.claim();
  if (slot != nullptr || !want_room(segment_.queue_room(), own_word_, waker_.payer())) return slot;
  return queue_.claim();
}

void ShmLink::copy_in(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (outgoing_ && outgoing_->is_reserved_past_cache() && bytes >= base::cache_line_bytes)
    return base::copy_past_cache(to, from, bytes);
  copy_timed(TimedCopy::into_frame, bytes, [&] { copy_in_(to, from, bytes); });
}

void ShmLink::copy_out(std::byte* to, const std::byte* from, std::size_t bytes,
                       std::uint64_t message_bytes) {
  joint_copies_.came_by_frames(bytes, message_bytes);
  copy_timed(TimedCopy::out_of_frame, bytes, [&] {
    if (is_for_memory(to, bytes, message_bytes)) return base::copy_past_cache(to, from, bytes);
    const bool is_cell = incoming_ring_ && incoming_ring_->is_front_in_cell();
    hostmem::MeasuredCopy& copy = is_cell ? copy_out_of_cell_ : copy_out_;
    copy(to, from, bytes, is_prefetched(bytes) ? SourceLines::of_peer : SourceLines::not_asked_for);
  });
}

/// Not of short frames that come in a row: to ask for their lines takes about as long as to copy
/// them.
bool ShmLink::is_prefetched(std::size_t bytes) const {
  constexpr std::size_t always_from_bytes = 16 << 10;
  return bytes >= always_from_bytes || (outgoing_ && outgoing_->is_answered());
}

/// Whether a part of a message is to be stored past the caches.
bool ShmLink::is_for_memory(const std::byte* to, std::size_t bytes, std::uint64_t message_bytes) {
  if (message_bytes < hostmem::ColdPlaces::message_bytes_min) return false;
  if (cold_places_.note(to, bytes)) cold_places_.looked(hostmem::is_in_no_cache(to + bytes / 2));
  return cold_places_.are_cold();
}

void ShmLink::commit(ChannelKind kind) {
  if (kind == ChannelKind::ring) {
    outgoing_->commit();
  } else {
    queue_.publish(*claimed_, FrameType::data, claimed_bytes_);
  }
  if (waker_.wake(*wake_word_)) [[unlikely]]
    ++wakes_;
}

bool ShmLink::ask(ChannelKind kind) {
  if (kind != ChannelKind::ring || outgoing_ || !attached_) return true;
  return send_control(FrameType::ring_ask, {});
}

bool ShmLink::give_back(ChannelKind kind) {
  if (kind != ChannelKind::ring || !outgoing_) return true;
  // How far the peer has read stands in the ring; once it is gone, nobody could tell.
  if (has_own_cells_under_way()) return false;
  if (!send_control(FrameType::ring_give_back, {})) return false;
  cells_.close(Cells::Home::theirs);
  joint_copies_.open_outgoing(nullptr);
  outgoing_.reset();
  channels_.remove(ChannelKind::ring);
  return true;
}

bool ShmLink::recall(ChannelKind kind) {
  if (kind != ChannelKind::ring || !incoming_ring_ || !attached_) return true;
  return send_control(FrameType::ring_recall, {});
}

std::span<const std::byte> ShmLink::front(ChannelKind) {
  FrameType type;
  const std::span<const std::byte> head = incoming_ring_->front(&type, &front_payload_);
  if (head.empty() || type != FrameType::data) return {};
  return head;
}

void ShmLink::pop(ChannelKind) {
  note_arrival();
  incoming_ring_->pop();
  tell_of_room();
}

void ShmLink::tell_of_room() {
  if (incoming_ring_->take_published() && take_wish(incoming_ring_->room(), waker_.payer()))
    wake_peer();
}

bool ShmLink::does_one_copy_pay(std::size_t bytes) {
  if (auto* const follower = std::get_if<hostmem::OneCopyFollower>(&one_copy_))
    return outgoing_ && follower->next(bytes, outgoing_->one_copy_word());
  OneCopyChoice& choice = *one_copy_choice();
  const bool is_copied_once = choice.next(bytes);
  if (incoming_ring_) incoming_ring_->say_one_copy_word(choice.word());
  return is_copied_once;
}

std::int64_t ShmLink::get(std::span<const MemoryPiece> local, std::span<const MemoryPiece> remote) {
  constexpr auto kind = TimedCopy::by_kernel;
  const std::int64_t copied = read_timed(
      pid_, local, remote, [&](std::size_t bytes) { return wants_time(kind, bytes); },
      [&](std::size_t bytes, std::uint64_t ns) { note_time(kind, bytes, ns); });
  if (copied == -EPERM || copied == -ENOSYS) channels_.remove(ChannelKind::single_copy);
  return copied;
}

Result<void> ShmLink::attach(const AttachPacket& packet, const platform::FileDescriptor& segment,
                             pid_t pid, hostmem::WakeWord* wake_word, bool try_single_copy) {
  if (attached_) return {};  // both connected at once: the second answer says nothing new
  Result<PeerSegment> peer = PeerSegment::attach(segment, packet.queue_slots, packet.window_bytes);
  if (!peer) return peer.take_error();
  segment_ = std::move(*peer);
  queue_ = segment_.queue_sender(packet.owner);
  pid_ = pid;
  start_time_ = platform::start_time(pid);
  joint_copies_.attach(pid_, start_time_);
  wake_word_ = wake_word;
  attached_ = true;
  channels_.add(ChannelKind::shared_queue);
  if (try_single_copy && platform::holds_word(pid_, packet.cookie_address, packet.cookie))
    channels_.add(ChannelKind::single_copy);
  return {};
}

bool ShmLink::accept_ring(const RingGrant& grant) {
  const RingShape shape{grant.line_count, grant.bulk_bytes, grant.long_bytes, grant.cells};
  std::byte* memory = segment_.ring_memory(grant.offset, shape);
  if (memory == nullptr || outgoing_) return false;
  outgoing_.emplace(memory, shape, cells_);
  joint_copies_.open_outgoing(&outgoing_->joint_words());
  outgoing_shape_ = shape;
  longer_bytes_ = 0;
  channels_.add(ChannelKind::ring);
  return true;
}

bool ShmLink::send_control(FrameType type, std::span<const std::byte> body) {
  QueueSlot* slot = claim_slot();
  if (slot == nullptr) return false;
  if (!body.empty()) std::memcpy(slot->frame, body.data(), body.size());
  queue_.publish(*slot, type, body.size());
  if (waker_.wake(*wake_word_)) [[unlikely]]
    ++wakes_;
  return true;
}

bool ShmLink::is_alive() const {
  if (pid_ == 0) return true;  // in a pid name space that we can't see into
  const std::uint64_t now = platform::start_time(pid_);
  if (now != 0) return now == start_time_;
  // No such process; unless we can't even see ourselves.
  return platform::start_time(platform::process_id()) == 0;
}

}  // namespace hawser::transport::shm
