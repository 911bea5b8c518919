#include "softrdma/wire/icrc.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace softrdma::wire {
namespace {

using Bytes = std::vector<std::byte>;

/// CRC-32 of Ethernet, bit by bit (IEEE 802.3 §3.2.9): shares nothing with the code it checks.
std::uint32_t slow_crc(const Bytes& bytes) {
  constexpr std::uint32_t reflected_polynomial = 0xedb88320;
  std::uint32_t state = 0xffffffff;
  for (const std::byte byte : bytes) {
    state ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit)
      state = state >> 1 ^ ((state & 1) != 0 ? reflected_polynomial : 0);
  }
  return ~state;
}

Bytes bytes_of(std::initializer_list<unsigned> numbers) {
  Bytes out;
  for (const unsigned number : numbers) out.push_back(static_cast<std::byte>(number));
  return out;
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes out;
  for (const Bytes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::uint32_t icrc_of(const UdpPath& path, const Bytes& packet) {
  const std::span<const std::byte> piece(packet);
  return icrc(path, {&piece, 1});
}

Address ipv4(unsigned a, unsigned b, unsigned c, unsigned d) {
  Address out{};
  out[10] = out[11] = std::byte{0xff};
  out[12] = static_cast<std::byte>(a);
  out[13] = static_cast<std::byte>(b);
  out[14] = static_cast<std::byte>(c);
  out[15] = static_cast<std::byte>(d);
  return out;
}

// A send of four bytes: base header and payload.
const Bytes packet = bytes_of({0x04, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11, 0x80, 0x00, 0x00,
                               0x07, 0xde, 0xad, 0xbe, 0xef});
// The same with the byte of the congestion bits as ones.
const Bytes masked = bytes_of({0x04, 0x40, 0xff, 0xff, 0xff, 0x00, 0x00, 0x11, 0x80, 0x00, 0x00,
                               0x07, 0xde, 0xad, 0xbe, 0xef});
const Bytes ones(8, std::byte{0xff});
// Source port 0xc000, port 4791, 8 + 16 + 4 bytes, checksum as ones.
const Bytes udp = bytes_of({0xc0, 0x00, 0x12, 0xb7, 0x00, 0x1c, 0xff, 0xff});

TEST(Icrc, TheSlowSumIsTheOneOfEthernet) {
  // The check value of CRC-32 in every catalogue: of "123456789".
  EXPECT_EQ(slow_crc(bytes_of({'1', '2', '3', '4', '5', '6', '7', '8', '9'})), 0xcbf43926);
}

TEST(Icrc, OverIpv4) {
  const Bytes ip = bytes_of({0x45, 0xff, 0x00, 0x30, 0x00, 0x00, 0x40, 0x00, 0xff, 0x11,
                             0xff, 0xff, 10,   77,   0,    1,    10,   77,   0,    2});
  const UdpPath path{ipv4(10, 77, 0, 1), ipv4(10, 77, 0, 2), 0xc000};
  EXPECT_EQ(icrc_of(path, packet), slow_crc(joined({ones, ip, udp, masked})));
}

TEST(Icrc, OverIpv6) {
  Address source{};
  source[0] = std::byte{0xfd};
  source[15] = std::byte{1};
  Address destination = source;
  destination[15] = std::byte{2};
  const Bytes ip =
      joined({bytes_of({0x6f, 0xff, 0xff, 0xff, 0x00, 0x1c, 0x11, 0xff}),
              Bytes(source.begin(), source.end()), Bytes(destination.begin(), destination.end())});
  EXPECT_EQ(icrc_of({source, destination, 0xc000}, packet),
            slow_crc(joined({ones, ip, udp, masked})));
}

TEST(Icrc, PiecesAreOnePacket) {
  const UdpPath path{ipv4(10, 77, 0, 1), ipv4(10, 77, 0, 2), 0xc000};
  for (std::size_t cut = 12; cut <= packet.size(); ++cut) {
    const std::array<std::span<const std::byte>, 2> pieces{std::span(packet).first(cut),
                                                           std::span(packet).subspan(cut)};
    EXPECT_EQ(icrc(path, pieces), icrc_of(path, packet)) << "cut at " << cut;
  }
}

TEST(Icrc, CongestionBitsMayChangeOnTheWayAndNothingElse) {
  const UdpPath path{ipv4(10, 77, 0, 1), ipv4(10, 77, 0, 2), 0xc000};
  for (std::size_t i = 0; i < packet.size(); ++i) {
    Bytes changed = packet;
    changed[i] ^= std::byte{0x80};
    const bool same = icrc_of(path, changed) == icrc_of(path, packet);
    EXPECT_EQ(same, i == 4) << "byte " << i;
  }
}

}  // namespace
}  // namespace softrdma::wire
