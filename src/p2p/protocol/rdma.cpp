// The part of ChannelBackend that moves long messages by operations on memory (channels rc_rdma,
// and tcp_zero_copy for get): get, where the receiver reads the sender's memory, and put, where the
// sender writes the receiver's, whole or block by block (put and hybrid pipeline of Open MPI over
// InfiniBand; get with FIN_ACK, and the last frame chained behind the operation, of Open MPI over
// Quadrics/Elan4).
//
// A message of at least p2p.stripe_bytes_min goes by all rails to its peer: get and put in one
// piece for each, pipeline block by block. Where p2p.stripe_networks is set, a link of another
// network takes part (side_copies.cpp).
//
// The last frame of an operation is chained behind it where that finds room, or else sent when it
// has ended, as it is where there are several. An operation that fails is done by frames, and so is
// one whose payload fails its checksum (payload_check.cpp). Where it is checked nothing is chained:
// what says that it is done waits until it is.
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

namespace {

constexpr std::uint32_t every_rail = ~std::uint32_t{0};

/// The link by rail NUMBER, as a peer has named it, if it has operations now; or null.
transport::Link* rail_of(const Endpoint& peer, std::uint32_t number) {
  return number < transport::rails_max ? peer.operations_link(static_cast<std::uint8_t>(number))
                                       : nullptr;
}

}  // namespace

/// What the receiver of REQUEST, whose channel is KIND, may do to get it.
wire::RendezvousHeader ChannelBackend::offer(SendRequest& request, ChannelKind kind) {
  wire::RendezvousHeader header{request.token,
                                request.total,
                                address_of(request),
                                Offer::frames,
                                0,
                                static_cast<std::uint16_t>(request.checksum ? 1 : 0),
                                static_cast<std::uint16_t>(transport::has_operations(kind) ? 1 : 0),
                                {},
                                request.checksum.value_or(0),
                                0};
  if (header.address == 0 || header.total == 0) return header;
  if (kind == ChannelKind::ud_zero_copy) header.offer = Offer::zero_copy;
  if (kind == ChannelKind::single_copy) header.offer = Offer::single_copy;
  if (kind == ChannelKind::ring && request.endpoint->may_be_copied_once(request.total))
    header.offer = Offer::frames_or_single_copy;
  if (!transport::has_operations(kind) || !request.endpoint->has(kind)) return header;
  header.offer = Offer::put;
  if (!is_read(kind)) return header;
  const StripeRails rails = rails_for(*request.endpoint, request.total, every_rail);
  for (const StripeRail& rail : rails.rails()) {
    auto held = request.endpoint->link(rail.number)
                    ->hold(header.address, static_cast<std::size_t>(header.total));
    // The receiver can perhaps have its memory registered, if not we.
    if (!held) continue;
    header.keys[rail.number] = (*held)->remote_key();
    header.rails |= static_cast<std::uint16_t>(1U << rail.number);
    request.held.push_back(std::move(*held));
  }
  if (header.rails != 0) header.offer = Offer::get;
  return header;
}

/// The rails among OFFERED, one bit each, by which BYTES go to or from PEER by operations: if they
/// are few, one.
StripeRails ChannelBackend::rails_for(const Endpoint& peer, std::uint64_t bytes,
                                      std::uint32_t offered) const {
  StripeRails rails;
  const bool is_striped = bytes >= static_cast<std::uint64_t>(settings_.stripe_bytes_min);
  const auto add = [&](std::uint8_t number) {
    const transport::Link* const link = rail_of(peer, number);
    if ((offered >> number & 1) != 0 && link != nullptr) rails.add(number, link->bits_per_second());
  };
  const std::uint8_t used = peer.rail_number();
  add(used);
  for (std::uint8_t number = 0; number < transport::rails_max; ++number)
    if (number != used && (is_striped || rails.count() == 0)) add(number);
  return rails;
}

bool ChannelBackend::can_use_operations(const ReceiveRequest& request, Offer wanted) const {
  if (request.offered.offer != wanted || address_of(request) == 0) return false;
  // Who has offered its memory has said by which rail.
  return wanted == Offer::get ? rails_for(*request.endpoint, 0, request.offered.rails).count() > 0
                              : request.endpoint->has(ChannelKind::rc_rdma);
}

/// Starts TRANSFER by LINK with the frame LAST of BODY chained behind it if possible; false if it
/// finds no room at all.
bool ChannelBackend::launch(std::unique_ptr<Transfer> transfer, transport::Link& link,
                            Operation operation, FrameClass last, std::span<const std::byte> body) {
  Endpoint& peer = *transfer->peer;
  const bool may_chain = settings_.rdma_chained && !peer.is_checked(ChannelKind::rc_rdma);
  if (!may_chain || &link != &peer.link()) return launch(std::move(transfer), link, operation);
  note(*transfer, operation);
  operation.is_chained = true;
  bool has_started = false;
  transfer->is_chained =
      peer.try_send(ChannelKind::rc_rdma, static_cast<std::uint8_t>(last), Sequencing::none,
                    sizeof(channel::FramePrefix) + body.size(), [&](std::byte* to) {
                      std::ranges::copy(body, to);
                      has_started = link.start(operation);
                      // Should there be no room for it, its last frame says nothing.
                      if (!has_started)
                        *(to - sizeof(channel::FramePrefix)) = transport::void_frame_class;
                    });
  if (!has_started) {
    transfers_.erase(transfer->token);
    transfer->is_chained = false;
    return launch(std::move(transfer), link, operation);
  }
  static_cast<void>(transfer.release());  // on_operation_done() takes it back
  return true;
}

bool ChannelBackend::launch(std::unique_ptr<Transfer> transfer, transport::Link& link,
                            Operation operation) {
  note(*transfer, operation);
  operation.is_chained = false;
  if (!link.start(operation)) {
    transfers_.erase(transfer->token);
    return false;
  }
  static_cast<void>(transfer.release());  // on_operation_done() takes it back
  return true;
}

void ChannelBackend::note(Transfer& transfer, Operation& operation) {
  transfer.token = transfers_.insert(&transfer);
  operation.token = transfer.token;
  operation.local_key = transfer.held->local_key();
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
  const std::uint64_t left = std::min(request.total, request.capacity) - request.received;
  StripeRails rails = rails_for(*request.endpoint, left, request.offered.rails);
  add_side_link(request, rails);
  if (rails.count() == 1 || request.is_truncated()) {
    start_get_of_all(request, *request.endpoint->link(rails.rails().front().number));
  } else {
    start_pieces(request, rails);
  }
}

void ChannelBackend::start_get_of_all(ReceiveRequest& request, transport::Link& link) {
  Endpoint& peer = *request.endpoint;
  const std::uint64_t wanted = std::min(request.total, request.capacity);
  const std::uint64_t bytes = wanted - request.received;
  const std::uint64_t local = address_of(request) + request.received;
  auto held = link.hold(local, static_cast<std::size_t>(bytes));
  if (!held) {
    ask_for_frames(request);
    return;
  }
  const Operation operation{.kind = Operation::Kind::get,
                            .local_address = local,
                            .remote_key = request.offered.keys[link.rail_number],
                            .remote_address = request.offered.address + request.received,
                            .bytes = static_cast<std::size_t>(bytes)};
  const wire::Finished finished{request.peer_token};
  request.retain();  // until it has ended
  if (launch(std::make_unique<Transfer>(Transfer{&peer, &request, nullptr, request.received, bytes,
                                                 std::move(*held), false, 0}),
             link, operation, FrameClass::finished, std::as_bytes(std::span(&finished, 1))))
    return;
  ask_for_frames(request);
  let_go(request);
}

/// One piece by each of RAILS.
void ChannelBackend::start_pieces(ReceiveRequest& request, StripeRails rails) {
  request.pieces = std::make_unique<GetPieces>();
  request.retain();             // until all have ended
  ++request.pieces->under_way;  // this function
  for (std::uint64_t offset = request.received; rails.count() > 0; rails.drop_first()) {
    const std::uint64_t bytes = share_of_first(rails.rails(), request.total - offset);
    const std::uint8_t rail = rails.rails().front().number;
    if (bytes > 0 && rail == side_rail)
      copy_piece(request, offset, bytes);
    else if (bytes > 0 && !start_piece(request, *request.endpoint->link(rail), offset, bytes))
      request.pieces->failed.emplace_back(offset, bytes);
    offset += bytes;
  }
  end_pieces(request);
}

bool ChannelBackend::start_piece(ReceiveRequest& request, transport::Link& link,
                                 std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t local = address_of(request) + offset;
  auto held = link.hold(local, static_cast<std::size_t>(bytes));
  if (!held) return false;
  const Operation operation{.kind = Operation::Kind::get,
                            .local_address = local,
                            .remote_key = request.offered.keys[link.rail_number],
                            .remote_address = request.offered.address + offset,
                            .bytes = static_cast<std::size_t>(bytes)};
  ++request.pieces->under_way;
  if (launch(std::make_unique<Transfer>(Transfer{request.endpoint, &request, nullptr, offset, bytes,
                                                 std::move(*held), false, 0}),
             link, operation))
    return true;
  --request.pieces->under_way;
  return false;
}

/// One piece less is under way. After the last one, those that failed are asked for by frames.
void ChannelBackend::end_pieces(ReceiveRequest& request) {
  if (--request.pieces->under_way > 0) return;
  const bool is_read = request.pieces->failed.empty();
  if (is_read && is_fetched_right(request)) {
    complete_fetch(request);
  } else if (is_read || request.offered.is_checked != 0) {
    // Its checksum is that of the whole, so all of it comes again.
    request.pieces.reset();
    request.received = 0;
    ask_for_frames(request);
  } else {
    request.retain();  // until the last data frame
    request.token = receives_by_frames_.insert(&request);
    for (const auto& [offset, bytes] : request.pieces->failed)
      tell(*request.endpoint, FrameClass::clear_to_send,
           wire::ClearToSend{request.peer_token, request.token, offset, bytes});
  }
  let_go(request);
}

void ChannelBackend::end_get(const Transfer& transfer, bool was_done) {
  ReceiveRequest& request = *transfer.receive;
  if (was_done) request.received += transfer.bytes;
  if (was_done && is_counted_in_parts(request.offered))
    transfer.peer->count_more_received(ChannelKind::rc_rdma, transfer.bytes);
  if (request.pieces) {
    if (!was_done) request.pieces->failed.emplace_back(transfer.offset, transfer.bytes);
    end_pieces(request);
    return;
  }
  if (!was_done) {
    ask_for_frames(request);
  } else if (!transfer.is_chained && !is_fetched_right(request)) {
    request.received = 0;  // what came with the header may be what is wrong
    ask_for_frames(request);
  } else {
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
  put.is_whole = settings_.rdma != "pipeline" || is_registered(request);
  request.retain();  // until all blocks are there
  request.token = receives_by_frames_.insert(&request);
  if (!put.is_whole) {
    const auto eager_bytes = std::min(static_cast<std::uint64_t>(settings_.pipeline_eager_bytes),
                                      request.total - put.next);
    // These are on their way while we register what comes behind them.
    if (eager_bytes > 0) offer_block(request, request.endpoint->link(), eager_bytes, nullptr);
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
bool ChannelBackend::is_registered(const ReceiveRequest& request) const {
  const Endpoint& peer = *request.endpoint;
  const std::uint64_t address = address_of(request) + request.received;
  const auto bytes = static_cast<std::size_t>(request.total - request.received);
  const StripeRails rails = rails_for(peer, request.total, every_rail);
  return std::ranges::all_of(rails.rails(), [&](const StripeRail& rail) {
    return peer.link(rail.number)->is_registered(address, bytes);
  });
}

/// A part of a message that is moved block by block.
Result<std::unique_ptr<HeldMemory>> ChannelBackend::hold_block(transport::Link& link,
                                                               std::uint64_t address,
                                                               std::uint64_t bytes) const {
  const auto length = static_cast<std::size_t>(bytes);
  return settings_.rdma == "pipeline" && !settings_.pipeline_cache ? link.hold_once(address, length)
                                                                   : link.hold(address, length);
}

/// The next BYTES shall be written into HELD by the rail of LINK, or come by frames if that is
/// null.
void ChannelBackend::offer_block(ReceiveRequest& request, transport::Link& link,
                                 std::uint64_t bytes, std::unique_ptr<HeldMemory> held) {
  PutBlocks& put = *request.put;
  const wire::ClearToPut clear{request.peer_token,
                               request.token,
                               put.next,
                               bytes,
                               held ? address_of(request) + put.next : 0,
                               held ? held->remote_key() : 0,
                               link.rail_number};
  put.open.push_back({put.next, bytes, 0, std::move(held), &link, link.operations_epoch()});
  put.next += bytes;
  put.has_begun = true;
  tell(*request.endpoint, FrameClass::clear_to_put, clear);
}

/// The rails that the next block of REQUEST can go by, with what is under way there; where a
/// message goes in one piece for each rail, those that have none yet. What this process copies
/// itself it copies one after another, as well as anybody can.
StripeRails ChannelBackend::rails_for_blocks(const ReceiveRequest& request) const {
  StripeRails all = rails_for(*request.endpoint, request.total, every_rail);
  add_side_link(request, all);
  StripeRails chosen;
  for (StripeRail& rail : all.rails()) {
    for (const PutBlocks::Block& block : request.put->open)
      if ((block.is_copied ? side_rail : block.link->rail_number) == rail.number)
        rail.under_way_bytes += block.bytes;
    const bool must_be_idle = request.put->is_whole || rail.number == side_rail;
    if (!must_be_idle || rail.under_way_bytes == 0) chosen.add(rail);
  }
  return chosen;
}

void ChannelBackend::offer_blocks(ReceiveRequest& request) {
  while (request.put->next < request.total && offer_next_block(request)) {
  }
}

/// False if there is no room now; end_block() makes some.
bool ChannelBackend::offer_next_block(ReceiveRequest& request) {
  PutBlocks& put = *request.put;
  Endpoint& peer = *request.endpoint;
  const StripeRails rails = rails_for_blocks(request);
  const bool is_eager_open = !put.open.empty() && put.open.front().offset < put.eager_end;
  const auto copied = std::ranges::count_if(put.open, &PutBlocks::Block::is_copied);
  const std::size_t blocks_max =
      static_cast<std::size_t>(settings_.pipeline_depth) * rails.count() + (is_eager_open ? 1 : 0) +
      static_cast<std::size_t>(copied);
  const bool has_room = rails.count() > 0 && (put.is_whole || put.open.size() < blocks_max);
  if (!has_room && !put.open.empty()) return false;
  const std::uint64_t left = request.total - put.next;
  const std::uint64_t bytes =
      put.is_whole ? (has_room ? share_of_first(rails.rails(), left) : left)
                   : std::min(left, static_cast<std::uint64_t>(settings_.pipeline_block_bytes));
  const std::uint8_t rail = has_room ? least_loaded(rails.rails()).number : peer.rail_number();
  if (rail == side_rail) {
    copy_block(request, bytes);
    return true;
  }
  // Where there is no rail any more, the sender finds that out, and sends frames.
  transport::Link& link = *peer.link(rail);
  auto held = hold_block(link, address_of(request) + put.next, bytes);
  // With none open there is nobody to go on: the block is offered to come by frames.
  if (!held && (!put.has_begun || !put.open.empty())) return false;
  offer_block(request, link, bytes, held ? std::move(*held) : nullptr);
  return true;
}

void ChannelBackend::on_clear_to_put(Endpoint& from, std::span<const std::byte> body) {
  const auto clear = wire::take<wire::ClearToPut>(body);
  SendRequest* request = clear ? sends_in_rendezvous_.find(clear->sender_token) : nullptr;
  if (request == nullptr || request->endpoint != &from || clear->offset > request->total ||
      clear->bytes > request->total - clear->offset || request->is_over)
    return;
  request->peer_token = clear->receiver_token;
  write_block(*request, *clear);
}

void ChannelBackend::write_block(SendRequest& request, const wire::ClearToPut& block) {
  Endpoint& peer = *request.endpoint;
  const std::uint64_t local = address_of(request) + block.offset;
  transport::Link* const link = rail_of(peer, block.rail);
  if (block.address != 0 && link != nullptr) {
    auto held = hold_block(*link, local, block.bytes);
    const Operation operation{.kind = Operation::Kind::put,
                              .local_address = local,
                              .remote_key = block.key,
                              .remote_address = block.address,
                              .bytes = static_cast<std::size_t>(block.bytes)};
    const wire::PutDone done{block.receiver_token, block.offset, 0, 0};
    if (held &&
        launch(std::make_unique<Transfer>(Transfer{&peer, nullptr, &request, block.offset,
                                                   block.bytes, std::move(*held), false, 0}),
               *link, operation, FrameClass::put_done, std::as_bytes(std::span(&done, 1)))) {
      ++request.parts_leaving;
      return;
    }
  }
  send_by_frames(request, block.offset, block.bytes);
  // They leave before what is to be written behind them is registered.
  push_pipeline(request, Pushing::at_once);
}

void ChannelBackend::end_put(const Transfer& transfer, bool was_done) {
  SendRequest& request = *transfer.send;
  --request.parts_leaving;
  if (request.is_over) {  // the receiver has heard of it before us
    complete_send(request);
    return;
  }
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
  if (block == request->put->open.end() || block->is_copied) return;
  if (!is_block_right(*request, *block, *done)) {
    ask_for_block(*request, *block);
    return;
  }
  if (is_counted_in_parts(request->offered))
    from.count_more_received(ChannelKind::rc_rdma, block->bytes);
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
  if (block == request.put->open.end() || block->is_copied ||
      data.size() > block->offset + block->bytes - offset)
    return;
  // Nothing of what failed may come any more, once the buffer is the program's again.
  if (block->held) block->link->stop_operations(block->epoch);
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
      ReceiveRequest& request = *transfer.receive;
      // Of several pieces the last one ends it.
      if (!request.pieces || --request.pieces->under_way == 0) {
        request.finish_with({base::ErrorClass::proc_failed, lost.loss()});
        let_go(request);
      }
    }
    if (transfer.send != nullptr) --transfer.send->parts_leaving;
    // Its memory stays held until the operation ends.
    transfer.receive = nullptr;
    transfer.send = nullptr;
  });
}

}  // namespace hawser::p2p
