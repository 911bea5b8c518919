// What a link does with frames: sizes and room, sending and sending again, what arrives.
#include "transport/verbs/verbs_link.hpp"

#include <endian.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace hawser::transport::verbs {

void VerbsLink::open(AddressHandle to, std::uint32_t queue_pair, std::uint8_t mtu) {
  to_ = std::move(to);
  queue_pair_ = queue_pair;
  datagram_frame_bytes_max_ = mtu_bytes(std::min(mtu, header_.mtu)) - sizeof(DatagramHeader);
  channels_.add(ChannelKind::ud_send);
  if (services_.settings.zero_copy_queue_pairs > 0) channels_.add(ChannelKind::ud_zero_copy);
  earnable_.add(ChannelKind::rc_send);
  if (services_.settings.xrc_hosts_max > 0 &&
      XrcDomain::can_be_had(services_.port, services_.host_file))
    earnable_.add(ChannelKind::xrc_send);
}

std::size_t VerbsLink::frame_bytes_max(ChannelKind kind) const {
  if (kind == ChannelKind::ud_send) return datagram_frame_bytes_max_;
  if (kind == ChannelKind::xrc_send)
    return channels_.has(kind) ? xrc_->sender.frame_bytes_max() : 0;
  const Connection* const connection = open_connection();
  if (connection == nullptr) return 0;
  const std::size_t eager = connection->frame_bytes_max(Connection::high);
  switch (kind) {
    case ChannelKind::rc_send:
      return connection->frame_bytes_max(Connection::low);
    case ChannelKind::rc_rdma:
      return eager;
    case ChannelKind::rc_fast_path:
      // A frame for one who sleeps is sent.
      return channels_.has(kind) ? std::min(fast_path_->writer()->frame_bytes_max(), eager) : 0;
    default:
      return 0;
  }
}

std::uint32_t VerbsLink::receive_window() const {
  std::uint32_t frames = Link::receive_window();
  if (connector_) frames = std::min(frames, connector_->receive_window());
  if (xrc_) frames = std::min(frames, xrc_->receiver.window());
  return frames;
}

std::uint32_t VerbsLink::send_window() const {
  const Connection* const connection = open_connection();
  std::uint32_t frames = Link::send_window();
  if (connection != nullptr) frames = std::min(frames, connection->send_window());
  if (channels_.has(ChannelKind::xrc_send)) frames = std::min(frames, xrc_->sender.window());
  return frames;
}

bool VerbsLink::has_room(ChannelKind kind, std::size_t bytes) {
  // A peer that answers nothing must not take the last buffers from those who do.
  constexpr std::uint32_t kept_max_if_scarce = 4;
  if (kept_ >= kept_max_if_scarce && services_.buffers.is_scarce()) return false;
  if (kind == ChannelKind::ud_send) return services_.datagrams.has_room();
  if (kind == ChannelKind::xrc_send) return xrc_->sender.has_room();
  Connection& connection = *connector_->open();
  if (bytes <= connection.frame_bytes_max(Connection::high) && kind != ChannelKind::rc_rdma)
    return connection.has_room(Connection::high) &&
           (kind != ChannelKind::rc_fast_path || fast_path_->writer()->has_room());
  return connection.has_room(Connection::low) && low_kept_ < ReliableQueues::low_window &&
         large_kept_ < large_frames_max;
}

std::byte* VerbsLink::reserve(ChannelKind kind, std::size_t bytes) {
  if (!has_room(kind, bytes)) return nullptr;
  std::byte* const frame = services_.reserve(bytes);
  if (frame == nullptr) return nullptr;
  ++kept_;
  if (SendBuffers::note_of(frame).is_large) ++large_kept_;
  reserved_ = frame;
  reserved_bytes_ = bytes;
  return frame;
}

void VerbsLink::commit(ChannelKind kind) {
  if (kind == ChannelKind::ud_send) {
    post_frame(reserved_, reserved_bytes_);
    return;
  }
  if (kind == ChannelKind::xrc_send) {
    send_by_xrc();
    return;
  }
  Connection& connection = *connector_->open();
  SendBuffers::Note& note = SendBuffers::note_of(reserved_);
  note.connection = connection.number();
  note.is_low = kind == ChannelKind::rc_rdma ||
                reserved_bytes_ > connection.frame_bytes_max(Connection::high);
  if (note.is_low) ++low_kept_;
  if (kind == ChannelKind::rc_rdma) {
    connection.flush(reserved_, reserved_bytes_);
  } else if (kind == ChannelKind::rc_fast_path && !fast_path_->is_peer_asleep()) {
    write_to_ring(connection, reserved_, reserved_bytes_);
  } else {
    connection.send(reserved_, reserved_bytes_);
  }
  if (is_to_break()) [[unlikely]]
    connection.break_now();
}

void VerbsLink::write_to_ring(Connection& connection, std::byte* frame, std::size_t bytes) {
  RingWriter& writer = *fast_path_->writer();
  const RingWriter::Write write = writer.take(frame, bytes);
  SendBuffers::Note& note = SendBuffers::note_of(frame);
  note.ring = ring_number_;
  note.slot = write.slot;
  connection.write(frame, write.bytes, write.to, writer.key());
}

bool VerbsLink::is_to_break() {
  const auto one_in = static_cast<std::uint64_t>(services_.settings.break_one_in);
  return one_in > 0 && base::mix64(++services_.commits) % one_in == 0;
}

bool VerbsLink::post_datagram(std::byte* frame, std::size_t bytes, const DatagramHeader& header) {
  std::memcpy(frame - sizeof(header), &header, sizeof(header));
  return services_.datagrams.post(frame, bytes, to_.get(), queue_pair_);
}

bool VerbsLink::post_frame(std::byte* frame, std::size_t bytes) {
  return post_datagram(frame, bytes, header_);
}

/// Those of one frame have the same ID, also when they are sent again.
bool VerbsLink::post_parts(std::span<const std::byte> frame, std::uint32_t id) {
  const std::size_t part_bytes_max = datagram_frame_bytes_max_ - sizeof(PartHeader);
  DatagramHeader header = header_;
  header.type = DatagramHeader::part;
  for (std::size_t offset = 0; offset < frame.size(); offset += part_bytes_max) {
    const std::size_t part_bytes = std::min(part_bytes_max, frame.size() - offset);
    std::byte* const part = services_.reserve(sizeof(PartHeader) + part_bytes);
    if (part == nullptr) return false;
    const PartHeader about{.id = id,
                           .offset = static_cast<std::uint32_t>(offset),
                           .total = static_cast<std::uint32_t>(frame.size())};
    std::memcpy(part, &about, sizeof(about));
    std::memcpy(part + sizeof(about), frame.data() + offset, part_bytes);
    const bool has_left = post_datagram(part, sizeof(about) + part_bytes, header);
    services_.buffers.release(part);
    if (!has_left) return false;
  }
  return true;
}

bool VerbsLink::is_under_way(std::byte* frame) const {
  const SendBuffers::Note& note = SendBuffers::note_of(frame);
  return note.connection != 0 && ((connector_ && connector_->carries(note.connection)) ||
                                  (xrc_ && xrc_->sender.carries(note.connection)));
}

Link::Resent VerbsLink::resend(ChannelKind, std::byte* frame, std::size_t bytes,
                               bool may_be_damaged) {
  SendBuffers::Note& note = SendBuffers::note_of(frame);
  const bool is_carried = is_under_way(frame);
  if (is_carried && !may_be_damaged) return Resent::under_way;
  if (!is_carried) note.connection = 0;
  if (bytes <= datagram_frame_bytes_max_)
    return post_frame(frame, bytes) ? Resent::sent : Resent::no_room;
  if (note.parts_id == 0) note.parts_id = ++parts_made_;
  return post_parts({frame, bytes}, note.parts_id) ? Resent::sent : Resent::no_room;
}

Link::Resent VerbsLink::send_copy(std::span<const std::byte> frame) {
  if (frame.size() > datagram_frame_bytes_max_)
    return post_parts(frame, ++parts_made_) ? Resent::sent : Resent::no_room;
  std::byte* const copy = services_.reserve(frame.size());
  if (copy == nullptr) return Resent::no_room;
  std::ranges::copy(frame, copy);
  const bool has_left = post_frame(copy, frame.size());
  services_.buffers.release(copy);
  return has_left ? Resent::sent : Resent::no_room;
}

void VerbsLink::break_connection() {
  if (connector_) connector_->break_connection();
  if (xrc_) xrc_->sender.break_now();
}

void VerbsLink::release(ChannelKind, std::byte* frame) {
  const SendBuffers::Note& note = SendBuffers::note_of(frame);
  --kept_;
  if (note.is_large) --large_kept_;
  if (note.is_low) --low_kept_;
  if (note.ring != 0 && note.ring == ring_number_) fast_path_->writer()->free(note.slot);
  services_.buffers.release(frame);
}

bool VerbsLink::send_once(ChannelKind, std::span<const std::byte> frame) {
  std::byte* const brief = services_.reserve_briefly();
  if (brief == nullptr) return false;
  std::ranges::copy(frame, brief);
  post_frame(brief, frame.size());
  services_.buffers.release(brief);
  return true;
}

void VerbsLink::send_control(std::uint8_t type, std::span<const std::byte> message) {
  // One that finds no room now is repeated like one that was lost.
  std::byte* const brief = services_.reserve_briefly();
  if (brief == nullptr) return;
  DatagramHeader header = header_;
  header.type = type;
  std::ranges::copy(message, brief);
  post_datagram(brief, message.size(), header);
  services_.buffers.release(brief);
}

// What arrives.

void VerbsLink::on_part(std::span<const std::byte> part) {
  const auto header = read<PartHeader>(part);
  if (!header) return;
  if (!parts_)
    parts_ = std::make_unique<PartAssembler>(
        static_cast<std::size_t>(services_.settings.rc_large_bytes));
  const std::span<const std::byte> frame = parts_->add(*header, part.subspan(sizeof(*header)));
  if (!frame.empty()) services_.sink.on_frame(*this, ChannelKind::ud_send, frame);
}

void VerbsLink::on_connection_message(std::span<const std::byte> message) {
  if (const auto said = read<ConnectionMessage>(message)) connector().on_message(*said);
}

void VerbsLink::on_received(Connection& connection, const ibv_wc& completion,
                            std::span<const std::byte> bytes) {
  if (completion.status != IBV_WC_SUCCESS) {
    connection.break_now();
    return;
  }
  connector_->on_used(connection);
  if ((completion.wc_flags & IBV_WC_WITH_IMM) == 0) {
    const bool is_behind_operations = ReliableQueues::priority_of(completion) == Connection::low &&
                                      bytes.size() <= connection.frame_bytes_max(Connection::high);
    services_.sink.on_frame(
        *this, is_behind_operations ? ChannelKind::rc_rdma : ChannelKind::rc_send, bytes);
    return;
  }
  // On a connection that ends, fast paths end as well.
  const auto message = read<FastPathMessage>(bytes);
  if (!message || connector_->open() != &connection) return;
  fast_path_->on_message(static_cast<FastPathMessage::Kind>(be32toh(completion.imm_data)),
                         *message);
}

bool VerbsLink::poll_ring() {
  bool moved = false;
  RingReader* const reader = fast_path_->reader();
  // No more at a time than there are slots: others have their turn.
  for (std::uint32_t i = 0; i < ring_slots_max; ++i) {
    const std::span<const std::byte> frame = reader->front();
    if (frame.empty()) break;
    services_.sink.on_frame(*this, ChannelKind::rc_fast_path, frame);
    reader->pop();
    moved = true;
  }
  if (!moved && fast_path_->is_ended_by_peer()) end_ring_of_peer();
  return moved;
}

std::span<const std::byte> VerbsLink::front(ChannelKind kind) {
  if (kind != ChannelKind::rc_fast_path || !fast_path_ || fast_path_->reader() == nullptr)
    return {};
  return fast_path_->reader()->front();
}

void VerbsLink::pop(ChannelKind) { fast_path_->reader()->pop(); }

void VerbsLink::say_asleep(bool is_asleep) {
  if (fast_path_ && connector_->open() != nullptr) fast_path_->say_asleep(is_asleep);
}

}  // namespace hawser::transport::verbs
