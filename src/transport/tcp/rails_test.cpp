// Several connections with one peer, by several interfaces.
#include <gtest/gtest.h>

#include <array>

#include "transport/tcp/test_end.hpp"

namespace hawser::transport::tcp {
namespace {

constexpr ChannelKind by_tcp = ChannelKind::tcp;

/// As if of an interface that reaches but the one of another process that has this address.
InterfaceAddress part_of_loopback(const std::string& name, std::uint8_t last) {
  constexpr unsigned whole = 32;
  return {name, {.bytes = {127, 0, 0, last}}, whole};
}

using Interfaces = std::vector<InterfaceAddress>;
const Interfaces two = {part_of_loopback("one", 1), part_of_loopback("two", 2)};

Settings rail_settings(std::int64_t rails, bool encrypts = false) {
  Settings settings = test_settings(encrypts);
  settings.include = "";
  settings.rails = rails;
  return settings;
}

struct RailEnd : End<> {
  explicit RailEnd(std::uint32_t index, const Interfaces& interfaces = two, std::int64_t rails = 4)
      : End(index, rail_settings(rails), test_key(), interfaces) {}
};

/// Long frames, each of which is released once it has left.
class Stream {
 public:
  static constexpr std::size_t bytes = 60'000;

  Stream(RailEnd& from, TcpLink& link, RailEnd& to) : from_(from), link_(link), to_(to) {}

  void send(std::size_t frames) {
    const std::size_t wanted = arrived_ + frames;
    std::size_t sent = arrived_;
    const auto is_done = [&] {
      while (sent < wanted && send_one(sent)) ++sent;
      return to_.sink.arrivals.size() >= wanted;
    };
    ASSERT_TRUE(poll_until(is_done, from_, to_));
    arrived_ = wanted;
  }

  /// One that is to be released; null if there is no room.
  std::byte* send_kept(std::uint64_t number) {
    std::byte* const frame = link_.reserve(by_tcp, bytes);
    if (frame == nullptr) return nullptr;
    make_frame({frame, bytes}, number);
    link_.commit(by_tcp);
    return frame;
  }

 private:
  bool send_one(std::uint64_t number) {
    std::byte* const frame = send_kept(number);
    if (frame != nullptr) link_.release(by_tcp, frame);
    return frame != nullptr;
  }

  RailEnd& from_;
  TcpLink& link_;
  RailEnd& to_;
  std::size_t arrived_ = 0;
};

class TcpRails : public ::testing::Test {
 protected:
  RailEnd a{0};
  RailEnd b{1};
  TcpLink& link = a.connect(b);
};

TEST_F(TcpRails, APeerEarnsFurtherConnectionsByVolume) {
  settle(a, b);
  Stream stream(a, link, b);
  stream.send(4);
  settle(a, b);
  EXPECT_EQ(link.connections(), 1U);
  stream.send(20);
  ASSERT_TRUE(poll_until([&] { return link.connections() == 2; }, a, b));
  auto& back = static_cast<TcpLink&>(*b.sink.links.at(0));
  EXPECT_EQ(back.connections(), 2U);
  stream.send(200);
  EXPECT_EQ(b.sink.damaged, 0);
  EXPECT_FALSE(link.channels().has(ChannelKind::tcp_zero_copy)) << "a read uses but one";
  EXPECT_FALSE(back.channels().has(ChannelKind::tcp_zero_copy));
  EXPECT_EQ(a.transport->connections().now, 1U) << "it counts peers";
}

TEST_F(TcpRails, BytesAreCountedByInterface) {
  settle(a, b);
  Stream(a, link, b).send(20);
  ASSERT_TRUE(poll_until([&] { return link.connections() == 2; }, a, b));
  // B has dialled the second one: on loopback only who dials knows by the address which it is.
  TcpLink& back = static_cast<TcpLink&>(*b.sink.links.at(0));
  Stream stream(b, back, a);
  // Kept, so that the second goes by the connection that has less to carry.
  const std::array kept = {stream.send_kept(0), stream.send_kept(1)};
  for (std::byte* const frame : kept) {
    ASSERT_NE(frame, nullptr);
    back.release(by_tcp, frame);
  }
  ASSERT_TRUE(poll_until([&] { return a.sink.arrivals.size() == kept.size(); }, a, b));
  const std::vector<Transport::Traffic> traffic = b.transport->traffic();
  ASSERT_EQ(traffic.size(), two.size());
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    EXPECT_EQ(traffic[i].by, two[i].interface);
    EXPECT_GT(traffic[i].bytes_sent, Stream::bytes);
    EXPECT_LT(traffic[i].bytes_sent, 2 * Stream::bytes);
  }
}

TEST_F(TcpRails, AnotherConnectionTakesThePlaceOfOneThatBreaksWhichIsMadeAnew) {
  settle(a, b);
  Stream stream(a, link, b);
  stream.send(20);
  ASSERT_TRUE(poll_until([&] { return link.connections() == 2; }, a, b));
  for (const std::size_t which : {0U, 1U}) {
    a.sink.undelivered.clear();
    link.cut(which);
    ASSERT_TRUE(poll_until([&] { return !a.sink.undelivered.empty(); }, a, b));
    EXPECT_TRUE(link.channels().has(by_tcp)) << "another one is there";
    stream.send(2);
    ASSERT_TRUE(poll_until([&] { return link.connections() == 2; }, a, b));
    settle(a, b);
    EXPECT_EQ(static_cast<TcpLink&>(*b.sink.links.at(0)).connections(), 2U);
  }
  EXPECT_TRUE(a.sink.lost.empty() && b.sink.lost.empty());
}

TEST_F(TcpRails, AFrameOfTheOneThatBrokeIsSentAgainByTheOther) {
  settle(a, b);
  Stream(a, link, b).send(20);
  ASSERT_TRUE(poll_until([&] { return link.connections() == 2; }, a, b));
  std::vector<std::byte*> frames;
  for (std::uint64_t i = 0; i < 6; ++i) {
    std::byte* const frame = link.reserve(by_tcp, 60'000);
    ASSERT_NE(frame, nullptr);
    make_frame({frame, 60'000}, i);
    link.commit(by_tcp);
    frames.push_back(frame);
  }
  settle(a, b);
  link.cut(1);
  ASSERT_TRUE(poll_until([&] { return !a.sink.undelivered.empty(); }, a, b));
  int again = 0;
  for (std::byte* const frame : frames) {
    const Link::Resent resent = link.resend(by_tcp, frame, 60'000, false);
    EXPECT_NE(resent, Link::Resent::no_room);
    again += resent == Link::Resent::sent ? 1 : 0;
    link.release(by_tcp, frame);
  }
  EXPECT_GE(again, 1) << "both carry long frames";
  EXPECT_LT(again, 6) << "what the other one carries is under way";
  settle(a, b);
}

TEST(TcpRail, TheOrderAndNumberOfThePeersInterfacesDoNotMatter) {
  RailEnd a(0);
  RailEnd swapped(1, {two[1], two[0]});
  RailEnd single(2, {two[1]});
  TcpLink& to_swapped = a.connect(swapped);
  TcpLink& to_single = a.connect(single);
  settle(a, swapped, single);
  Stream(a, to_swapped, swapped).send(40);
  Stream(a, to_single, single).send(40);
  ASSERT_TRUE(poll_until([&] { return to_swapped.connections() == 2; }, a, swapped, single));
  settle(a, swapped, single);
  EXPECT_EQ(static_cast<TcpLink&>(*swapped.sink.links.at(0)).connections(), 2U);
  EXPECT_LE(to_single.connections(), 2U);
}

TEST(TcpRail, NoMoreAreOpenedThanTheUserWants) {
  RailEnd a(0, two, 1);
  RailEnd b(1);
  TcpLink& link = a.connect(b);
  settle(a, b);
  Stream(a, link, b).send(100);
  settle(a, b);
  EXPECT_EQ(link.connections(), 1U);
}

TEST(TcpRail, AllEndWhenNobodyUsesThem) {
  RailEnd a(0);
  RailEnd b(1);
  TcpLink& link = a.connect(b);
  settle(a, b);
  Stream(a, link, b).send(40);
  ASSERT_TRUE(poll_until([&] { return link.connections() == 2; }, a, b));
  link.rest_soon(platform::monotonic_ns());
  ASSERT_TRUE(poll_until(
      [&] { return a.transport->connections().now + b.transport->connections().now == 0; }, a, b));
  EXPECT_EQ(link.connections(), 0U);
  EXPECT_TRUE(link.is_at_rest());
  EXPECT_TRUE(b.sink.links.at(0)->is_at_rest());
  EXPECT_TRUE(b.sink.undelivered.empty());
}

TEST(TcpInterfaces, AreGroupedInTheirOrderWithoutLoopbackIfThereAreOthers) {
  const Interfaces chosen = {{"eth1", {.bytes = {10, 0, 0, 1}}, 24},
                             part_of_loopback("lo", 1),
                             {"eth0", {.bytes = {10, 1, 0, 1}}, 24},
                             {"eth1", {.bytes = {10, 2, 0, 1}}, 24}};
  const std::vector<Interface> interfaces = interfaces_of(chosen);
  ASSERT_EQ(interfaces.size(), 2U);
  EXPECT_EQ(interfaces[0].name, "eth1");
  EXPECT_EQ(interfaces[0].addresses.size(), 2U);
  EXPECT_EQ(interfaces[1].name, "eth0");
  EXPECT_EQ(interfaces_of({part_of_loopback("lo", 1)}).size(), 1U);
}

TEST(TcpInterfaces, PacketsLeaveByTheOneThatIsNearTheirEnd) {
  const InterfaceAddress eth0{"eth0", {.bytes = {10, 0, 0, 1}}, 24};
  const InterfaceAddress eth1{"eth1", {.bytes = {10, 0, 1, 1}}, 24};
  const auto interfaces = interfaces_of({eth0, eth1});
  const auto between = [&](const IpAddress& local, const IpAddress& remote) {
    return interface_between(interfaces, local, remote);
  };
  EXPECT_EQ(between(eth0.address, {.bytes = {10, 0, 0, 2}}), 0U);
  EXPECT_EQ(between(eth0.address, {.bytes = {10, 0, 1, 2}}), 1U) << "whatever their source";
  EXPECT_EQ(between(eth1.address, {.bytes = {10, 9, 9, 9}}), 1U);
  EXPECT_EQ(between({.bytes = {10, 7, 7, 7}}, {.bytes = {10, 9, 9, 9}}), std::nullopt);
}

TEST(TcpInterfaces, ThePeersAddressesInTheSameSubnetAreTriedAndThoseInUseLast) {
  const InterfaceAddress own{"eth0", {.bytes = {10, 0, 0, 1}}, 24};
  const Interface from{"eth0", {own}, 0};
  const auto v4 = [](std::uint8_t third, std::uint8_t last) {
    return IpAddress{.bytes = {10, 0, third, last}};
  };
  const Address peer{1, 7, {v4(1, 2), v4(0, 2), v4(0, 3), v4(0, 1)}};
  EXPECT_EQ(order_candidates_from(from, peer, {v4(0, 2)}, {own}, 8),
            (std::vector<IpAddress>{v4(0, 3), v4(0, 2)}))
      << "10.0.0.1 is this host, and 10.0.1.2 is for another interface";
  EXPECT_EQ(order_candidates_from(from, {1, 7, {v4(1, 2), v4(0, 1)}}, {}, {own}, 8),
            std::vector<IpAddress>{v4(1, 2)})
      << "there may be a route";
  EXPECT_TRUE(order_candidates_from(from, peer, {}, {own}, 7).empty()) << "it is on this host";
}

}  // namespace
}  // namespace hawser::transport::tcp
