#include "softrdma/qp/datagram.hpp"

#include "softrdma/qp/sequence.hpp"

namespace softrdma::qp {

using queue::SendWork;
using wire::Operation;

namespace {

/// A queue key with this bit stands for the sender's own (IBA §10.2.5).
constexpr std::uint32_t own_queue_key = 0x80000000;

}  // namespace

void Datagram::flush() {
  is_sending_ = false;
  for (; !queue_.is_empty(); queue_.pop()) sends_.on_sent(queue_.front(), IBV_WC_WR_FLUSH_ERR);
}

bool Datagram::next(Outgoing* out) {
  if (!is_sending_ || queue_.is_empty()) return false;
  SendWork& work = queue_.front();
  const ibv_wc_status status = build(work, out);
  sends_.on_sent(work, status);
  queue_.pop();
  if (status == IBV_WC_SUCCESS) return true;
  is_sending_ = false;
  sends_.on_send_failure();
  return false;
}

ibv_wc_status Datagram::build(SendWork& work, Outgoing* out) {
  if (work.bytes > context_.segment_bytes) return IBV_WC_LOC_LEN_ERR;
  out->payload.clear();
  out->headers = {};
  wire::Headers& headers = out->headers;
  const bool has_immediate = work.opcode == IBV_WR_SEND_WITH_IMM;
  headers.opcode = {context_.service,
                    has_immediate ? Operation::send_only_immediate : Operation::send_only};
  headers.solicited = (work.flags & IBV_SEND_SOLICITED) != 0;
  headers.partition_key = context_.partition_key;
  headers.destination_qp = work.remote_qp;
  headers.source_qp = context_.number;
  headers.queue_key = (work.queue_key & own_queue_key) != 0 ? context_.queue_key : work.queue_key;
  headers.immediate = work.immediate;
  headers.sequence = sequence_;
  address_ = queue_.address(work);
  out->address = &address_;
  sequence_ = advance(sequence_, 1);
  if (work.is_inline) {
    out->payload.add(queue_.inline_data(work));
    return IBV_WC_SUCCESS;
  }
  return memory::gather(context_.owner(regions_), queue_.entries(work), 0, work.bytes,
                        &out->payload);
}

/// A datagram that nobody has any more counts as one without memory; links carry them whole.
ibv_wc_status Datagram::store(const Arrival& arrival) {
  const memory::Owner owner = context_.owner(regions_);
  if (arrival.grh) {
    const ibv_wc_status status = *memory::scatter(owner, entries_, 0, *arrival.grh);
    if (status != IBV_WC_SUCCESS) return status;
  }
  return memory::scatter(owner, entries_, grh_bytes, arrival.packet.payload)
      .value_or(IBV_WC_LOC_PROT_ERR);
}

void Datagram::on_arrival(const Arrival& arrival) {
  if (!is_receiving_) return;
  const wire::Packet& packet = arrival.packet;
  const wire::Headers& headers = packet.headers;
  if (headers.queue_key != context_.queue_key) {
    ++counters_.wrong_queue_key;
    return;
  }
  Received received;
  if (!receives_.take_receive(0, &received.id, &entries_)) {
    ++counters_.without_receive;
    return;
  }
  received.status = store(arrival);
  received.bytes = static_cast<std::uint32_t>(grh_bytes + packet.payload.size());
  received.flags = (arrival.grh ? unsigned{IBV_WC_GRH} : 0U) |
                   (packet.shape.immediate ? unsigned{IBV_WC_WITH_IMM} : 0U);
  received.immediate = headers.immediate;
  received.solicited = headers.solicited;
  received.source_qp = headers.source_qp;
  received.source_lid = arrival.source_lid;
  received.service_level = arrival.service_level;
  listener_.on_received(received);
  if (received.status != IBV_WC_SUCCESS) listener_.on_receive_failure(std::nullopt);
}

}  // namespace softrdma::qp
