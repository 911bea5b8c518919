// The part of ChannelBackend that moves long messages by operations on memory (channel rc_rdma):
// get, where the receiver reads the sender's memory, and put, where the sender writes the
// receiver's, whole or block by block (put and hybrid pipeline of Open MPI over InfiniBand; get
// with FIN_ACK, and the last frame chained behind the operation, of Open MPI over Quadrics/Elan4).
//
// The last frame of an operation is chained behind it where that finds room, or else sent when it
// has ended. An operation that fails is done by frames, and so is one whose payload fails its
// checksum (payload_check.cpp). Where it is checked nothing is chained: what says that it is done
// waits until it is.
#include <algorithm>

#include "p2p/protocol/channel_backend.hpp"

namespace hawser::p2p {

using channel::ChannelKind;
using channel::Endpoint;
using channel::Sequencing;
using transport::HeldMemory;
using transport::Operation;
using wire::FrameClass;
using wire::Offer;

/// What the receiver of REQUEST, whose channel is KIND, may do to get it.
wire::RendezvousHeader ChannelBackend::offer(SendRequest& request, ChannelKind kind) {
  wire::RendezvousHeader header{request.token,
                                request.total,
                                address_of(request),
                                0,
                                Offer::frames,
                                static_cast<std::uint16_t>(request.checksum ? 1 : 0),
                                request.checksum.value_or(0),
                                0};
  if (header.address == 0 || header.total == 0) return header;
  header.offer = kind == ChannelKind::ud_zero_copy ? Offer::zero_copy : Offer::single_copy;
  if (kind != ChannelKind::rc_rdma || !request.endpoint->has(kind)) return header;
  header.offer = Offer::put;
  if (settings_.rdma != "get") return header;
  auto held = request.endpoint->link().hold(header.address, static_cast<std::size_t>(header.total));
  // The receiver can perhaps have its memory registered, if not we.
  if (!held) return header;
  request.held = std::move(*held);
  header.key = request.held->remote_key();
  header.offer = Offer::get;
  return header;
}

bool ChannelBackend::can_use_operations(const ReceiveRequest& request, Offer wanted) const {
  return request.offered.offer == wanted && request.endpoint->has(ChannelKind::rc_rdma) &&
         address_of(request) != 0;
}

/// Starts TRANSFER with the frame LAST of BODY chained behind it if possible; false if it finds no
/// room at all.
bool ChannelBackend::launch(std::unique_ptr<Transfer> transfer, Operation operation,
                            FrameClass last, std::span<const std::byte> body) {
  Endpoint& peer = *transfer->peer;
  transfer->token = transfers_.insert(transfer.get());
  operation.token = transfer->token;
  operation.local_key = transfer->held->local_key();
  operation.is_chained = true;
  bool has_started = false;
  transfer->is_chained =
      settings_.rdma_chained && !peer.is_checked(ChannelKind::rc_rdma) &&
      peer.try_send(ChannelKind::rc_rdma, static_cast<std::uint8_t>(last), Sequencing::none,
                    sizeof(channel::FramePrefix) + body.size(), [&](std::byte* to) {
                      std::ranges::copy(body, to);
                      has_started = peer.link().start(operation);
                      // Should there be no room for it, its last frame says nothing.
                      if (!has_started)
                        *(to - sizeof(channel::FramePrefix)) = transport::void_frame_class;
                    });
  operation.is_chained = false;
  if (!has_started) {
    transfer->is_chained = false;
    has_started = peer.link().start(operation);
  }
  if (!has_started) {
    transfers_.erase(transfer->token);
    return false;
  }
  transfer.release();  // on_operation_done() takes it back
  return true;
}

void ChannelBackend::on_operation_done(Endpoint& /*peer*/, std::uint64_t token, bool was_done) {
  const std::unique_ptr<Transfer> transfer(transfers_.find(token));
  if (!transfer) return;
  transfers_.erase(token);
  if (transfer->is_direct) return end_direct(*transfer, was_done);
  if (transfer->receive != nullptr) end_get(*transfer, was_done);
  if (transfer->send != nullptr) end_put(*transfer, was_done);
}

void ChannelBackend::start_get(ReceiveRequest& request) {
  Endpoint& peer = *request.endpoint;
  const std::uint64_t wanted = std::min(request.total, request.capacity);
  const std::uint64_t bytes = wanted - request.received;
  const std::uint64_t local = address_of(request) + request.received;
  auto held = peer.link().hold(local, static_cast<std::size_t>(bytes));
  if (!held) {
    ask_for_frames(request);
    return;
  }
  const Operation operation{.kind = Operation::Kind::get,
                            .local_address = local,
                            .remote_key = request.offered.key,
                            .remote_address = request.offered.address + request.received,
                            .bytes = static_cast<std::size_t>(bytes)};
  const wire::Finished finished{request.peer_token};
  request.retain();  // until it has ended
  if (launch(std::make_unique<Transfer>(Transfer{&peer, &request, nullptr, request.received, bytes,
                                                 std::move(*held), false, 0}),
             operation, FrameClass::finished, std::as_bytes(std::span(&finished, 1))))
    return;
  ask_for_frames(request);
  let_go(request);
}

void ChannelBackend::end_get(const Transfer& transfer, bool was_done) {
  ReceiveRequest& request = *transfer.receive;
  if (!was_done) {
    ask_for_frames(request);
  } else if (!is_fetched_right(request)) {
    request.received = 0;  // what came with the header may be what is wrong
    ask_for_frames(request);
  } else {
    request.received += transfer.bytes;
    if (!transfer.is_chained)
      tell(*transfer.peer, FrameClass::finished, wire::Finished{request.peer_token});
    request.finish();
  }
  let_go(request);
}

/// The sender shall write our buffer.
void ChannelBackend::start_put(ReceiveRequest& request) {
  // What does not fit is cut off by frames alone.
  if (request.total > request.capacity) {
    ask_for_frames(request);
    return;
  }
  request.put = std::make_unique<PutBlocks>();
  PutBlocks& put = *request.put;
  put.next = request.received;
  put.block_bytes = request.total;
  request.retain();  // until all blocks are there
  request.token = receives_by_frames_.insert(&request);
  if (settings_.rdma == "pipeline" && !is_registered(request)) {
    put.block_bytes = static_cast<std::uint64_t>(settings_.pipeline_block_bytes);
    const auto eager_bytes = std::min(static_cast<std::uint64_t>(settings_.pipeline_eager_bytes),
                                      request.total - put.next);
    // These are on their way while we register what comes behind them.
    if (eager_bytes > 0) offer_block(request, eager_bytes, nullptr);
    put.eager_end = put.next;
  }
  offer_blocks(request);
  if (!put.open.empty()) return;
  // Our memory can't be registered.
  request.put.reset();
  receives_by_frames_.erase(request.token);
  ask_for_frames(request);
  let_go(request);
}

/// What is missing of REQUEST can be written at once: no blocks are worth their messages.
bool ChannelBackend::is_registered(const ReceiveRequest& request) {
  return request.endpoint->link().is_registered(
      address_of(request) + request.received,
      static_cast<std::size_t>(request.total - request.received));
}

/// A part of a message that is moved block by block.
Result<std::unique_ptr<HeldMemory>> ChannelBackend::hold_block(Endpoint& peer,
                                                               std::uint64_t address,
                                                               std::uint64_t bytes) const {
  const auto length = static_cast<std::size_t>(bytes);
  return settings_.rdma == "pipeline" && !settings_.pipeline_cache
             ? peer.link().hold_once(address, length)
             : peer.link().hold(address, length);
}

/// The next BYTES shall be written into HELD, or come by frames if that is null.
void ChannelBackend::offer_block(ReceiveRequest& request, std::uint64_t bytes,
                                 std::unique_ptr<HeldMemory> held) {
  PutBlocks& put = *request.put;
  Endpoint& peer = *request.endpoint;
  const wire::ClearToPut clear{request.peer_token,
                               request.token,
                               put.next,
                               bytes,
                               held ? address_of(request) + put.next : 0,
                               held ? held->remote_key() : 0,
                               0};
  put.open.push_back({put.next, bytes, 0, std::move(held), peer.link().operations_epoch()});
  put.next += bytes;
  put.has_begun = true;
  tell(peer, FrameClass::clear_to_put, clear);
}

void ChannelBackend::offer_blocks(ReceiveRequest& request) {
  PutBlocks& put = *request.put;
  const bool is_eager_open = !put.open.empty() && put.open.front().offset < put.eager_end;
  const std::size_t depth =
      static_cast<std::size_t>(settings_.pipeline_depth) + (is_eager_open ? 1 : 0);
  while (put.next < request.total && put.open.size() < depth) {
    const std::uint64_t bytes = std::min(request.total - put.next, put.block_bytes);
    auto held = hold_block(*request.endpoint, address_of(request) + put.next, bytes);
    // With none open there is nobody to go on: the block is offered to come by frames.
    if (!held && (!put.has_begun || !put.open.empty())) return;
    offer_block(request, bytes, held ? std::move(*held) : nullptr);
  }
}

void ChannelBackend::on_clear_to_put(Endpoint& from, std::span<const std::byte> body) {
  const auto clear = wire::take<wire::ClearToPut>(body);
  SendRequest* request = clear ? sends_in_rendezvous_.find(clear->sender_token) : nullptr;
  if (request == nullptr || request->endpoint != &from || clear->offset > request->total ||
      clear->bytes > request->total - clear->offset)
    return;
  request->peer_token = clear->receiver_token;
  write_block(*request, *clear);
}

void ChannelBackend::write_block(SendRequest& request, const wire::ClearToPut& block) {
  Endpoint& peer = *request.endpoint;
  const std::uint64_t local = address_of(request) + block.offset;
  if (block.address != 0 && peer.has(ChannelKind::rc_rdma)) {
    auto held = hold_block(peer, local, block.bytes);
    const Operation operation{.kind = Operation::Kind::put,
                              .local_address = local,
                              .remote_key = block.key,
                              .remote_address = block.address,
                              .bytes = static_cast<std::size_t>(block.bytes)};
    const wire::PutDone done{block.receiver_token, block.offset, 0, 0};
    if (held &&
        launch(std::make_unique<Transfer>(Transfer{&peer, nullptr, &request, block.offset,
                                                   block.bytes, std::move(*held), false, 0}),
               operation, FrameClass::put_done, std::as_bytes(std::span(&done, 1))))
      return;
  }
  send_by_frames(request, block.offset, block.bytes);
  // They leave before what is to be written behind them is registered.
  push_pipeline(request);
}

void ChannelBackend::end_put(const Transfer& transfer, bool was_done) {
  SendRequest& request = *transfer.send;
  if (!was_done) {
    send_by_frames(request, transfer.offset, transfer.bytes);
    return;
  }
  if (!transfer.is_chained) tell(*transfer.peer, FrameClass::put_done, put_done(request, transfer));
  if (transfer.peer->is_checked(ChannelKind::rc_rdma)) return;  // until the receiver has finished
  request.sent += transfer.bytes;
  // One with frames is completed where they leave.
  const bool has_frames = std::ranges::find(pipelines_, &request) != pipelines_.end();
  if (request.sent >= request.total && !has_frames) complete_send(request);
}

void ChannelBackend::on_put_done(Endpoint& from, std::span<const std::byte> body) {
  const auto done = wire::take<wire::PutDone>(body);
  ReceiveRequest* request = done ? receives_by_frames_.find(done->receiver_token) : nullptr;
  if (request == nullptr || request->endpoint != &from || !request->put) return;
  const auto block = std::ranges::find(request->put->open, done->offset, &PutBlocks::Block::offset);
  if (block == request->put->open.end()) return;
  if (!is_block_right(*request, *block, *done)) {
    ask_for_block(*request, *block);
    return;
  }
  end_block(*request, block);
  complete_by_frames(*request);
}

void ChannelBackend::end_block(ReceiveRequest& request,
                               std::vector<PutBlocks::Block>::iterator block) {
  request.received += block->bytes;
  request.put->open.erase(block);
  offer_blocks(request);
}

/// The sender could not write the block that OFFSET is in. What is in no open block was written
/// after all, though the sender does not know.
void ChannelBackend::store_block_data(ReceiveRequest& request, std::uint64_t offset,
                                      std::span<const std::byte> data) {
  const auto block = std::ranges::find_if(request.put->open, [&](const PutBlocks::Block& each) {
    return offset >= each.offset && offset - each.offset < each.bytes;
  });
  if (block == request.put->open.end() || data.size() > block->offset + block->bytes - offset)
    return;
  // Nothing of what failed may come any more, once the buffer is the program's again.
  if (block->held) request.endpoint->link().stop_operations(block->epoch);
  block->held.reset();
  unpack(request.buffer, static_cast<Count>(offset), data.data(), static_cast<Count>(data.size()));
  block->by_frames += data.size();
  if (block->by_frames == block->bytes) end_block(request, block);
}

void ChannelBackend::abandon_transfers(const Endpoint& lost) {
  transfers_.for_each([&](Transfer& transfer) {
    if (transfer.peer != &lost) return;
    if (transfer.is_direct) return abandon_direct(transfer);
    if (transfer.receive != nullptr) {
      transfer.receive->finish_with({base::ErrorClass::proc_aborted, lost.loss()});
      let_go(*transfer.receive);
    }
    // Its memory stays held until the operation ends.
    transfer.receive = nullptr;
    transfer.send = nullptr;
  });
}

}  // namespace hawser::p2p
