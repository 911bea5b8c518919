// The part of ChannelBackend that moves a share of a long message by another network at the same
// time (p2p.stripe_networks): while adapters move the rest by the rails of the link in use, its
// receiver copies this share out of the sender's memory by the side link (Endpoint::side_link),
// with the channel single_copy.
//
// A copy is synchronous, so it goes chunk by chunk between other progress, and begins when the
// operations are under way. Of a get it is one more piece; of blocks that the sender writes it is
// one that the receiver takes instead of offering it, one after another. What can't be copied goes
// by frames. The sender hears nothing of all this but `finished`.
#include <algorithm>

#include "p2p/protocol/channel_backend.hpp"

namespace hawser::p2p {

using channel::ChannelKind;
using channel::Endpoint;
using transport::MemoryPiece;

/// What PEER and we share out among networks is checked, at its end and as a whole.
bool ChannelBackend::is_checked_as_whole(const Endpoint& peer) {
  return peer.is_checked(ChannelKind::rc_rdma) || peer.is_side_link_checked();
}

/// The link of another network by which we may copy a part of REQUEST; or null.
transport::Link* ChannelBackend::side_link_for(const ReceiveRequest& request) const {
  const Endpoint& peer = *request.endpoint;
  transport::Link* const link = peer.side_link();
  if (link == nullptr || !is_for_networks(request.total) || request.is_truncated()) return nullptr;
  if (!link->is_up() || !link->channels().has(ChannelKind::single_copy)) return nullptr;
  if (request.offered.address == 0 || (request.put && request.put->was_copy_refused))
    return nullptr;
  // A sender that had no such link yet has computed no checksum.
  return is_checked_as_whole(peer) && request.offered.is_checked == 0 ? nullptr : link;
}

/// Adds that link, if there is one, to RAILS by which REQUEST can come.
void ChannelBackend::add_side_link(const ReceiveRequest& request, StripeRails& rails) const {
  if (rails.count() == 0) return;
  if (const transport::Link* const link = side_link_for(request))
    rails.add(side_rail, link->bits_per_second());
}

/// BYTES from OFFSET on are one piece of those that REQUEST is fetched in.
void ChannelBackend::copy_piece(ReceiveRequest& request, std::uint64_t offset,
                                std::uint64_t bytes) {
  ++request.pieces->under_way;
  side_copies_.push_back({&request, offset, bytes});
}

/// The next BYTES are a block that the sender need not write.
void ChannelBackend::copy_block(ReceiveRequest& request, std::uint64_t bytes) {
  PutBlocks& put = *request.put;
  side_copies_.push_back({&request, put.next, bytes});
  put.open.push_back({.offset = put.next,
                      .bytes = bytes,
                      .by_frames = 0,
                      .held = nullptr,
                      .link = &request.endpoint->link(),
                      .epoch = 0,
                      .is_copied = true});
  put.next += bytes;
  put.has_begun = true;
}

bool ChannelBackend::push_side_copies() {
  std::size_t next = 0;
  // One that ends may bring another one, which has its turn in the next round.
  for (std::size_t left = side_copies_.size(); left > 0; --left) {
    if (push_side_copy(side_copies_[next])) {
      ++next;
      continue;
    }
    const SideCopy ended = side_copies_[next];
    side_copies_.erase(side_copies_.begin() + static_cast<std::ptrdiff_t>(next));
    end_side_copy(ended);
  }
  return true;
}

/// Copies the next chunk; false if that was the last one, or it was refused.
bool ChannelBackend::push_side_copy(SideCopy& copy) {
  transport::Link* const link = side_link_for(*copy.request);
  if (link == nullptr) return false;
  const std::uint64_t at = copy.offset + copy.done;
  const std::uint64_t bytes = std::min(
      copy.bytes - copy.done, static_cast<std::uint64_t>(settings_.single_copy_chunk_bytes));
  const MemoryPiece local{address_of(*copy.request) + at, bytes};
  const MemoryPiece remote{copy.request->offered.address + at, bytes};
  const std::int64_t copied = link->get({&local, 1}, {&remote, 1});
  if (copied <= 0) return false;
  copy.done += static_cast<std::uint64_t>(copied);
  return copy.done < copy.bytes;
}

void ChannelBackend::end_side_copy(const SideCopy& copy) {
  if (copy.done > 0) copy.request->endpoint->count_received(ChannelKind::single_copy, copy.done);
  if (copy.request->put) {
    end_copied_block(copy);
  } else {
    end_copied_piece(copy);
  }
}

void ChannelBackend::end_copied_piece(const SideCopy& copy) {
  ReceiveRequest& request = *copy.request;
  request.received += copy.done;
  if (copy.done < copy.bytes)
    request.pieces->failed.emplace_back(copy.offset + copy.done, copy.bytes - copy.done);
  end_pieces(request);
}

void ChannelBackend::end_copied_block(const SideCopy& copy) {
  ReceiveRequest& request = *copy.request;
  const auto block = std::ranges::find(request.put->open, copy.offset, &PutBlocks::Block::offset);
  block->is_copied = false;
  if (copy.done < copy.bytes) {
    request.put->was_copy_refused = true;
    ask_for_block(request, *block);
    return;
  }
  request.put->has_copied = true;
  end_block(request, block);
  complete_by_frames(request);
}

/// What waits for them fails with the others that wait for LOST.
void ChannelBackend::abandon_side_copies(const Endpoint& lost) {
  std::erase_if(side_copies_, [&](const SideCopy& copy) {
    ReceiveRequest& request = *copy.request;
    if (request.endpoint != &lost) return false;
    if (request.pieces && --request.pieces->under_way == 0) {
      request.finish_with({base::ErrorClass::proc_failed, lost.loss()});
      let_go(request);
    }
    return true;
  });
}

}  // namespace hawser::p2p
