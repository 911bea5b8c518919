#include "softrdma/wire/packet.hpp"

#include <algorithm>

namespace softrdma::wire {
namespace {

/// Takes big-endian fields off the front of bytes; false once they were too short.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint64_t take(std::size_t width) {
    if (rest_.size() < width) {
      complete_ = false;
      rest_ = {};
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
      value = value << 8 | std::to_integer<unsigned>(rest_[i]);
    rest_ = rest_.subspan(width);
    return value;
  }
  std::uint8_t take_8() { return static_cast<std::uint8_t>(take(1)); }
  std::uint16_t take_16() { return static_cast<std::uint16_t>(take(2)); }
  std::uint32_t take_24() { return static_cast<std::uint32_t>(take(3)); }
  std::uint32_t take_32() { return static_cast<std::uint32_t>(take(4)); }
  std::uint64_t take_64() { return take(8); }
  [[nodiscard]] bool is_complete() const { return complete_; }
  [[nodiscard]] std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
  bool complete_ = true;
};

class Writer {
 public:
  explicit Writer(std::span<std::byte, headers_bytes_max> out) : out_(out) {}

  void put(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i)
      out_[at_++] = static_cast<std::byte>(value >> (8 * (width - 1 - i)));
  }
  [[nodiscard]] std::size_t bytes() const { return at_; }

 private:
  std::span<std::byte, headers_bytes_max> out_;
  std::size_t at_ = 0;
};

constexpr unsigned solicited_bit = 0x80;
constexpr unsigned migrated_bit = 0x40;
constexpr unsigned forward_congestion_bit = 0x80;
constexpr unsigned backward_congestion_bit = 0x40;
constexpr unsigned ack_request_bit = 0x80;

bool has_xrceth(Opcode opcode, const Shape& shape) {
  return opcode.service == Service::extended_reliable_connection && shape.is_request();
}

}  // namespace

std::optional<Packet> parse(std::span<const std::byte> bytes) {
  Reader in(bytes);
  Packet packet;
  Headers& headers = packet.headers;
  headers.opcode = opcode_from(in.take_8());
  const std::optional<Shape> shape = shape_of(headers.opcode);
  if (!shape) return std::nullopt;
  packet.shape = *shape;

  const unsigned flags = in.take_8();
  const unsigned version = flags & 0xf;
  const std::size_t padding = flags >> 4 & 3;
  if (version != 0) return std::nullopt;
  headers.solicited = (flags & solicited_bit) != 0;
  headers.migrated = (flags & migrated_bit) != 0;
  headers.partition_key = in.take_16();
  const unsigned congestion = in.take_8();
  headers.forward_congestion = (congestion & forward_congestion_bit) != 0;
  headers.backward_congestion = (congestion & backward_congestion_bit) != 0;
  headers.destination_qp = in.take_24();
  headers.ack_request = (in.take_8() & ack_request_bit) != 0;
  headers.sequence = in.take_24();

  if (has_xrceth(headers.opcode, *shape)) headers.receive_queue = in.take_32() & number_mask;
  if (headers.opcode.service == Service::unreliable_datagram) {
    headers.queue_key = in.take_32();
    headers.source_qp = in.take_32() & number_mask;
  }
  if (shape->reth) headers.range = {in.take_64(), in.take_32(), in.take_32()};
  if (shape->atomic_eth) {
    headers.range = {in.take_64(), in.take_32(), sizeof(std::uint64_t)};
    headers.swap_or_add = in.take_64();
    headers.compare = in.take_64();
  }
  if (shape->aeth) {
    headers.syndrome = in.take_8();
    headers.message_sequence = in.take_24();
  }
  if (shape->atomic_ack_eth) headers.original = in.take_64();
  if (shape->immediate && in.rest().size() >= headers.immediate.size()) {
    std::ranges::copy(in.rest().first(headers.immediate.size()), headers.immediate.begin());
  }
  if (shape->immediate) in.take_32();
  if (shape->ieth) headers.invalidated_key = in.take_32();

  if (!in.is_complete() || in.rest().size() < padding || in.rest().size() % 4 != 0)
    return std::nullopt;
  packet.payload = in.rest().first(in.rest().size() - padding);
  if (!shape->payload && !in.rest().empty()) return std::nullopt;
  return packet;
}

std::size_t build(const Headers& headers, std::size_t payload_bytes,
                  std::span<std::byte, headers_bytes_max> out) {
  const Shape shape = *shape_of(headers.opcode);
  Writer to(out);
  to.put(headers.opcode.byte(), 1);
  to.put((headers.solicited ? solicited_bit : 0U) | (headers.migrated ? migrated_bit : 0U) |
             static_cast<unsigned>(padding_of(payload_bytes)) << 4,
         1);
  to.put(headers.partition_key, 2);
  to.put((headers.forward_congestion ? forward_congestion_bit : 0U) |
             (headers.backward_congestion ? backward_congestion_bit : 0U),
         1);
  to.put(headers.destination_qp, 3);
  to.put(headers.ack_request ? ack_request_bit : 0U, 1);
  to.put(headers.sequence, 3);

  if (has_xrceth(headers.opcode, shape)) to.put(headers.receive_queue & number_mask, 4);
  if (headers.opcode.service == Service::unreliable_datagram) {
    to.put(headers.queue_key, 4);
    to.put(headers.source_qp & number_mask, 4);
  }
  if (shape.reth || shape.atomic_eth) {
    to.put(headers.range.address, 8);
    to.put(headers.range.key, 4);
  }
  if (shape.reth) to.put(headers.range.bytes, 4);
  if (shape.atomic_eth) {
    to.put(headers.swap_or_add, 8);
    to.put(headers.compare, 8);
  }
  if (shape.aeth) {
    to.put(headers.syndrome, 1);
    to.put(headers.message_sequence, 3);
  }
  if (shape.atomic_ack_eth) to.put(headers.original, 8);
  if (shape.immediate)
    for (const std::byte byte : headers.immediate) to.put(std::to_integer<unsigned>(byte), 1);
  if (shape.ieth) to.put(headers.invalidated_key, 4);
  return to.bytes();
}

}  // namespace softrdma::wire
