#include "softrdma/fabric/host_link.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "softrdma/link/multicast.hpp"

namespace softrdma::fabric {
namespace {

using wire::Operation;
using wire::Service;

constexpr std::size_t long_bytes = 40000;

std::string fabric_of_links() {
  static int made = 0;
  return fmt::format("test.link.{}.{}", ::getpid(), ++made);
}

std::vector<link::PortIdentity> one_port() {
  link::PortIdentity port;
  port.lid = 9;
  port.gids.resize(1);
  port.gids[0].raw[15] = 9;
  return {port};
}

/// A process, as far as its link goes.
class Place final : public link::Sink {
 public:
  explicit Place(const std::string& fabric)
      : host(std::move(Host::join(fabric).value())),
        link(*host, one_port()),
        number(*host->take()) {}

  void on_arrival(const qp::Arrival& arrival) override {
    sequences.push_back(arrival.packet.headers.sequence);
    grh = arrival.grh;
    source_lid = arrival.source_lid;
    payload.assign(std::min(arrival.packet.payload.size(), read_bytes_max), std::byte{0});
    const std::span<std::byte> whole(payload);
    if (before_reading) before_reading();
    was_read = arrival.packet.payload.read({&whole, 1});
  }
  /// A packet of PAYLOAD to queue pair TO.
  void send(std::uint32_t to, std::span<const std::byte> bytes,
            Service service = Service::reliable_connection, std::uint32_t sequence = 0,
            bool is_global = false) {
    ibv_ah_attr address{};
    address.dlid = 9;
    address.port_num = 1;
    address.sl = 3;
    address.is_global = is_global ? 1 : 0;
    if (is_global) address.grh.dgid = one_port()[0].gids[0];
    qp::Outgoing packet;
    packet.headers.opcode = {service, Operation::send_only};
    packet.headers.destination_qp = to;
    packet.headers.sequence = sequence;
    packet.payload.add(bytes);
    link.send(packet, address);
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
  }
  bool poll() { return link.poll(*this, ++now_ns); }

  std::unique_ptr<Host> host;
  HostLink link;
  const std::uint32_t number;
  std::uint64_t now_ns = 1;
  std::vector<std::uint32_t> sequences;
  std::vector<std::byte> payload;
  std::optional<std::array<std::byte, qp::grh_bytes>> grh;
  std::uint16_t source_lid = 0;
  bool was_read = false;
  std::size_t read_bytes_max = SIZE_MAX;
  std::function<void()> before_reading;
};

std::vector<std::byte> counted_bytes(std::size_t count) {
  std::vector<std::byte> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 256);
  return out;
}

class HostLinkTest : public ::testing::Test {
 protected:
  const std::string fabric_ = fabric_of_links();
  Place here_{fabric_};
  Place there_{fabric_};
};

TEST_F(HostLinkTest, PayloadsOfEveryLengthArrive) {
  for (const std::size_t bytes : {0UL, 1UL, 512UL, 513UL, 4096UL, long_bytes, 65536UL}) {
    const std::vector<std::byte> sent = counted_bytes(bytes);
    here_.send(there_.number, sent);
    ASSERT_TRUE(there_.poll());
    EXPECT_TRUE(there_.was_read);
    EXPECT_EQ(there_.payload, sent) << bytes;
  }
  EXPECT_EQ(there_.link.counters().read_bytes, 513 + 4096 + long_bytes + 65536);
}

TEST_F(HostLinkTest, TheBeginningOfAPayloadCanBeReadAlone) {
  const std::vector<std::byte> sent = counted_bytes(long_bytes);
  const std::vector<std::byte> begin(sent.begin(), sent.begin() + 32);
  for (Place* to : {&there_, &here_}) {
    to->read_bytes_max = begin.size();
    here_.send(to->number, sent);
    ASSERT_TRUE(to->poll());
    EXPECT_TRUE(to->was_read);
    EXPECT_EQ(to->payload, begin);
  }
}

TEST_F(HostLinkTest, AProcessReachesItself) {
  const std::vector<std::byte> sent = counted_bytes(long_bytes);
  here_.send(here_.number, sent);
  ASSERT_TRUE(here_.poll());
  EXPECT_EQ(here_.payload, sent);
  EXPECT_FALSE(there_.poll());
}

TEST_F(HostLinkTest, WhatIsNotAcknowledgedIsCopiedAtOnce) {
  const std::vector<std::byte> wanted = counted_bytes(4096);
  std::vector<std::byte> sent = wanted;
  here_.send(there_.number, sent, Service::unreliable_datagram, 0, true);
  std::ranges::fill(sent, std::byte{0});
  ASSERT_TRUE(there_.poll());
  EXPECT_EQ(there_.payload, wanted);
  EXPECT_EQ(there_.source_lid, 9);
  ASSERT_TRUE(there_.grh.has_value());
  ibv_grh header;
  std::memcpy(&header, there_.grh->data(), sizeof(header));
  EXPECT_EQ(header.sgid.raw[15], 9);
  here_.send(there_.number, wanted, Service::unreliable_datagram);
  ASSERT_TRUE(there_.poll());
  EXPECT_FALSE(there_.grh.has_value());
}

ibv_gid group_gid(std::uint8_t last) {
  ibv_gid gid{};
  gid.raw[0] = 0xff;
  gid.raw[1] = 0x0e;
  gid.raw[15] = last;
  return gid;
}

TEST_F(HostLinkTest, WhatIsForAGroupComesToAllThatHaveJoinedIt) {
  Place other(fabric_);
  std::vector<std::byte> sent = counted_bytes(4096);
  const std::vector<std::byte> wanted = sent;
  for (Place* member : {&here_, &there_}) EXPECT_TRUE(member->link.join(group_gid(1)));
  EXPECT_TRUE(other.link.join(group_gid(2)));
  here_.send_to_group(group_gid(1), sent);
  std::ranges::fill(sent, std::byte{0});
  for (Place* member : {&here_, &there_}) {
    ASSERT_TRUE(member->poll());
    EXPECT_EQ(member->payload, wanted);
    ASSERT_TRUE(member->grh.has_value());
    EXPECT_EQ(link::destination_of(*member->grh), link::address_of(group_gid(1)));
  }
  EXPECT_FALSE(other.poll());
  there_.link.leave(group_gid(1));
  here_.send_to_group(group_gid(1), sent);
  EXPECT_TRUE(here_.poll());
  EXPECT_FALSE(there_.poll());
}

TEST_F(HostLinkTest, GroupsThatShareABitAreLeftOneByOne) {
  // Bits are few: of so many groups some share one.
  constexpr std::uint8_t groups = 200;
  for (std::uint8_t i = 0; i < groups; ++i) there_.link.join(group_gid(i));
  for (std::uint8_t i = 1; i < groups; ++i) there_.link.leave(group_gid(i));
  here_.send_to_group(group_gid(0), counted_bytes(8));
  EXPECT_TRUE(there_.poll());
  there_.link.leave(group_gid(0));
  here_.send_to_group(group_gid(0), counted_bytes(8));
  EXPECT_FALSE(there_.poll());
}

TEST_F(HostLinkTest, AFullInboxGoesWithoutWhatIsForItsGroup) {
  there_.link.join(group_gid(1));
  ibv_ah_attr address{};
  for (std::uint32_t i = 0; i <= slot_count; ++i) {
    EXPECT_TRUE(here_.link.has_room({&address, link::multicast_number}));
    here_.send_to_group(group_gid(1), counted_bytes(8));
  }
  EXPECT_EQ(here_.link.counters().without_room, 1U);
  EXPECT_FALSE(here_.link.deadline_ns().has_value()) << "nothing is held";
}

TEST_F(HostLinkTest, WhatIsForAGroupIsNotLeftToTheDead) {
  {
    Place dead(fabric_);
    dead.link.join(group_gid(1));
  }
  here_.send_to_group(group_gid(1), counted_bytes(8));
  EXPECT_EQ(here_.link.counters().sent, 0U);
  Place next(fabric_);
  here_.send_to_group(group_gid(1), counted_bytes(8));
  EXPECT_FALSE(next.poll()) << "its groups are its own";
}

TEST_F(HostLinkTest, WhatTheReceiverMayNotReadIsCopied) {
  there_.host->seat_memory(there_.host->seat()).cannot_read[here_.host->seat()] = 1;
  const std::vector<std::byte> sent = counted_bytes(65536);
  here_.send(there_.number, sent);
  ASSERT_TRUE(there_.poll());
  EXPECT_EQ(there_.payload, sent);
  EXPECT_EQ(there_.link.counters().read_bytes, 0U);
}

TEST_F(HostLinkTest, AReceiverThatMayNotReadSaysSo) {
  // A process number that means another process: its memory does not hold the cookie.
  here_.host->seat_memory(here_.host->seat()).cookie_address = 8;
  const std::vector<std::byte> sent = counted_bytes(long_bytes);
  here_.send(there_.number, sent);
  ASSERT_TRUE(there_.poll());
  EXPECT_FALSE(there_.was_read);
  here_.send(there_.number, sent);
  ASSERT_TRUE(there_.poll());
  EXPECT_TRUE(there_.was_read);
  EXPECT_EQ(there_.payload, sent);
}

TEST_F(HostLinkTest, WithdrawnMemoryIsNotRead) {
  const std::vector<std::byte> sent = counted_bytes(long_bytes);
  const std::vector<std::byte> other = counted_bytes(long_bytes);
  here_.send(there_.number, sent);
  here_.link.withdraw(other);
  ASSERT_TRUE(there_.poll());
  EXPECT_TRUE(there_.was_read) << "the other memory was withdrawn";
  here_.send(there_.number, sent);
  here_.link.withdraw(std::span(sent).subspan(long_bytes - 1));
  ASSERT_TRUE(there_.poll());
  EXPECT_FALSE(there_.was_read);
  here_.send(there_.number, sent);
  there_.before_reading = [&] { here_.link.withdraw_all(); };
  ASSERT_TRUE(there_.poll());
  EXPECT_FALSE(there_.was_read);
}

TEST_F(HostLinkTest, AFullInboxHoldsTheSenderUp) {
  const qp::Destination destination{nullptr, there_.number};
  std::uint32_t sent = 0;
  for (; here_.link.has_room(destination); ++sent)
    here_.send(there_.number, counted_bytes(8), Service::reliable_connection, sent);
  EXPECT_EQ(sent, slot_count);
  // One that comes all the same, as if another process had been quicker, is late but not lost.
  here_.send(there_.number, counted_bytes(600), Service::unreliable_connection, sent++);
  EXPECT_TRUE(here_.link.deadline_ns().has_value());
  while (there_.poll()) {
  }
  EXPECT_FALSE(here_.link.has_room(destination)) << "what is held goes first";
  here_.poll();
  EXPECT_TRUE(here_.link.has_room(destination));
  there_.poll();
  std::vector<std::uint32_t> all(sent);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(there_.sequences, all);
  EXPECT_EQ(there_.payload, counted_bytes(600));
}

TEST_F(HostLinkTest, NobodyIsReachedWithoutANumberOrAnAddress) {
  here_.send(0xabcdef, counted_bytes(8));
  EXPECT_FALSE(there_.poll());
  ibv_ah_attr address{};
  address.port_num = 1;
  address.dlid = 10;
  EXPECT_FALSE(here_.link.path_to(address, IBV_MTU_4096).has_value());
  address.dlid = 9;
  EXPECT_TRUE(here_.link.path_to(address, IBV_MTU_4096).has_value());
}

TEST_F(HostLinkTest, RoomIsThereForTheDead) {
  const std::uint32_t number = there_.number;
  const qp::Destination destination{nullptr, number};
  while (here_.link.has_room(destination)) here_.send(number, counted_bytes(8));
  there_.host.reset();
  EXPECT_TRUE(here_.link.has_room(destination));
}

TEST_F(HostLinkTest, WhatADeadProcessLeftHalfDoneIsPassed) {
  std::uint16_t seat;
  {
    const Place dies(fabric_);
    seat = dies.host->seat();
    ASSERT_TRUE(there_.host->inbox(there_.host->seat()).claim(seat).has_value());
  }
  here_.send(there_.number, counted_bytes(8));
  EXPECT_FALSE(there_.poll());
  ASSERT_TRUE(there_.link.deadline_ns().has_value());
  there_.now_ns += 2'000'000;
  there_.poll();
  there_.poll();
  EXPECT_EQ(there_.sequences.size(), 1U);
}

TEST_F(HostLinkTest, WhatIsNoPacketIsDropped) {
  Inbox inbox = here_.host->inbox(there_.host->seat());
  const auto leave = [&](const std::function<void(Slot&)>& spoil) {
    here_.send(there_.number, counted_bytes(8));
    Slot& slot = *inbox.front();
    spoil(slot);
    there_.poll();
  };
  leave([](Slot& slot) { slot.head.header_bytes = 255; });
  leave([](Slot& slot) { slot.head.header_bytes = 3; });
  leave([](Slot& slot) { slot.head.payload_bytes = body_bytes + 1; });
  leave([](Slot& slot) { slot.head.form = Form::pieces; });
  leave([](Slot& slot) { slot.head.form = Form::chunks; });
  leave([](Slot& slot) { slot.head.form = static_cast<Form>(77); });
  EXPECT_EQ(there_.link.counters().malformed, 6U);
  EXPECT_TRUE(there_.sequences.empty());
}

}  // namespace
}  // namespace softrdma::fabric
