// The part of ChannelBackend that copies long messages jointly (channel single_copy, where the link
// has JointCopies): the receiver reads one half out of the sender's memory while the sender writes
// the other into the receiver's, so that two cores make the one copy.
//
// The receiver offers the sender its half with join_copy, and copies its own, chunk by chunk
// between other progress; the sender says part_copied behind its half, and the receiver finished.
// A sender that does not come for its half, since it computes, say, loses it: the receiver copies
// it, too. What can't be copied comes by frames, all of it.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/cache_line.hpp"
#include "p2p/protocol/channel_backend.hpp"
#include "p2p/protocol/copy_run.hpp"

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

/// The sender is told at once; we copy our half in this round of progress, or the next one, with
/// those of other messages.
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
  offer_half(request);
  joint_copies_.push_back(&request);
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

/// Copies of our halves what comes next.
bool ChannelBackend::copy_own_halves() {
  CopyRun run(settings_.single_copy_chunk_bytes);
  std::array<JointCopy*, CopyRun::pieces_max> halves;
  std::size_t looked_at = 0;
  for (ReceiveRequest* const request : joint_copies_) {
    JointCopy& joint = *request->joint;
    const std::size_t number = run.count();
    if (!joint.claim) offer_half(*request);
    if (joint.claim && joint.own.bytes() > 0) {
      if (!run.add(joint.copies, address_of(*request) + joint.own.at,
                   request->offered.address + joint.own.at, joint.own.bytes()))
        break;
      halves[number] = &joint;
    }
    ++looked_at;
  }
  if (run.count() == 0) return false;
  JointCopy& first = *halves.front();
  const bool was_copied = run.distribute(
      first.copies->get(run.local(), run.remote()),
      [&](std::size_t number, std::size_t bytes) { halves[number]->own.at += bytes; });
  if (!was_copied) {
    first.has_failed = true;
    first.own.at = first.own.end;
  }
  put_behind(joint_copies_, looked_at,
             [](const ReceiveRequest* request) { return request->joint->own.bytes() > 0; });
  return true;
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
  joint_parts_.push_back({request, copies, *part});
}

/// Copies of the halves that are ours to write what comes next.
bool ChannelBackend::copy_parts() {
  if (joint_parts_.empty()) return false;
  CopyRun run(settings_.single_copy_chunk_bytes);
  for (const JointPart& part : joint_parts_)
    if (!run.add(part.copies, address_of(*part.request) + part.asked.offset + part.done,
                 part.asked.address + part.done, part.asked.bytes - part.done))
      break;
  JointPart& first = joint_parts_.front();
  std::uint64_t ns = 0;
  const bool was_copied = run.distribute(first.copies->put(run.local(), run.remote(), &ns),
                                         [&](std::size_t number, std::size_t bytes) {
                                           JointPart& part = joint_parts_[number];
                                           part.done += bytes;
                                           part.ns += ns * bytes / run.bytes();
                                           if (part.done == part.asked.bytes) end_part(part);
                                         });
  if (!was_copied) end_part(first);
  put_behind(joint_parts_, run.count(),
             [](const JointPart& part) { return part.request != nullptr; });
  std::erase_if(joint_parts_, [](const JointPart& part) { return part.request == nullptr; });
  return true;
}

void ChannelBackend::end_part(JointPart& part) {
  SendRequest& request = *std::exchange(part.request, nullptr);
  tell(*request.endpoint, FrameClass::part_copied,
       wire::PartCopied{part.asked.receiver_token, part.done,
                        part.asked.is_timed != 0 ? part.ns : 0});
  --request.parts_leaving;
  if (request.is_over) complete_send(request);
}

bool ChannelBackend::push_joint_copies() {
  bool moved = copy_parts();
  moved |= copy_own_halves();
  std::erase_if(joint_copies_, [&](ReceiveRequest* request) {
    JointCopy& joint = *request->joint;
    if (joint.claim && joint.own.bytes() == 0 && joint.of_peer.bytes() > 0) wait_for_half(joint);
    if (!joint.claim || joint.own.bytes() + joint.of_peer.bytes() > 0) return false;
    end_joint_copy(*request);
    moved = true;
    return true;
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
