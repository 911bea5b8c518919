// Connections that nobody uses, too many of them, and processes that may have no more descriptors.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <unordered_map>

#include "transport/tcp/test_end.hpp"

namespace hawser::transport::tcp {
namespace {

constexpr ChannelKind kind = ChannelKind::tcp;

/// Knows where everybody is.
class AddressSink : public RecordingSink {
 public:
  std::vector<std::byte> address_of(const Identity& peer, std::string_view) override {
    return addresses[peer];
  }
  std::unordered_map<Identity, std::vector<std::byte>> addresses;
};

struct IdleEnd : End<AddressSink> {
  using End::End;
  /// This process can look up where OTHER is.
  void know(IdleEnd& other) {
    const auto address = *other.transport->address();
    sink.addresses[other.self].assign(address.begin(), address.end());
  }
  TcpLink& meet(IdleEnd& other) {
    know(other);
    other.know(*this);
    return connect(other);
  }
  [[nodiscard]] Transport::PeerConnections counts() const { return transport->connections(); }
};

Settings settings_for(std::int64_t idle_s, std::int64_t connections_max = 0) {
  Settings settings = test_settings();
  settings.idle_s = idle_s;
  settings.connections_max = connections_max;
  return settings;
}

bool send(Link& link, std::uint64_t number) {
  constexpr std::size_t bytes = 100;
  std::byte* const frame = link.reserve(kind, bytes);
  if (frame == nullptr) return false;
  make_frame({frame, bytes}, number);
  link.commit(kind);
  link.release(kind, frame);
  return true;
}

TEST(IdleConnection, EndsByAgreementAndIsMadeAnewByWhoeverSendsFirst) {
  for (const bool by_caller : {true, false}) {
    IdleEnd a(0, settings_for(1));
    IdleEnd b(1, settings_for(1));
    TcpLink& link = a.meet(b);
    settle(a, b);
    ASSERT_TRUE(send(link, 1));
    ASSERT_TRUE(poll_until([&] { return a.counts().now == 0 && b.counts().now == 0; }, a, b));
    EXPECT_EQ(a.counts().rested, 1U);
    EXPECT_EQ(b.counts().rested, 1U);
    TcpLink& back = static_cast<TcpLink&>(*b.sink.links.at(0));
    EXPECT_TRUE(link.is_at_rest());
    EXPECT_TRUE(back.is_at_rest());
    EXPECT_TRUE(link.channels().has(kind)) << "for the layer above there is but no room";
    EXPECT_TRUE(a.transport->is_drained());
    TcpLink& sender = by_caller ? link : back;
    EXPECT_FALSE(send(sender, 2));
    EXPECT_EQ((by_caller ? a : b).transport->deadline_ns(), 0U);
    ASSERT_TRUE(poll_until([&] { return a.counts().now == 1 && b.counts().now == 1; }, a, b));
    EXPECT_TRUE(send(sender, 2));
    settle(a, b);
    EXPECT_EQ((by_caller ? b : a).sink.arrivals.size(), by_caller ? 2U : 1U);
    EXPECT_EQ(a.counts().opened, 2U);
    EXPECT_TRUE(a.sink.lost.empty() && b.sink.lost.empty());
    EXPECT_TRUE(a.sink.undelivered.empty() && b.sink.undelivered.empty());
  }
}

TEST(IdleConnection, StaysWhileAFrameIsNotReleasedOrThePeersAddressIsUnknown) {
  IdleEnd a(0, settings_for(1));
  IdleEnd b(1, settings_for(0));
  TcpLink& link = a.connect(b);
  settle(a, b);
  std::byte* const frame = link.reserve(kind, 8);
  make_frame({frame, 8}, 1);
  link.commit(kind);
  constexpr std::uint64_t wait_ns = 1'500'000'000;
  std::uint64_t until_ns = platform::monotonic_ns() + wait_ns;
  const auto is_over = [&] { return platform::monotonic_ns() >= until_ns; };
  poll_until(is_over, a, b);
  EXPECT_EQ(a.counts().now, 1U);
  link.release(kind, frame);
  until_ns = platform::monotonic_ns() + wait_ns;
  poll_until(is_over, a, b);
  EXPECT_EQ(a.counts().now, 1U) << "b could not make it anew";
  b.know(a);
  send(link, 2);
  ASSERT_TRUE(poll_until([&] { return a.counts().now == 0 && b.counts().now == 0; }, a, b));
}

TEST(IdleConnection, StaysOrIsMadeAnewWhileSomebodyWaitsForThePeer) {
  for (const bool by_caller : {true, false}) {
    IdleEnd a(0, settings_for(1));
    IdleEnd b(1, settings_for(1));
    TcpLink& link = a.meet(b);
    settle(a, b);
    Link& back = *b.sink.links.at(0);
    ASSERT_TRUE(poll_until([&] { return a.counts().now == 0 && b.counts().now == 0; }, a, b));
    (by_caller ? static_cast<Link&>(link) : back)
        .keep_in_touch(platform::monotonic_ns() + 2'500'000'000);
    ASSERT_TRUE(poll_until([&] { return a.counts().now == 1 && b.counts().now == 1; }, a, b));
    const std::uint64_t until_ns = platform::monotonic_ns() + 1'700'000'000;
    poll_until([&] { return platform::monotonic_ns() >= until_ns; }, a, b);
    EXPECT_EQ(a.counts().now, 1U);
    EXPECT_EQ(b.counts().now, 1U) << "both sides have been idle for long enough";
    ASSERT_TRUE(poll_until([&] { return a.counts().now == 0 && b.counts().now == 0; }, a, b))
        << "nobody waits any more";
    EXPECT_EQ(a.counts().rested, 2U);
  }
}

TEST(IdleConnection, WhoWaitsForOneThatHasVanishedIsTold) {
  Settings hasty = settings_for(1);
  hasty.timeout_s = 1;
  IdleEnd a(0, hasty);
  auto b = std::make_unique<IdleEnd>(1, hasty);
  TcpLink& link = a.meet(*b);
  settle(a, *b);
  ASSERT_TRUE(poll_until([&] { return a.counts().now == 0 && b->counts().now == 0; }, a, *b));
  b.reset();
  link.keep_in_touch(platform::monotonic_ns() + 10'000'000'000);
  ASSERT_TRUE(poll_until([&] { return !a.sink.lost.empty(); }, a));
}

/// Its numbers would mean nothing to the peer: it is turned away until it gives up.
TEST(ForgottenLink, CanNotBeGoneOnWithByWhoRemembersIt) {
  IdleEnd a(0, settings_for(0));
  Settings hasty = settings_for(0);
  hasty.timeout_s = 1;
  IdleEnd b(1, hasty);
  b.meet(a);
  settle(a, b);
  a.transport->forget(b.self);
  EXPECT_EQ(a.counts().now, 0U);
  ASSERT_TRUE(poll_until([&] { return !b.sink.lost.empty(); }, a, b));
  EXPECT_GT(a.transport->turned_away(), 0U);
  EXPECT_EQ(a.counts().opened, 1U);
}

/// Who needs the room does not ask whether the other one could connect.
TEST(IdleConnection, APeerThatCanNotConnectItselfIsNotLostForIt) {
  IdleEnd a(0, settings_for(0));
  IdleEnd b(1, settings_for(0));
  TcpLink& link = a.connect(b);
  settle(a, b);
  link.rest_soon(platform::monotonic_ns());
  ASSERT_TRUE(poll_until([&] { return a.counts().now == 0 && b.counts().now == 0; }, a, b));
  EXPECT_TRUE(b.sink.links.at(0)->is_at_rest());
  EXPECT_TRUE(b.sink.lost.empty());
}

TEST(IdleConnection, BeyondTheLimitTheOneUsedLeastRecentlyHasToGo) {
  IdleEnd hub(9, settings_for(0, 2));
  std::vector<std::unique_ptr<IdleEnd>> peers;
  std::vector<TcpLink*> links;
  for (std::uint32_t i = 0; i < 2; ++i) {
    peers.push_back(std::make_unique<IdleEnd>(i, settings_for(0)));
    links.push_back(&hub.meet(*peers[i]));
    settle(hub, *peers[i]);
  }
  send(*links[0], 1);
  IdleEnd third(3, settings_for(0));
  TcpLink& link = third.meet(hub);
  ASSERT_TRUE(poll_until([&] { return link.channels().has(kind) && hub.counts().rested == 1; }, hub,
                         *peers[0], *peers[1], third));
  EXPECT_EQ(hub.counts().now, 2U);
  EXPECT_TRUE(links[1]->is_at_rest());
  EXPECT_FALSE(links[0]->is_at_rest());
}

/// This process may have as many descriptors as it has now and MORE, for as long as this lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(next) + more;
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

class Shortage : public ::testing::Test {
 protected:
  /// FIRST and HUB are connected. The sanitizer wants descriptors of its own for what it sees for
  /// the first time, so all has run once before there are none.
  void SetUp() override {
    EXPECT_FALSE(fmt::format("{}", 1).empty());
    link = &hub.connect(first);
    settle(hub, first);
  }
  void let_rest() {
    hub.know(first);
    first.know(hub);
  }

  IdleEnd hub{9, settings_for(0)};
  IdleEnd first{0, settings_for(0)};
  IdleEnd second{1, settings_for(0)};
  TcpLink* link = nullptr;
};

TEST_F(Shortage, WhoComesIsLetInOnceAnIdleConnectionHasEnded) {
  let_rest();
  const FewDescriptors few(1);  // for the one who connects; who accepts has none
  TcpLink& other = second.meet(hub);
  ASSERT_TRUE(poll_until([&] { return other.channels().has(kind); }, hub, first, second));
  EXPECT_EQ(hub.counts().rested, 1U);
  EXPECT_EQ(hub.counts().now, 1U);
}

TEST_F(Shortage, AProcessWithoutDescriptorsIsNotKeptAwakeByWhoKnocks) {
  const FewDescriptors few(1);
  second.meet(hub);
  std::uint64_t busy_rounds = 0;
  const std::uint64_t until_ns = platform::monotonic_ns() + 200'000'000;
  const std::array descriptors = {hub.transport->descriptor()};
  while (platform::monotonic_ns() < until_ns) {
    second.transport->arm();
    second.transport->progress();
    hub.transport->arm();
    busy_rounds += hub.transport->progress() ? 1 : 0;
    platform::wait_for_any(descriptors, 1'000'000);
  }
  EXPECT_LE(busy_rounds, 10U);
  EXPECT_GE(busy_rounds, 1U);
}

TEST_F(Shortage, WhoConnectsEndsAnIdleConnectionOfItsOwn) {
  let_rest();
  // Both ends of a connection are of this process here: the end of one makes room for the other.
  const FewDescriptors none(0);
  TcpLink& other = hub.meet(second);
  ASSERT_TRUE(poll_until([&] { return other.channels().has(kind); }, hub, first, second));
  EXPECT_EQ(hub.counts().rested, 1U);
  EXPECT_TRUE(hub.sink.lost.empty());
}

/// It has no room to wait for peers that compute.
TEST_F(Shortage, APeerThatDoesNotAnswerIsNotWaitedFor) {
  let_rest();
  link->rest_soon(platform::monotonic_ns());
  ASSERT_TRUE(poll_until([&] { return hub.counts().now == 0; }, hub));
  EXPECT_TRUE(link->is_at_rest());
  ASSERT_TRUE(poll_until([&] { return first.counts().now == 0; }, first));
  EXPECT_EQ(first.counts().rested, 1U) << "it hears why";
  EXPECT_TRUE(first.sink.undelivered.empty());
}

}  // namespace
}  // namespace hawser::transport::tcp
