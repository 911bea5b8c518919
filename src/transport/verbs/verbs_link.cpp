#include "transport/verbs/verbs_link.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hawser::transport::verbs {

namespace {

std::byte* frame_of(std::byte* datagram) { return datagram + sizeof(DatagramHeader); }
std::byte* datagram_of(std::byte* frame) { return frame - sizeof(DatagramHeader); }

}  // namespace

void VerbsLink::open(AddressHandle to, std::uint32_t queue_pair, std::uint8_t mtu) {
  to_ = std::move(to);
  queue_pair_ = queue_pair;
  frame_bytes_max_ = mtu_bytes(std::min(mtu, header_.mtu)) - sizeof(DatagramHeader);
  channels_.add(ChannelKind::ud_send);
}

std::size_t VerbsLink::frame_bytes_max(ChannelKind kind) const {
  return kind == ChannelKind::ud_send ? frame_bytes_max_ : 0;
}

std::byte* VerbsLink::reserve(ChannelKind, std::size_t bytes) {
  // A peer that answers nothing must not take the last buffers from those who do.
  constexpr std::uint32_t kept_max_if_scarce = 4;
  if (kept_ >= kept_max_if_scarce && datagrams_.is_scarce()) return nullptr;
  std::byte* const datagram = datagrams_.reserve();
  if (datagram == nullptr) return nullptr;
  ++kept_;
  std::memcpy(datagram, &header_, sizeof(header_));
  reserved_ = datagram;
  reserved_bytes_ = bytes;
  return frame_of(datagram);
}

void VerbsLink::commit(ChannelKind) { post(reserved_, reserved_bytes_); }

Link::Resent VerbsLink::resend(ChannelKind, std::byte* frame, std::size_t bytes) {
  return post(datagram_of(frame), bytes) ? Resent::sent : Resent::no_room;
}

bool VerbsLink::post(std::byte* datagram, std::size_t frame_bytes) {
  return datagrams_.post(datagram, sizeof(DatagramHeader) + frame_bytes, to_.get(), queue_pair_);
}

void VerbsLink::release(ChannelKind, std::byte* frame) {
  --kept_;
  datagrams_.release(datagram_of(frame));
}

bool VerbsLink::send_once(ChannelKind, std::span<const std::byte> frame) {
  std::byte* const datagram = datagrams_.reserve_briefly();
  if (datagram == nullptr) return false;
  std::memcpy(datagram, &header_, sizeof(header_));
  std::ranges::copy(frame, frame_of(datagram));
  post(datagram, frame.size());
  datagrams_.release(datagram);
  return true;
}

std::int64_t VerbsLink::get(std::span<const MemoryPiece>, std::span<const MemoryPiece>) {
  return -EOPNOTSUPP;
}

}  // namespace hawser::transport::verbs
