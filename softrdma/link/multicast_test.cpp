#include "softrdma/link/multicast.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

#include "softrdma/link/numbers.hpp"

namespace softrdma::link {
namespace {

using wire::Address;

/// An address with FIRST at its begin.
Address beginning_with(std::initializer_list<int> first) {
  Address out{};
  std::size_t i = 0;
  for (const int one : first) out[i++] = static_cast<std::byte>(one);
  return out;
}
Address ipv4(int first, int last) {
  Address out{};
  out[10] = out[11] = std::byte{0xff};
  out[12] = static_cast<std::byte>(first);
  out[15] = static_cast<std::byte>(last);
  return out;
}

TEST(Multicast, GroupsAreKnownByTheirGid) {
  EXPECT_TRUE(is_multicast(beginning_with({0xff, 0x12, 0x40, 0x1b})));
  EXPECT_FALSE(is_multicast(beginning_with({0xfe, 0x80})));
  EXPECT_FALSE(is_multicast(beginning_with({0, 0xff})));
  EXPECT_TRUE(is_multicast(ipv4(224, 1)));
  EXPECT_TRUE(is_multicast(ipv4(239, 255)));
  EXPECT_FALSE(is_multicast(ipv4(223, 1)));
  EXPECT_FALSE(is_multicast(ipv4(240, 1)));
}

TEST(Multicast, AnAddressWithoutGidLeadsToNoGroup) {
  ibv_ah_attr address{};
  address.grh.dgid.raw[0] = 0xff;
  EXPECT_FALSE(is_multicast(address));
  address.is_global = 1;
  EXPECT_TRUE(is_multicast(address));
}

TEST(Multicast, OnlyDatagramsAreForGroups) {
  wire::Headers headers;
  headers.destination_qp = multicast_number;
  headers.opcode = {wire::Service::reliable_connection, wire::Operation::send_only};
  EXPECT_FALSE(is_for_group(headers));
  headers.opcode.service = wire::Service::unreliable_datagram;
  EXPECT_TRUE(is_for_group(headers));
  headers.destination_qp = first_number;
  EXPECT_FALSE(is_for_group(headers));
}

TEST(Multicast, TheDestinationIsReadFromHeadersOfBothKinds) {
  std::array<std::byte, qp::grh_bytes> header{};
  header[20] = std::byte{0x45};
  header[36] = std::byte{239};
  header[39] = std::byte{7};
  EXPECT_EQ(destination_of(header), ipv4(239, 7));
  header = {};
  header[0] = std::byte{0x60};
  header[24] = std::byte{0xff};
  EXPECT_EQ(destination_of(header), beginning_with({0xff}));
}

}  // namespace
}  // namespace softrdma::link
