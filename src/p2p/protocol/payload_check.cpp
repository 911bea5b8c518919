// The part of ChannelBackend that checks payload which crosses outside of frames: by the channels
// single_copy, rc_rdma, ud_zero_copy and tcp_zero_copy, where they are checked
// (channel::DeliveryChannels).
//
// The sender's checksum is that of the packed data. It comes with the offer where the receiver gets
// the data, and behind each block where the sender puts it. What fails is sent again by frames, and
// the sender keeps the data until it hears that all is right. What does not fit into the receiver's
// buffer comes by frames alone, since the checksum is that of the whole.
#include <algorithm>
#include <array>

#include "base/checksum.hpp"
#include "p2p/protocol/channel_backend.hpp"

namespace hawser::p2p {

using channel::ChannelKind;
using channel::Endpoint;
using transport::MemoryPiece;
using wire::FrameClass;

namespace {

/// BYTES of the packed data of BUFFER from OFFSET on, which lies in memory as it is.
template <class AnyBuffer>
auto dense_part(const AnyBuffer& buffer, std::uint64_t offset, std::uint64_t bytes) {
  return std::span(first_byte(buffer.data, *buffer.type) + offset, static_cast<std::size_t>(bytes));
}

/// The data of REQUEST, or the copy of it.
std::span<const std::byte> part_of(const SendRequest& request, std::uint64_t offset,
                                   std::uint64_t bytes) {
  if (request.copy) return {request.copy.get() + offset, static_cast<std::size_t>(bytes)};
  return dense_part(request.buffer, offset, bytes);
}

}  // namespace

/// Computes the checksum of the data of REQUEST if the receiver may get it by KIND, and that is
/// checked; once, however often the request has to wait for room.
void ChannelBackend::note_checksum(SendRequest& request, ChannelKind kind) const {
  const Endpoint& peer = *request.endpoint;
  const bool is_shared_out =
      kind == ChannelKind::rc_rdma && is_for_networks(request.total) && peer.side_link() != nullptr;
  const bool may_be_got = kind == ChannelKind::single_copy || kind == ChannelKind::ud_zero_copy ||
                          (transport::has_operations(kind) && is_read(kind));
  const bool is_needed =
      is_shared_out ? is_checked_as_whole(peer) : may_be_got && peer.is_checked(kind);
  if (!is_needed || request.checksum || !request.buffer.type->is_dense()) return;
  request.checksum = base::checksum_of(dense_part(request.buffer, 0, request.total));
}

/// REQUEST can be fetched by KIND: if that is checked, there is something to check it by.
bool ChannelBackend::can_check(const ReceiveRequest& request, ChannelKind kind) {
  return !request.endpoint->is_checked(kind) ||
         (request.offered.is_checked != 0 && !request.is_truncated());
}

/// The checksum of what REQUEST has got with its header.
void ChannelBackend::begin_check(ReceiveRequest& request) {
  request.checksum = 0;
  if (request.offered.is_checked == 0) return;
  constexpr std::size_t segments_max = 16;
  std::array<core::Segment, segments_max> segments;
  for (std::uint64_t offset = 0; offset < request.received;) {
    Count covered = 0;
    const std::size_t count = request.buffer.type->segments(
        request.buffer.data, request.buffer.count, static_cast<Count>(offset), segments, &covered);
    for (std::size_t i = 0; i < count && offset < request.received; ++i) {
      const std::uint64_t bytes =
          std::min<std::uint64_t>(segments[i].bytes, request.received - offset);
      request.checksum =
          base::checksum_of({segments[i].data, static_cast<std::size_t>(bytes)}, request.checksum);
      offset += bytes;
    }
  }
}

/// The first BYTES of PIECES, in REQUEST's buffer, have just been copied.
void ChannelBackend::check_copied(ReceiveRequest& request, std::span<const MemoryPiece> pieces,
                                  std::uint64_t bytes) {
  for (const MemoryPiece& piece : pieces) {
    const std::span<std::byte> data(reinterpret_cast<std::byte*>(piece.address),
                                    static_cast<std::size_t>(std::min(piece.bytes, bytes)));
    if (const auto bit = flipper_.next(data.size())) [[unlikely]]
      channel::BitFlipper::flip(data.data(), *bit);
    request.checksum = base::checksum_of(data, request.checksum);
    bytes -= data.size();
  }
}

bool ChannelBackend::is_copy_right(const ReceiveRequest& request) {
  return request.offered.is_checked == 0 || request.checksum == request.offered.checksum;
}

bool ChannelBackend::is_right(Endpoint& from, std::span<std::byte> data, std::uint32_t checksum) {
  if (const auto bit = flipper_.next(data.size())) [[unlikely]]
    channel::BitFlipper::flip(data.data(), *bit);
  if (base::checksum_of(data) == checksum) return true;
  from.count_failed_checksum();
  return false;
}

/// What REQUEST has read by RDMA, or what crossed by datagrams.
bool ChannelBackend::is_fetched_right(ReceiveRequest& request) {
  return request.offered.is_checked == 0 ||
         is_right(*request.endpoint, dense_part(request.buffer, 0, request.total),
                  request.offered.checksum);
}

/// What the receiver hears of TRANSFER, which has ended.
wire::PutDone ChannelBackend::put_done(const SendRequest& request, const Transfer& transfer) {
  wire::PutDone done{request.peer_token, transfer.offset, 0, 0};
  if (!transfer.peer->is_checked(ChannelKind::rc_rdma)) return done;
  done.is_checked = 1;
  done.checksum = base::checksum_of(part_of(request, transfer.offset, transfer.bytes));
  return done;
}

bool ChannelBackend::is_block_right(ReceiveRequest& request, const PutBlocks::Block& block,
                                    const wire::PutDone& done) {
  return done.is_checked == 0 ||
         is_right(*request.endpoint, dense_part(request.buffer, block.offset, block.bytes),
                  done.checksum);
}

/// BLOCK, which was written and is not right, shall come by frames.
void ChannelBackend::ask_for_block(ReceiveRequest& request, PutBlocks::Block& block) {
  block.held.reset();  // nothing is under way to it
  tell(*request.endpoint, FrameClass::clear_to_put,
       wire::ClearToPut{request.peer_token, request.token, block.offset, block.bytes, 0, 0, 0});
}

}  // namespace hawser::p2p
