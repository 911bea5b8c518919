#include "softrdma/wire/packet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace softrdma::wire {
namespace {

std::vector<Opcode> all_opcodes() {
  std::vector<Opcode> out;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const Opcode opcode = opcode_from(static_cast<std::uint8_t>(byte));
    if (shape_of(opcode)) out.push_back(opcode);
  }
  return out;
}

class Numbers {
 public:
  explicit Numbers(unsigned seed) : random_(seed) {}
  template <class T>
  T next(T mask = static_cast<T>(~T{0})) {
    return static_cast<T>(random_()) & mask;
  }
  bool coin() { return random_() % 2 == 0; }

 private:
  std::mt19937_64 random_;
};

/// Every field that OPCODE has, at random; the others as they are by default.
Headers random_headers(Opcode opcode, Numbers& numbers) {
  const Shape shape = *shape_of(opcode);
  Headers out;
  out.opcode = opcode;
  out.solicited = numbers.coin();
  out.migrated = numbers.coin();
  out.ack_request = numbers.coin();
  out.forward_congestion = numbers.coin();
  out.backward_congestion = numbers.coin();
  out.partition_key = numbers.next<std::uint16_t>();
  out.destination_qp = numbers.next<std::uint32_t>(number_mask);
  out.sequence = numbers.next<std::uint32_t>(number_mask);
  if (opcode.service == Service::extended_reliable_connection && shape.is_request())
    out.receive_queue = numbers.next<std::uint32_t>(number_mask);
  if (opcode.service == Service::unreliable_datagram) {
    out.queue_key = numbers.next<std::uint32_t>();
    out.source_qp = numbers.next<std::uint32_t>(number_mask);
  }
  if (shape.reth || shape.atomic_eth) {
    out.range.address = numbers.next<std::uint64_t>();
    out.range.key = numbers.next<std::uint32_t>();
    out.range.bytes = shape.reth ? numbers.next<std::uint32_t>() : 8;
  }
  if (shape.atomic_eth) {
    out.swap_or_add = numbers.next<std::uint64_t>();
    out.compare = numbers.next<std::uint64_t>();
  }
  if (shape.aeth) {
    out.syndrome = numbers.next<std::uint8_t>();
    out.message_sequence = numbers.next<std::uint32_t>(number_mask);
  }
  if (shape.atomic_ack_eth) out.original = numbers.next<std::uint64_t>();
  if (shape.immediate)
    for (std::byte& byte : out.immediate) byte = static_cast<std::byte>(numbers.next<unsigned>());
  if (shape.ieth) out.invalidated_key = numbers.next<std::uint32_t>();
  return out;
}

std::vector<std::byte> packet_bytes(const Headers& headers, std::span<const std::byte> payload) {
  std::array<std::byte, headers_bytes_max> room;
  const std::size_t header_bytes = build(headers, payload.size(), room);
  std::vector<std::byte> out(room.begin(),
                             room.begin() + static_cast<std::ptrdiff_t>(header_bytes));
  out.insert(out.end(), payload.begin(), payload.end());
  out.resize(out.size() + padding_of(payload.size()));
  return out;
}

std::vector<std::byte> counted(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i + 1);
  return out;
}

std::vector<std::byte> from_numbers(std::initializer_list<unsigned> numbers) {
  std::vector<std::byte> out;
  for (const unsigned number : numbers) out.push_back(static_cast<std::byte>(number));
  return out;
}

void expect_equal(const Headers& a, const Headers& b) {
  EXPECT_EQ(a.opcode, b.opcode);
  EXPECT_EQ(a.solicited, b.solicited);
  EXPECT_EQ(a.migrated, b.migrated);
  EXPECT_EQ(a.ack_request, b.ack_request);
  EXPECT_EQ(a.forward_congestion, b.forward_congestion);
  EXPECT_EQ(a.backward_congestion, b.backward_congestion);
  EXPECT_EQ(a.partition_key, b.partition_key);
  EXPECT_EQ(a.destination_qp, b.destination_qp);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.receive_queue, b.receive_queue);
  EXPECT_EQ(a.queue_key, b.queue_key);
  EXPECT_EQ(a.source_qp, b.source_qp);
  EXPECT_EQ(a.range.address, b.range.address);
  EXPECT_EQ(a.range.key, b.range.key);
  EXPECT_EQ(a.range.bytes, b.range.bytes);
  EXPECT_EQ(a.swap_or_add, b.swap_or_add);
  EXPECT_EQ(a.compare, b.compare);
  EXPECT_EQ(a.syndrome, b.syndrome);
  EXPECT_EQ(a.message_sequence, b.message_sequence);
  EXPECT_EQ(a.original, b.original);
  EXPECT_EQ(a.immediate, b.immediate);
  EXPECT_EQ(a.invalidated_key, b.invalidated_key);
}

// The table of IBA §9.2.1 has 23 operations of RC and as many of XRC, 12 of UC, 2 of UD, and the
// congestion notification.
TEST(Opcode, AreThoseOfTheSpecification) {
  std::array<int, 8> per_service{};
  for (const Opcode opcode : all_opcodes()) ++per_service[static_cast<std::size_t>(opcode.service)];
  EXPECT_EQ(per_service, (std::array<int, 8>{23, 12, 0, 2, 1, 23, 0, 0}));
  EXPECT_EQ((Opcode{Service::unreliable_datagram, Operation::send_only_immediate}).byte(), 0x65);
  EXPECT_EQ((Opcode{Service::extended_reliable_connection, Operation::write_only}).byte(), 0xaa);
  EXPECT_EQ(congestion_notification.byte(), 0x81);
}

TEST(Packet, EveryOpcodeComesBackAsItWas) {
  Numbers numbers(1);
  for (const Opcode opcode : all_opcodes()) {
    SCOPED_TRACE(static_cast<unsigned>(opcode.byte()));
    for (std::size_t payload_bytes = 0; payload_bytes <= 9; ++payload_bytes) {
      const Headers headers = random_headers(opcode, numbers);
      const auto payload = counted(shape_of(opcode)->payload ? payload_bytes : 0);
      const auto bytes = packet_bytes(headers, payload);
      const auto parsed = parse(bytes);
      ASSERT_TRUE(parsed);
      expect_equal(parsed->headers, headers);
      EXPECT_EQ(std::vector(parsed->payload.at_hand().begin(), parsed->payload.at_hand().end()),
                payload);
    }
  }
}

TEST(Packet, AShorterOneIsNone) {
  Numbers numbers(2);
  for (const Opcode opcode : all_opcodes()) {
    const auto whole = packet_bytes(random_headers(opcode, numbers), {});
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
      EXPECT_FALSE(parse(std::span(whole).first(bytes)))
          << bytes << " bytes of opcode " << static_cast<unsigned>(opcode.byte());
  }
}

TEST(Packet, WriteAsTheSpecificationDrawsIt) {
  Headers headers;
  headers.opcode = {Service::reliable_connection, Operation::write_only};
  headers.solicited = true;
  headers.ack_request = true;
  headers.destination_qp = 0x123456;
  headers.sequence = 0xabcdef;
  headers.range = {0x0102030405060708, 0x11223344, 5};
  EXPECT_EQ(packet_bytes(headers, counted(5)),
            from_numbers({0x0a, 0xf0, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef,
                          0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x11, 0x22, 0x33, 0x44,
                          0x00, 0x00, 0x00, 0x05, 0x01, 0x02, 0x03, 0x04, 0x05, 0x00, 0x00, 0x00}));
}

TEST(Packet, DatagramAsTheSpecificationDrawsIt) {
  Headers headers;
  headers.opcode = {Service::unreliable_datagram, Operation::send_only_immediate};
  headers.destination_qp = 1;
  headers.queue_key = 0x80010000;
  headers.source_qp = 2;
  headers.immediate = {std::byte{9}, std::byte{8}, std::byte{7}, std::byte{6}};
  EXPECT_EQ(packet_bytes(headers, {}),
            from_numbers({0x65, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
                          0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x09, 0x08, 0x07, 0x06}));
}

TEST(Packet, AnotherVersionIsNone) {
  auto bytes = packet_bytes({.opcode = {Service::reliable_connection, Operation::send_only}}, {});
  bytes[1] |= std::byte{1};
  EXPECT_FALSE(parse(bytes));
}

TEST(Packet, PaddingBeyondThePayloadIsNone) {
  auto bytes = packet_bytes({.opcode = {Service::reliable_connection, Operation::send_only}}, {});
  bytes[1] |= std::byte{0x30};
  EXPECT_FALSE(parse(bytes));
}

TEST(Packet, APayloadWhereNoneBelongsIsNone) {
  auto bytes = packet_bytes({.opcode = {Service::reliable_connection, Operation::acknowledge}}, {});
  bytes.resize(bytes.size() + 4);
  EXPECT_FALSE(parse(bytes));
}

}  // namespace
}  // namespace softrdma::wire
