#include "transport/tcp/address.hpp"

#include <gtest/gtest.h>

namespace hawser::transport::tcp {
namespace {

InterfaceAddress at(std::string interface, std::string_view address, unsigned bits) {
  return {std::move(interface), *platform::parse_ip_address(address), bits};
}

const std::vector<InterfaceAddress> usual = {
    at("lo", "127.0.0.1", 8),  at("lo", "::1", 128),          at("eth0", "10.1.2.3", 16),
    at("eth0", "fe80::1", 64), at("eth1", "2001:db8::7", 64), at("docker0", "172.17.0.1", 16)};

std::string chosen(const std::vector<InterfaceAddress>& all, const std::string& include,
                   const std::string& exclude) {
  const auto result = choose_addresses(all, {.include = include, .exclude = exclude});
  if (!result) return result.error().sentence();
  std::string text;
  for (const InterfaceAddress& each : *result) text += text_of(each.address) + " ";
  return text;
}

TEST(TcpAddress, AllThatAreWideAreChosenAndLoopbackIsLast) {
  EXPECT_EQ(chosen(usual, "", ""), "10.1.2.3 2001:db8::7 172.17.0.1 127.0.0.1 ::1 ");
}

TEST(TcpAddress, InterfacesAndSubnetsAreIncludedAndExcluded) {
  EXPECT_EQ(chosen(usual, "eth0", ""), "10.1.2.3 ");
  EXPECT_EQ(chosen(usual, "10.0.0.0/8, eth1", ""), "10.1.2.3 2001:db8::7 ");
  EXPECT_EQ(chosen(usual, "", "docker0,lo,2001:db8::/32"), "10.1.2.3 ");
  EXPECT_EQ(chosen(usual, "lo", ""), "127.0.0.1 ::1 ");
  EXPECT_EQ(chosen(usual, "10.1.2.3", ""), "10.1.2.3 ");
}

TEST(TcpAddress, ThoseOfOneLinkAreChosenWhereThereAreNoOthers) {
  EXPECT_EQ(chosen(usual, "fe80::/10,lo", ""), "fe80::1 127.0.0.1 ::1 ");
}

TEST(TcpAddress, BadTextAndNothingLeftAreSentences) {
  EXPECT_EQ(chosen(usual, "10.0.0.0/33", ""),
            "tcp.include: '10.0.0.0/33' is neither an interface like eth0 nor a subnet like "
            "10.0.0.0/8");
  EXPECT_EQ(chosen(usual, "", "eth0,,lo"),
            "tcp.exclude: '' is neither an interface like eth0 nor a subnet like 10.0.0.0/8");
  EXPECT_EQ(chosen({at("lo", "127.0.0.1", 8)}, "ib0", ""),
            "tcp.include='ib0' and tcp.exclude='' leave no address to be reached by; this host "
            "has: lo 127.0.0.1/8");
}

TEST(TcpAddress, IsReadAsItWasWritten) {
  Address address{4711, 99, {}};
  for (const InterfaceAddress& each : usual) address.addresses.push_back(each.address);
  const auto bytes = bytes_of(address);
  const auto read = parse_address(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->port, 4711);
  EXPECT_EQ(read->host_mark, 99U);
  EXPECT_EQ(read->addresses, address.addresses);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(parse_address(std::span(bytes).first(length)).has_value()) << length;
}

TEST(TcpAddress, NoMoreArePublishedThanThereIsRoomFor) {
  Address address{1, 0, {}};
  for (int i = 0; i < 100; ++i) address.addresses.push_back(usual[4].address);
  const auto bytes = bytes_of(address);
  EXPECT_LE(bytes.size(), Address::bytes_max);
  EXPECT_EQ(parse_address(bytes)->addresses.size(), 14U);
}

std::string order_of(const Address& peer, const std::vector<InterfaceAddress>& own,
                     std::uint64_t mark) {
  std::string text;
  for (const IpAddress& each : order_candidates(peer, own, mark)) text += text_of(each) + " ";
  return text;
}

TEST(TcpAddress, ThoseInASubnetOfOursAreTriedFirstAndLoopbackOnTheSameHostAlone) {
  Address peer{1, 5, {}};
  for (const std::string_view each : {"172.17.0.1", "127.0.0.1", "10.1.9.9"})
    peer.addresses.push_back(*platform::parse_ip_address(each));
  const std::vector<InterfaceAddress> own = {at("lo", "127.0.0.1", 8), at("eth0", "10.1.2.3", 16)};
  EXPECT_EQ(order_of(peer, own, 5), "10.1.9.9 172.17.0.1 127.0.0.1 ");
  EXPECT_EQ(order_of(peer, own, 6), "10.1.9.9 172.17.0.1 ");
  peer.host_mark = 0;
  EXPECT_EQ(order_of(peer, own, 0), "10.1.9.9 172.17.0.1 ");
}

TEST(TcpAddress, OneOfALinkIsTriedByEachInterfaceOfOurs) {
  const Address peer{1, 0, {*platform::parse_ip_address("fe80::9")}};
  std::vector<InterfaceAddress> own = {at("eth0", "fe80::1", 64), at("eth1", "fe80::2", 64)};
  own[0].address.scope = 2;
  own[1].address.scope = 3;
  EXPECT_EQ(order_of(peer, own, 0), "fe80::9%2 fe80::9%3 ");
}

}  // namespace
}  // namespace hawser::transport::tcp
