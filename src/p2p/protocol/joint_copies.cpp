// The part of ChannelBackend that copies long messages jointly (channel single_copy, where the link
// has JointCopies): the receiver reads one half out of the sender's memory while the sender writes
// the other into the receiver's, so that two cores make the one copy.
//
// The receiver offers the sender its half with join_copy, and copies its own, chunk by chunk
// between other progress; the sender says part_copied behind its half, and the receiver finished.
// A sender that does not come for its half, since it computes, say, loses it: the receiver copies
// it, too. What can't be copied comes by frames, all of it.
#include <algorithm>

#include "base/cache_line.hpp"
#include "p2p/protocol/channel_backend.hpp"

namespace hawser::p2p {

using channel::Endpoint;
using transport::JointCopies;
using wire::FrameClass;

namespace {

/// Rounds of progress that a sender has to come for its half, once the other one is there and it
/// is at no other one: some microseconds.
constexpr std::uint32_t patience_rounds = 64;

}  // namespace

/// Of a message that crosses none of ours.
bool ChannelBackend::is_copied_jointly(const ReceiveRequest& request) {
  const Endpoint& from = *request.endpoint;
  JointCopies* const copies = from.link().joint_copies();
  return copies != nullptr && request.offered.is_checked == 0 && !request.is_truncated() &&
         address_of(request) != 0 && from.may_be_copied_once(request.total) &&
         copies->do_pay(request.total);
}

void ChannelBackend::start_joint_copy(ReceiveRequest& request) {
  JointCopies& copies = *request.endpoint->link().joint_copies();
  const std::uint64_t half = (request.total - request.received) / 2;
  const std::uint64_t middle =
      request.received + half / base::cache_line_bytes * base::cache_line_bytes;
  const JointCopy::Part front{request.received, middle}, back{middle, request.total};
  request.joint.emplace(&copies, copies.takes_front() ? front : back,
                        copies.takes_front() ? back : front);
  request.token = receives_by_frames_.insert(&request);
  request.retain();  // until it is over
  // The first chunk at once: most halves are one chunk.
  if (!push_joint_copy(request)) joint_copies_.push_back(&request);
}

/// Offers the sender its half, if a claim is free.
void ChannelBackend::offer_half(ReceiveRequest& request) {
  JointCopy& joint = *request.joint;
  joint.claim = joint.copies->give_claim();
  if (!joint.claim) return;
  const JointCopy::Part& part = joint.of_peer;
  const bool is_timed = joint.copies->wants_time(part.bytes());
  tell(*request.endpoint, FrameClass::join_copy,
       wire::JoinCopy{request.peer_token, request.token, part.at, part.bytes(),
                      address_of(request) + part.at, *joint.claim, is_timed ? 1U : 0U});
}

/// Copies the next chunk, or waits for the sender's half, which is there if on_part_copied() has
/// been told so in this round of progress; true if the message is over.
bool ChannelBackend::push_joint_copy(ReceiveRequest& request) {
  JointCopy& joint = *request.joint;
  if (!joint.claim) offer_half(request);
  if (!joint.claim) return false;
  if (joint.own.bytes() > 0) {
    copy_own_half(request);
  } else if (joint.of_peer.bytes() > 0) {
    wait_for_half(joint);
  }
  if (joint.own.bytes() > 0 || joint.of_peer.bytes() > 0) return false;
  end_joint_copy(request);
  return true;
}

void ChannelBackend::copy_own_half(ReceiveRequest& request) const {
  JointCopy& joint = *request.joint;
  const std::size_t bytes =
      std::min(joint.own.bytes(), static_cast<std::uint64_t>(settings_.single_copy_chunk_bytes));
  const std::int64_t copied = joint.copies->get(address_of(request) + joint.own.at,
                                                request.offered.address + joint.own.at, bytes);
  joint.has_failed |= copied <= 0;
  joint.own.at =
      joint.has_failed ? joint.own.end : joint.own.at + static_cast<std::uint64_t>(copied);
}

/// Our half is there. If the sender does not come for its own, that is ours, too.
void ChannelBackend::wait_for_half(JointCopy& joint) {
  if (joint.has_withdrawn || (++joint.rounds < patience_rounds && !joint.has_failed)) return;
  joint.rounds = 0;
  if (joint.copies->is_peer_at_work() && !joint.has_failed) return;
  joint.has_withdrawn = true;
  if (joint.copies->withdraw(*joint.claim)) take_over(joint);
}

/// The sender does not copy its half.
void ChannelBackend::take_over(JointCopy& joint) {
  if (!joint.has_failed) joint.own = joint.of_peer;
  joint.of_peer.at = joint.of_peer.end;
}

void ChannelBackend::end_joint_copy(ReceiveRequest& request) {
  JointCopies& copies = *request.joint->copies;
  const bool has_failed = request.joint->has_failed;
  copies.close(*request.joint->claim);
  request.joint.reset();
  receives_by_frames_.erase(request.token);
  if (has_failed) [[unlikely]] {
    copies.give_up();
    request.received = 0;
    ask_for_frames(request);
  } else {
    request.received = request.total;
    complete_fetch(request);
  }
  let_go(request);
}

void ChannelBackend::on_part_copied(Endpoint& from, std::span<const std::byte> body) {
  const auto copied = wire::take<wire::PartCopied>(body);
  ReceiveRequest* request = copied ? receives_by_frames_.find(copied->receiver_token) : nullptr;
  if (request == nullptr || request->endpoint != &from || !request->joint) return;
  JointCopy& joint = *request->joint;
  const std::uint64_t bytes = joint.of_peer.bytes();
  if (bytes == 0) return;  // it steps back from what we have taken over
  if (copied->bytes == 0) {
    if (!joint.has_withdrawn) joint.copies->give_up();
    take_over(joint);
    return;
  }
  joint.has_failed |= copied->bytes != bytes;
  if (copied->ns > 0) joint.copies->took(copied->bytes, copied->ns);
  joint.of_peer.at = joint.of_peer.end;
}

void ChannelBackend::on_join_copy(Endpoint& from, std::span<const std::byte> body) {
  const auto part = wire::take<wire::JoinCopy>(body);
  SendRequest* request = part ? sends_in_rendezvous_.find(part->sender_token) : nullptr;
  if (request == nullptr || request->endpoint != &from || !request->may_be_copied ||
      part->offset > request->total || part->bytes > request->total - part->offset ||
      request->is_over)
    return;
  JointCopies* const copies = from.link().joint_copies();
  if (copies == nullptr || !copies->take(part->claim)) {
    tell(from, FrameClass::part_copied, wire::PartCopied{part->receiver_token, 0, 0});
    return;
  }
  request->is_joined = true;
  ++request->parts_leaving;
  JointPart ours{request, copies, *part};
  if (!push_joint_part(ours)) joint_parts_.push_back(ours);
}

/// Copies the next chunk; true if that was the last one.
bool ChannelBackend::push_joint_part(JointPart& part) {
  SendRequest& request = *part.request;
  const std::size_t bytes = std::min(part.asked.bytes - part.done,
                                     static_cast<std::uint64_t>(settings_.single_copy_chunk_bytes));
  const std::int64_t copied = part.copies->put(address_of(request) + part.asked.offset + part.done,
                                               part.asked.address + part.done, bytes,
                                               part.asked.is_timed != 0 ? &part.ns : nullptr);
  part.done += static_cast<std::uint64_t>(std::max<std::int64_t>(copied, 0));
  if (copied > 0 && part.done < part.asked.bytes) return false;
  tell(*request.endpoint, FrameClass::part_copied,
       wire::PartCopied{part.asked.receiver_token, part.done, part.ns});
  --request.parts_leaving;
  if (request.is_over) complete_send(request);
  return true;
}

bool ChannelBackend::push_joint_copies() {
  bool moved = !joint_parts_.empty();
  std::size_t left = 0;
  for (JointPart& part : joint_parts_)
    if (!push_joint_part(part)) joint_parts_[left++] = part;
  joint_parts_.resize(left, {});
  std::erase_if(joint_copies_, [&](ReceiveRequest* request) {
    moved |= request->joint->own.bytes() > 0;
    const bool is_over = push_joint_copy(*request);
    moved |= is_over;
    return is_over;
  });
  return moved;
}

/// Those who wait for LOST hear of it as others do that wait for its frames.
void ChannelBackend::abandon_joint_copies(const Endpoint& lost) {
  std::erase_if(joint_copies_, [&](ReceiveRequest* request) {
    if (request->endpoint != &lost) return false;
    JointCopy& joint = *request->joint;
    if (joint.claim) {
      joint.copies->withdraw(*joint.claim);
      joint.copies->close(*joint.claim);
    }
    request->joint.reset();
    return true;
  });
  std::erase_if(joint_parts_, [&](const JointPart& part) {
    if (part.request->endpoint != &lost) return false;
    --part.request->parts_leaving;
    return true;
  });
}

}  // namespace hawser::p2p
