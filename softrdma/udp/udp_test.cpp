#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "softrdma/link/multicast.hpp"
#include "softrdma/link/numbers.hpp"
#include "softrdma/udp/addresses.hpp"
#include "softrdma/udp/junction.hpp"
#include "softrdma/udp/socket.hpp"

namespace softrdma::udp {
namespace {

using fabric::Host;
using fabric::Network;
using fabric::NetworkAddress;
using hawser::platform::FileDescriptor;
using wire::Operation;
using wire::Service;

/// An address of loopback that no other test of this host uses.
std::string loopback(int which) {
  const auto own = static_cast<unsigned>(::getpid());
  return fmt::format("127.{}.{}.{}", 1 + own / 256 % 250, own % 256, which);
}

std::vector<NetworkAddress> parsed(const std::string& text) {
  auto addresses = parse_addresses(text);
  EXPECT_TRUE(addresses.ok());
  return std::move(addresses.value());
}

TEST(Addresses, AreReadFromAList) {
  const auto addresses = parsed("127.0.0.7,fe80::1,10.1.2.3");
  ASSERT_EQ(addresses.size(), 3U);
  EXPECT_EQ(gid_of(addresses[0].address).raw[15], 7);
  EXPECT_GT(addresses[0].interface, 0U) << "all of 127 is loopback's";
  EXPECT_EQ(gid_of(addresses[1].address).raw[0], 0xfe);
  EXPECT_EQ(ipv4_of(std::span(addresses).subspan(1)), 0x0a010203U);
  EXPECT_TRUE(parsed("").empty());
  const auto wrong = parse_addresses("10.0.0.1,host");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().sentence().find("'host', which is no IP address"), std::string::npos);
}

TEST(Addresses, TheHostHasSome) {
  const auto addresses = addresses_of_host();
  ASSERT_FALSE(addresses.empty());
  for (const NetworkAddress& address : addresses) {
    EXPECT_GT(address.interface, 0U);
    EXPECT_GE(address.mtu, 576U);
  }
}

TEST(Addresses, APayloadLeavesRoomForItsHeaders) {
  EXPECT_EQ(payload_mtu(1500), IBV_MTU_1024);
  EXPECT_EQ(payload_mtu(9000), IBV_MTU_4096);
  EXPECT_EQ(payload_mtu(4096), IBV_MTU_2048);
  EXPECT_EQ(payload_mtu(65536), IBV_MTU_4096);
  EXPECT_EQ(payload_mtu(600), IBV_MTU_256);
}

TEST(Addresses, ALidLeadsToTheHostWithThatAddress) {
  const auto own = parsed("10.7.0.1");
  link::PortIdentity port;
  port.lid = lid_of(*ipv4_of(own));
  ibv_ah_attr address{};
  address.dlid = 0x0102;
  const auto way = way_to(address, port, own);
  ASSERT_TRUE(way.has_value());
  EXPECT_EQ(way->path.source, own[0].address);
  EXPECT_EQ(way->path.destination, parsed("10.7.1.2")[0].address);
  address.is_global = 1;
  const std::uint32_t global = htonl(0xc0a80105);
  std::memcpy(&address.grh.dgid.raw[12], &global, sizeof(global));
  EXPECT_EQ(way_to(address, port, own)->path.destination, parsed("192.168.1.5")[0].address);
}

TEST(Addresses, AGidOfRoceIsTheAddress) {
  const auto own = parsed("10.7.0.1,2001:db8::1");
  link::PortIdentity port;
  port.is_ethernet = true;
  for (const NetworkAddress& one : own) port.gids.push_back(gid_of(one.address));
  ibv_ah_attr address{};
  address.is_global = 1;
  address.grh.dgid = gid_of(parsed("2001:db8::2")[0].address);
  EXPECT_FALSE(way_to(address, port, own).has_value()) << "from IPv4 to IPv6";
  address.grh.sgid_index = 1;
  EXPECT_EQ(way_to(address, port, own)->path.source, own[1].address);
  address.grh.sgid_index = 2;
  EXPECT_FALSE(way_to(address, port, own).has_value());
  address = {};
  EXPECT_FALSE(way_to(address, port, own).has_value()) << "RoCE needs a GID";
}

/// A host of its own on an address of loopback.
class Site final : public link::Sink {
 public:
  explicit Site(int which, bool is_ethernet = true)
      : addresses(parsed(loopback(which))),
        fabric(fmt::format("test.udp.{}.{}", ::getpid(), ++made)),
        host(join()),
        link(*host, ports(is_ethernet)),
        number(*host->take()) {}

  void on_arrival(const qp::Arrival& arrival) override {
    ++arrivals;
    source_lid = arrival.source_lid;
    grh = arrival.grh;
    headers = arrival.packet.headers;
    from = arrival.host;
    is_marked = arrival.is_marked;
    payload.assign(arrival.packet.payload.size(), std::byte{0});
    const std::span<std::byte> whole(payload);
    EXPECT_TRUE(arrival.packet.payload.read({&whole, 1}));
  }
  /// Until a packet has come, for a second.
  bool wait_for(int count) {
    for (int i = 0; i < 1000 && arrivals < count; ++i) {
      if (!link.poll(*this, ++now_ns)) ::usleep(1000);
    }
    return arrivals == count;
  }
  ibv_ah_attr address_of(const Site& other) const {
    ibv_ah_attr address{};
    address.port_num = 1;
    address.is_global = 1;
    address.grh.dgid = gid_of(other.addresses[0].address);
    return address;
  }
  void send(const Site& to, std::span<const std::byte> bytes,
            Service service = Service::reliable_connection) {
    qp::Outgoing packet;
    packet.headers.opcode = {service, Operation::send_only};
    packet.headers.destination_qp = to.number;
    packet.headers.sequence = 77;
    packet.payload.add(bytes);
    link.send(packet, address_of(to));
    link.flush();
  }

  /// A datagram to the group with GID.
  void send_to_group(const ibv_gid& gid, std::span<const std::byte> bytes) {
    ibv_ah_attr address{};
    address.port_num = 1;
    address.is_global = 1;
    address.grh.dgid = gid;
    qp::Outgoing packet;
    packet.headers.opcode = {Service::unreliable_datagram, Operation::send_only};
    packet.headers.destination_qp = link::multicast_number;
    packet.payload.add(bytes);
    link.send(packet, address);
    link.flush();
  }

  std::unique_ptr<Host> join() {
    auto host_or = Host::join(fabric, [this] {
      auto sockets = open_sockets(addresses);
      EXPECT_TRUE(sockets.ok()) << sockets.error().sentence();
      return Network{addresses, std::move(sockets.value())};
    });
    return std::move(host_or.value());
  }
  std::vector<link::PortIdentity> ports(bool is_ethernet) const {
    link::PortIdentity port;
    port.is_ethernet = is_ethernet;
    port.gids = {gid_of(addresses[0].address)};
    port.lid = is_ethernet ? std::uint16_t{0} : lid_of(*ipv4_of(addresses));
    return {port};
  }

  static inline int made = 0;
  const std::vector<NetworkAddress> addresses;
  const std::string fabric;
  std::unique_ptr<Host> host;
  Junction link;
  const std::uint32_t number;
  std::uint64_t now_ns = 1;
  int arrivals = 0;
  wire::Headers headers;
  std::vector<std::byte> payload;
  std::optional<std::array<std::byte, qp::grh_bytes>> grh;
  std::uint16_t source_lid = 0;
  std::optional<wire::Address> from;
  bool is_marked = false;
};

std::vector<std::byte> numbered_bytes(std::size_t count) {
  std::vector<std::byte> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * 11 + i / 256);
  return out;
}

class JunctionTest : public ::testing::Test {
 protected:
  JunctionTest() {
    // As modify_qp would: from now on both look at their sockets.
    EXPECT_TRUE(here_.link.path_to(here_.address_of(there_), IBV_MTU_4096).has_value());
    EXPECT_TRUE(there_.link.path_to(there_.address_of(here_), IBV_MTU_4096).has_value());
  }
  Site here_{1};
  Site there_{2};
};

TEST_F(JunctionTest, PayloadsOfEveryLengthArrive) {
  int count = 0;
  for (const std::size_t bytes : {0UL, 1UL, 2UL, 3UL, 511UL, 513UL, 4095UL, 4096UL}) {
    const std::vector<std::byte> sent = numbered_bytes(bytes);
    here_.send(there_, sent);
    ASSERT_TRUE(there_.wait_for(++count)) << bytes;
    EXPECT_EQ(there_.payload, sent) << bytes;
    EXPECT_EQ(there_.headers.sequence, 77U);
  }
}

TEST_F(JunctionTest, ManyPacketsGoTogether) {
  const std::vector<std::byte> sent = numbered_bytes(100);
  for (int i = 0; i < 100; ++i) here_.send(there_, sent);
  EXPECT_TRUE(there_.wait_for(100));
}

TEST_F(JunctionTest, AProcessOfThisHostIsReachedWithoutSockets) {
  const std::vector<std::byte> sent = numbered_bytes(100);
  here_.send(here_, sent);
  EXPECT_TRUE(here_.wait_for(1));
  EXPECT_EQ(here_.payload, sent);
}

TEST_F(JunctionTest, EveryPacketTellsItsHost) {
  const std::vector<std::byte> sent = numbered_bytes(600);
  here_.send(there_, sent);
  ASSERT_TRUE(there_.wait_for(1));
  EXPECT_EQ(there_.from, here_.addresses[0].address);
  // The same for a packet that somebody else took out of the socket.
  here_.send(there_, sent);
  for (int i = 0; i < 1000 && !there_.link.has_mail(); ++i) {
    there_.link.on_socket_ready(0);
    ::usleep(1000);
  }
  there_.from.reset();
  ASSERT_TRUE(there_.wait_for(2));
  EXPECT_EQ(there_.from, here_.addresses[0].address);
  here_.send(here_, sent);
  ASSERT_TRUE(here_.wait_for(1));
  EXPECT_FALSE(here_.from.has_value()) << "it is of this host";
}

TEST_F(JunctionTest, AMarkOfASwitchArrives) {
  const std::vector<std::byte> sent = numbered_bytes(8);
  here_.send(there_, sent);
  ASSERT_TRUE(there_.wait_for(1));
  EXPECT_FALSE(there_.is_marked);
  // As a switch would have done it.
  const int congestion_experienced = 3;
  ASSERT_EQ(::setsockopt(here_.host->sockets()[0].get(), IPPROTO_IP, IP_TOS,
                         &congestion_experienced, sizeof(congestion_experienced)),
            0);
  here_.send(there_, sent);
  ASSERT_TRUE(there_.wait_for(2));
  EXPECT_TRUE(there_.is_marked);
}

TEST_F(JunctionTest, ADatagramTellsWhereItCameFrom) {
  here_.send(there_, numbered_bytes(8), Service::unreliable_datagram);
  ASSERT_TRUE(there_.wait_for(1));
  ASSERT_TRUE(there_.grh.has_value());
  EXPECT_TRUE(std::equal(there_.grh->begin() + 32, there_.grh->begin() + 36,
                         here_.addresses[0].address.begin() + 12));
  EXPECT_EQ((*there_.grh)[20], std::byte{0x45});
}

TEST(Junction, ADatagramOfInfiniBandTellsTheLid) {
  Site here(1, false);
  Site there(2, false);
  ibv_ah_attr address{};
  address.port_num = 1;
  address.dlid = lid_of(*ipv4_of(there.addresses));
  // Loopback's test addresses share the high half.
  ASSERT_TRUE(here.link.path_to(address, IBV_MTU_4096).has_value());
  there.host->network().is_in_use = 1;
  qp::Outgoing packet;
  packet.headers.opcode = {Service::unreliable_datagram, Operation::send_only};
  packet.headers.destination_qp = there.number;
  here.link.send(packet, address);
  here.link.flush();
  ASSERT_TRUE(there.wait_for(1));
  EXPECT_EQ(there.source_lid, lid_of(*ipv4_of(here.addresses)));
  EXPECT_FALSE(there.grh.has_value());
}

/// A group that no other test of this host uses.
ibv_gid test_group() {
  const auto own = static_cast<unsigned>(::getpid());
  return gid_of(parsed(fmt::format("239.77.{}.{}", own / 256 % 256, own % 256))[0].address);
}

TEST_F(JunctionTest, WhatIsForAGroupComesOnceToEveryHostThatHasJoinedIt) {
  const ibv_gid group = test_group();
  for (Site* site : {&here_, &there_}) ASSERT_TRUE(site->link.join(group));
  const std::vector<std::byte> sent = numbered_bytes(1000);
  for (int count = 1; count < 4; ++count) {
    here_.send_to_group(group, sent);
    for (Site* site : {&here_, &there_}) {
      ASSERT_TRUE(site->wait_for(count));
      EXPECT_EQ(site->payload, sent);
      ASSERT_TRUE(site->grh.has_value());
      EXPECT_EQ(link::destination_of(*site->grh), link::address_of(group));
    }
  }
  // What the system brings back to the sender has come by now, too, and is not taken again.
  EXPECT_FALSE(here_.wait_for(4));
}

TEST_F(JunctionTest, WhoHasLeftAGroupGetsNothingOfIt) {
  const ibv_gid group = test_group();
  ASSERT_TRUE(there_.link.join(group));
  there_.link.leave(group);
  here_.send_to_group(group, numbered_bytes(8));
  // The next one comes by the same interface.
  here_.send(there_, numbered_bytes(8));
  ASSERT_TRUE(there_.wait_for(1));
  EXPECT_EQ(there_.headers.opcode.service, Service::reliable_connection);
  ASSERT_TRUE(there_.link.join(group)) << "and may join it again";
  here_.send_to_group(group, numbered_bytes(8));
  EXPECT_TRUE(there_.wait_for(2));
}

TEST_F(JunctionTest, AThreadLooksWhereTheOneThatPolledHasDied) {
  {
    const auto dies = std::move(Host::join(there_.fabric).value());
    dies->seat_memory(dies->seat()).is_polled = 1;
  }
  there_.host->watch_sockets([this](std::size_t which) { there_.link.on_socket_ready(which); });
  here_.send(there_, numbered_bytes(8));
  for (int i = 0; i < 1000 && !there_.link.has_mail(); ++i) ::usleep(1000);
  EXPECT_TRUE(there_.link.has_mail());
  there_.host->stop_watching();
}

TEST_F(JunctionTest, AThreadLooksForWhatIsForAGroupEvenWhileOthersPoll) {
  const ibv_gid group = test_group();
  ASSERT_TRUE(there_.link.join(group));
  // As if it were another process of that host, which polls from the beginning.
  const auto other = std::move(Host::join(there_.fabric).value());
  std::atomic<std::uint32_t>& other_polls = other->seat_memory(other->seat()).is_polled;
  other_polls = 1;
  there_.host->watch_sockets([this](std::size_t which) { there_.link.on_socket_ready(which); },
                             there_.link.group_descriptor());
  for (int round = 0; round < 2; ++round) {
    here_.send_to_group(group, numbered_bytes(8));
    for (int i = 0; i < 1000 && !there_.link.has_mail(); ++i) ::usleep(1000);
    EXPECT_TRUE(there_.link.has_mail()) << other_polls;
    there_.link.poll(there_, 1);
    other_polls = 0;
  }
  there_.host->stop_watching();
}

TEST(Addresses, AGroupIsReachedFromAnAddressOfItsFamily) {
  const auto own = parsed("10.7.0.1,2001:db8::1");
  const auto groups = parsed("239.1.2.3,ff12:401b::1");
  link::PortIdentity port;
  port.lid = lid_of(*ipv4_of(own));
  ibv_ah_attr address{};
  address.is_global = 1;
  for (const std::size_t i : {0U, 1U}) {
    address.grh.dgid = gid_of(groups[i].address);
    const auto way = way_to(address, port, own);
    ASSERT_TRUE(way.has_value());
    EXPECT_EQ(way->path.source, own[i].address);
    EXPECT_EQ(way->path.destination, groups[i].address);
    EXPECT_FALSE(way->hops.has_value());
  }
  address.grh.hop_limit = 7;
  EXPECT_EQ(way_to(address, port, own)->hops, 7);
  EXPECT_FALSE(way_to(address, port, std::span(own).first(1)).has_value());
}

TEST_F(JunctionTest, WhatIsForNobodyIsDropped) {
  there_.host->give_back(there_.number);
  here_.send(there_, numbered_bytes(8));
  EXPECT_FALSE(there_.wait_for(1));
  EXPECT_EQ(there_.link.counters().dropped, 1U);
}

TEST_F(JunctionTest, WhatIsDamagedIsDropped) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(wire::roce_port);
  std::memcpy(&to.sin_addr, &there_.addresses[0].address[12], sizeof(to.sin_addr));
  for (const std::size_t bytes : {0UL, 3UL, 15UL, 16UL, 40UL, 4300UL}) {
    const std::vector<std::byte> junk(bytes, std::byte{4});
    ASSERT_EQ(::sendto(socket.get(), junk.data(), junk.size(), 0, reinterpret_cast<sockaddr*>(&to),
                       sizeof(to)),
              static_cast<ssize_t>(bytes));
  }
  here_.send(there_, numbered_bytes(8));
  EXPECT_TRUE(there_.wait_for(1)) << "what is whole comes all the same";
  EXPECT_EQ(there_.link.receiver_counters().wrong_checksum, 6U);
}

TEST_F(JunctionTest, AThreadLooksWhenNobodyPolls) {
  there_.host->network().is_in_use = 0;
  there_.host->watch_sockets([this](std::size_t which) { there_.link.on_socket_ready(which); });
  here_.send(there_, numbered_bytes(8));
  for (int i = 0; i < 1000 && !there_.link.has_mail(); ++i) ::usleep(1000);
  EXPECT_TRUE(there_.link.has_mail());
  there_.host->stop_watching();
}

TEST_F(JunctionTest, TheSocketsOutliveWhoeverOpenedThem) {
  // Two processes of one host; the first leaves.
  const std::string fabric = fmt::format("test.udp.shared.{}", ::getpid());
  const auto addresses = parsed(loopback(3));
  auto first = std::move(Host::join(fabric, [&] {
                           return Network{addresses, std::move(open_sockets(addresses).value())};
                         }).value());
  const auto second = std::move(Host::join(fabric).value());
  ASSERT_FALSE(second->sockets().empty());
  EXPECT_EQ(second->addresses()[0].address, addresses[0].address);
  first.reset();
  EXPECT_FALSE(open_sockets(addresses).ok()) << "the port is still taken";
}

}  // namespace
}  // namespace softrdma::udp
