// Responder, of queue pairs whose messages have tags: where a message goes, which its first bytes
// say (tag_matching.md among the documents of rdma-core).
#include <algorithm>

#include "softrdma/qp/rendezvous.hpp"
#include "softrdma/qp/responder.hpp"

namespace softrdma::qp {

using wire::Packet;

/// Finds where the message that PACKET begins is stored. *header: takes the bytes that are not.
/// False: nothing is to be stored, and what is to be done instead was done.
bool Responder::begin_tagged(const Packet& packet, std::span<std::byte>* header) {
  // One that comes again, since its payload was gone, has its place.
  if (!has_receive_ && !(read_tag_header(packet) && find_place(packet))) return false;
  if (!tagged_->is_matched()) return true;
  if (packet.payload.size() < wire::tag_header_bytes) {
    refuse(NakCode::invalid_request, IBV_EVENT_QP_REQ_ERR);
    return false;
  }
  *header = tagged_->header_again;
  return true;
}

/// False: it was not there any more, or is too short. Of a message without tag only the operation
/// is looked at, and it needs no more than that.
bool Responder::read_tag_header(const Packet& packet) {
  wire::TagHeader& header = tagged_->header;
  header = {};
  const std::size_t bytes = std::min(packet.payload.size(), header.bytes().size());
  const std::span<std::byte> part = header.bytes().first(bytes);
  if (!packet.payload.read({&part, 1})) {
    ask_again(packet);
    return false;
  }
  const std::size_t bytes_min =
      header.operation() == IBV_TMH_NO_TAG ? sizeof(header.match.opcode) : wire::tag_header_bytes;
  if (bytes >= bytes_min) return true;
  refuse(NakCode::invalid_request, IBV_EVENT_QP_REQ_ERR);
  return false;
}

/// The buffer that the message matches, or an ordinary receive. False: a rendezvous, which is under
/// way, or nothing is there to receive it.
bool Responder::find_place(const Packet& packet) {
  Tagged& tagged = *tagged_;
  const std::uint8_t operation = tagged.header.operation();
  const bool fetches = is_rendezvous(packet);
  has_receive_ = (operation == IBV_TMH_EAGER || fetches) &&
                 tagged.matcher.take(tagged.header.tag(), &receive_id_, &entries_);
  if (has_receive_) {
    receive_queue_ = 0;
    tagged.opcode = IBV_WC_TM_RECV;
    tagged.flags = unsigned{IBV_WC_TM_MATCH} | unsigned{IBV_WC_TM_DATA_VALID};
    if (fetches) take_rendezvous(packet);
    return !fetches;
  }
  if (!take_receive(packet)) return false;
  // The end of a rendezvous that we asked for comes as a message without tag, and so does what no
  // matching knows: it is not unexpected. UCX looks for it there.
  const bool has_tag = operation == IBV_TMH_EAGER || operation == IBV_TMH_RNDV;
  tagged.opcode = has_tag ? IBV_WC_TM_RECV : IBV_WC_TM_NO_TAG;
  tagged.flags = has_tag && tagged.matcher.count_unexpected() ? unsigned{IBV_WC_TM_SYNC_REQ} : 0U;
  return true;
}

/// A request for a rendezvous of another form is unexpected: the program may make sense of it.
bool Responder::is_rendezvous(const Packet& packet) const {
  const std::size_t bytes = packet.payload.size();
  return tagged_->header.operation() == IBV_TMH_RNDV && packet.shape.ends() &&
         !packet.shape.immediate && !packet.shape.ieth && bytes >= sizeof(wire::TagHeader) &&
         bytes <= wire::rendezvous_bytes_max;
}

bool Responder::can_transfer() const {
  const std::uint32_t bytes = tagged_->header.range().bytes;
  return bytes <= transfer_bytes_max && bytes <= memory::total_bytes(entries_) &&
         context_.reads_max > 0;
}

/// The message of PACKET has matched. What the device can't fetch is left to the program, which
/// finds the header in its buffer, or what of it fits there.
void Responder::take_rendezvous(const Packet& packet) {
  Received received = tagged_completion(IBV_WC_TM_MATCH);
  const bool fetches = can_transfer();
  if (!fetches) {
    const std::span<const std::byte> header = tagged_->header.bytes();
    received.bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(header.size(), memory::total_bytes(entries_)));
    const std::optional<ibv_wc_status> status =
        memory::scatter(context_.owner(regions_), entries_, 0, header.first(received.bytes));
    if (*status != IBV_WC_SUCCESS) {
      refuse_with_receive(NakCode::remote_operation_error, *status);
      return;
    }
    received.status = IBV_WC_TM_RNDV_INCOMPLETE;
    received.flags |= IBV_WC_TM_DATA_VALID;
    received.solicited = packet.headers.solicited;
  }
  has_receive_ = false;
  listener_.on_received(received);
  if (fetches)
    listener_.on_rendezvous({.id = receive_id_,
                             .header = tagged_->header,
                             .entries = entries_,
                             .solicited = packet.headers.solicited});
  finish_request(packet, 1);
}

/// A completion of the message, with FLAGS; what was matched is said once.
Received Responder::tagged_completion(unsigned flags) const {
  Received received{.id = receive_id_, .opcode = tagged_->opcode, .flags = flags};
  if ((flags & IBV_WC_TM_MATCH) != 0)
    received.tag = {.tag = tagged_->header.tag(), .priv = tagged_->header.sender_data()};
  return received;
}

/// The rest of the message takes its time, and the program wants to know which buffers are taken:
/// one more completion comes with the last packet.
void Responder::tell_of_match() {
  tagged_->flags = IBV_WC_TM_DATA_VALID;
  listener_.on_received(tagged_completion(IBV_WC_TM_MATCH));
}

}  // namespace softrdma::qp
