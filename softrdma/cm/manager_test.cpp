#include "softrdma/cm/manager.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace softrdma::cm {
namespace {

constexpr std::uint64_t way_ns = 1000;
constexpr std::uint64_t service = 0x0106'1234;
constexpr std::uint64_t never = ~std::uint64_t{0};

wire::Address address_number(unsigned number) {
  wire::Address address{};
  address[15] = static_cast<std::byte>(number);
  return address;
}

/// Managers with a network between them, which loses and repeats from a seed.
class Network {
 public:
  explicit Network(std::uint64_t seed = 0, unsigned lost_percent = 0)
      : random_(seed), lost_percent_(lost_percent) {}

  struct Seen {
    std::uint32_t connection;
    Event event;
  };

  class Host final : public ManagerHost {
   public:
    Host(Network& network, unsigned number)
        : network_(network),
          address_(address_number(number)),
          manager_({.process = static_cast<std::uint16_t>(number),
                    .adapter_guid = number,
                    .seed = number},
                   *this) {}
    Manager& manager() { return manager_; }
    [[nodiscard]] const wire::Address& address() const { return address_; }
    [[nodiscard]] std::size_t count(EventType type) const {
      return static_cast<std::size_t>(
          std::ranges::count_if(seen, [&](const Seen& one) { return one.event.type == type; }));
    }
    [[nodiscard]] const Seen& first(EventType type) const {
      return *std::ranges::find_if(seen, [&](const Seen& one) { return one.event.type == type; });
    }

    std::vector<Seen> seen;
    bool refuses_all = true;
    std::function<void(const Seen&)> react = [](const Seen&) {};

   private:
    void send(const Datagram& datagram, const wire::Address& to) override {
      network_.carry(datagram, address_, to);
    }
    void on_event(std::uint32_t connection, const wire::Address& /*peer*/,
                  const Event& event) override {
      seen.push_back({connection, event});
      network_.later([this, one = seen.back()] { react(one); });
    }
    bool refuses(std::uint64_t /*service*/) override { return refuses_all; }

    Network& network_;
    const wire::Address address_;
    Manager manager_;
  };

  Host& add_host() {
    return *hosts_.emplace_back(
        std::make_unique<Host>(*this, static_cast<unsigned>(hosts_.size() + 1)));
  }
  /// Until UNTIL_NS, or nothing happens any more.
  void run(std::uint64_t until_ns = never) {
    for (;;) {
      std::uint64_t next_ns = waiting_.empty() ? never : waiting_.begin()->first;
      for (const auto& host : hosts_)
        next_ns = std::min(next_ns, host->manager().deadline_ns().value_or(never));
      if (next_ns == never || next_ns > until_ns) return;
      now_ns_ = std::max(now_ns_, next_ns);
      for (const auto& host : hosts_) host->manager().on_time(now_ns_);
      while (!waiting_.empty() && waiting_.begin()->first <= now_ns_) {
        const auto action = waiting_.begin()->second;
        waiting_.erase(waiting_.begin());
        action();
      }
    }
  }
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }

  std::function<bool(const Message&)> loses = [](const Message&) { return false; };

 private:
  void later(std::function<void()> action) { waiting_.emplace(now_ns_ + 1, std::move(action)); }
  void carry(const Datagram& datagram, const wire::Address& from, const wire::Address& to) {
    if (loses(*parse(datagram)) || random_() % 100 < lost_percent_) return;
    const int copies = random_() % 100 < lost_percent_ ? 2 : 1;
    for (int i = 0; i < copies; ++i)
      waiting_.emplace(now_ns_ + way_ns + random_() % way_ns, [this, datagram, from, to] {
        for (const auto& host : hosts_)
          if (host->address() == to) host->manager().on_datagram(datagram, from, now_ns_);
      });
  }

  std::mt19937_64 random_;
  const unsigned lost_percent_;
  std::uint64_t now_ns_ = 1;
  std::multimap<std::uint64_t, std::function<void()>> waiting_;
  std::vector<std::unique_ptr<Host>> hosts_;
};

using Host = Network::Host;

ConnectRequest request_to(std::uint64_t wanted) {
  return {.service = wanted,
          .queue_pair = 17,
          .responder_resources = 3,
          .initiator_depth = 4,
          .retry_count = 5,
          .path_mtu = 3};
}

/// Accepts what is asked for, confirms what is accepted, and says no disconnection twice.
void be_usual(Network& network, Host& host) {
  host.react = [&](const Network::Seen& seen) {
    Manager& manager = host.manager();
    if (seen.event.type == EventType::request)
      manager.accept(seen.connection,
                     {.queue_pair = 18, .responder_resources = 1, .initiator_depth = 2},
                     network.now_ns());
    if (seen.event.type == EventType::reply) manager.confirm(seen.connection);
    if (seen.event.type == EventType::disconnected)
      manager.disconnect(seen.connection, network.now_ns());
    if (seen.event.type == EventType::service_request)
      manager.answer(seen.connection, {.queue_pair = 19, .queue_key = 20}, network.now_ns());
  };
}

struct Pair {
  explicit Pair(std::uint64_t seed = 0, unsigned lost_percent = 0) : network(seed, lost_percent) {
    be_usual(network, client);
    be_usual(network, server);
    server.manager().listen(service);
  }
  std::uint32_t connect() {
    return *client.manager().connect(request_to(service), server.address(), network.now_ns());
  }

  Network network;
  Host& client = network.add_host();
  Host& server = network.add_host();
};

TEST(CmManager, ConnectionIsMadeAndBothKnowTheOtherQueuePair) {
  Pair pair;
  const std::uint32_t active = pair.connect();
  pair.network.run();
  ASSERT_EQ(pair.server.count(EventType::established), 1U);
  const std::uint32_t passive = pair.server.first(EventType::request).connection;
  const QueuePairTerms ours = pair.client.manager().find(active)->terms();
  const QueuePairTerms theirs = pair.server.manager().find(passive)->terms();
  EXPECT_EQ(ours.peer, 18U);
  EXPECT_EQ(theirs.peer, 17U);
  EXPECT_EQ(ours.send_sequence, theirs.receive_sequence);
  EXPECT_EQ(theirs.send_sequence, ours.receive_sequence);
  EXPECT_EQ(ours.responder_resources, 2);
  EXPECT_EQ(ours.initiator_depth, 1);
  EXPECT_EQ(theirs.path_mtu, 3);
  const Event& request = pair.server.first(EventType::request).event;
  EXPECT_EQ(request.responder_resources, 4);
  EXPECT_EQ(request.initiator_depth, 3);
}

TEST(CmManager, DisconnectionIsToldOnBothSidesAndNothingStays) {
  Pair pair;
  const std::uint32_t active = pair.connect();
  pair.network.run();
  EXPECT_TRUE(pair.client.manager().disconnect(active, pair.network.now_ns()));
  pair.network.run();
  for (Host* host : {&pair.client, &pair.server}) {
    EXPECT_EQ(host->count(EventType::disconnected), 1U);
    EXPECT_EQ(host->count(EventType::time_wait_over), 1U);
    EXPECT_EQ(host->manager().size(), 0U);
  }
}

TEST(CmManager, EveryConnectionIsMadeAndEndedOnceThoughMessagesAreLostAndRepeated) {
  constexpr unsigned lost_percent = 20;
  constexpr std::size_t connections = 8;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed, lost_percent);
    std::vector<std::uint32_t> active;
    for (std::size_t i = 0; i < connections; ++i) active.push_back(pair.connect());
    pair.network.run();
    EXPECT_EQ(pair.client.count(EventType::reply), connections);
    EXPECT_EQ(pair.server.count(EventType::request), connections);
    EXPECT_EQ(pair.server.count(EventType::established), connections);
    for (const std::uint32_t one : active)
      EXPECT_TRUE(pair.client.manager().disconnect(one, pair.network.now_ns()));
    pair.network.run();
    for (Host* host : {&pair.client, &pair.server}) {
      EXPECT_EQ(host->count(EventType::disconnected), connections);
      EXPECT_EQ(host->count(EventType::unreachable), 0U);
      EXPECT_EQ(host->count(EventType::rejected), 0U);
      EXPECT_EQ(host->manager().size(), 0U);
    }
  }
}

TEST(CmManager, BothMayDisconnectAtOnce) {
  Pair pair;
  const std::uint32_t active = pair.connect();
  pair.network.run();
  pair.client.manager().disconnect(active, pair.network.now_ns());
  pair.server.manager().disconnect(pair.server.first(EventType::request).connection,
                                   pair.network.now_ns());
  pair.network.run();
  EXPECT_EQ(pair.client.count(EventType::disconnected), 1U);
  EXPECT_EQ(pair.server.count(EventType::disconnected), 1U);
}

TEST(CmManager, WhoRejectsSaysWhyAndGivesData) {
  Pair pair;
  const std::array<std::byte, 2> data{std::byte{1}, std::byte{2}};
  pair.server.react = [&](const Network::Seen& seen) {
    if (seen.event.type == EventType::request)
      pair.server.manager().reject(seen.connection, reason::consumer, data, pair.network.now_ns());
  };
  pair.connect();
  pair.network.run();
  const Event& event = pair.client.first(EventType::rejected).event;
  EXPECT_EQ(event.status, reason::consumer);
  EXPECT_EQ(event.private_data[1], std::byte{2});
  EXPECT_EQ(pair.server.manager().size(), 0U);
}

TEST(CmManager, RejectionThatWasLostIsGivenAgainAndNobodyIsAskedAgain) {
  Pair pair;
  pair.server.react = [&](const Network::Seen& seen) {
    if (seen.event.type == EventType::request)
      pair.server.manager().reject(seen.connection, reason::consumer, {}, pair.network.now_ns());
  };
  int delays = 0;
  int rejections = 0;
  pair.network.loses = [&](const Message& message) {
    if (std::holds_alternative<Delay>(message)) return ++delays == 1;
    return std::holds_alternative<Rejection>(message) && ++rejections == 1;
  };
  pair.connect();
  pair.network.run();
  EXPECT_EQ(pair.client.count(EventType::rejected), 1U);
  EXPECT_EQ(pair.server.count(EventType::request), 1U);
}

TEST(CmManager, ServiceThatNobodyOffersIsRefusedWhenItIsWantedAgain) {
  Pair pair;
  pair.client.manager().connect(request_to(service + 1), pair.server.address(),
                                pair.network.now_ns());
  pair.network.run(pair.network.now_ns() + 10 * way_ns);
  EXPECT_EQ(pair.client.count(EventType::rejected), 0U);
  pair.network.run();
  EXPECT_EQ(pair.client.first(EventType::rejected).event.status, reason::unknown_service);
}

TEST(CmManager, ListenerThatComesLateIsFoundByTheNextRequest) {
  Pair pair;
  pair.server.manager().ignore(service);
  pair.connect();
  pair.network.run(pair.network.now_ns() + 10 * way_ns);
  pair.server.manager().listen(service);
  pair.network.run();
  EXPECT_EQ(pair.server.count(EventType::established), 1U);
}

TEST(CmManager, PeerThatNeverAnswersIsUnreachable) {
  Pair pair;
  pair.network.loses = [](const Message&) { return true; };
  pair.connect();
  pair.network.run();
  EXPECT_EQ(pair.client.first(EventType::unreachable).event.status, -ETIMEDOUT);
  EXPECT_EQ(pair.client.manager().size(), 0U);
}

TEST(CmManager, PeerThatIsGoneWhenItIsDisconnectedFromCountsAsDisconnected) {
  Pair pair;
  const std::uint32_t active = pair.connect();
  pair.network.run();
  pair.network.loses = [](const Message&) { return true; };
  pair.client.manager().disconnect(active, pair.network.now_ns());
  pair.network.run();
  EXPECT_EQ(pair.client.first(EventType::disconnected).event.status, -ETIMEDOUT);
}

TEST(CmManager, ConsumerMayTakeLongToAnswer) {
  constexpr std::uint64_t long_ns = 30'000'000'000;
  Pair pair;
  pair.server.react = [](const Network::Seen&) {};
  pair.connect();
  pair.network.run(long_ns);
  EXPECT_EQ(pair.client.count(EventType::unreachable), 0U);
  be_usual(pair.network, pair.server);
  pair.server.react(pair.server.first(EventType::request));
  pair.network.run();
  EXPECT_EQ(pair.server.count(EventType::established), 1U);
}

TEST(CmManager, WhoHasNoInterestAnyMoreHearsNothingAndThePeerHearsOfIt) {
  Pair pair;
  const std::uint32_t active = pair.connect();
  pair.network.run();
  pair.client.manager().abandon(active, pair.network.now_ns());
  pair.network.run();
  EXPECT_EQ(pair.client.count(EventType::disconnected), 0U);
  EXPECT_EQ(pair.server.count(EventType::disconnected), 1U);
  EXPECT_EQ(pair.client.manager().size(), 0U);
}

TEST(CmManager, RequestThatIsWithdrawnIsToldToWhoeverHasNotAnswered) {
  Pair pair;
  pair.server.react = [](const Network::Seen&) {};
  const std::uint32_t active = pair.connect();
  pair.network.run(pair.network.now_ns() + 10 * way_ns);
  pair.client.manager().abandon(active, pair.network.now_ns());
  pair.network.run();
  EXPECT_EQ(pair.server.count(EventType::rejected), 1U);
  EXPECT_EQ(pair.server.manager().size(), 0U);
}

TEST(CmManager, ServiceOfDatagramsTellsItsQueuePairThoughMessagesAreLost) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed, 20);
    pair.client.manager().look_up({.service = service}, pair.server.address(),
                                  pair.network.now_ns());
    pair.network.run();
    ASSERT_EQ(pair.client.count(EventType::service_reply), 1U);
    EXPECT_EQ(pair.server.count(EventType::service_request), 1U);
    EXPECT_EQ(pair.client.first(EventType::service_reply).event.queue_pair, 19U);
    EXPECT_EQ(pair.client.first(EventType::service_reply).event.queue_key, 20U);
    EXPECT_EQ(pair.server.manager().size(), 0U);
  }
}

TEST(CmManager, ServiceOfDatagramsThatIsRefusedSaysSo) {
  Pair pair;
  pair.server.react = [&](const Network::Seen& seen) {
    pair.server.manager().answer(seen.connection, {.status = service_status::rejected},
                                 pair.network.now_ns());
  };
  pair.client.manager().look_up({.service = service}, pair.server.address(), pair.network.now_ns());
  pair.network.run();
  EXPECT_EQ(pair.client.first(EventType::unreachable).event.status, service_status::rejected);
}

TEST(CmManager, MessagesForNobodyAreAnsweredByWhoeverHadTheNumberAlone) {
  Pair pair;
  const std::uint32_t number = 2U << connection_bits | 77;  // the server's, which it never gave out
  int answers = 0;
  pair.network.loses = [&](const Message&) { return ++answers, true; };
  const Datagram request = build(DisconnectRequest{.local_id = 5, .remote_id = number}, 1);
  pair.server.manager().on_datagram(request, pair.client.address(), 1);
  EXPECT_EQ(answers, 1);
  pair.client.manager().on_datagram(request, pair.client.address(), 1);
  EXPECT_EQ(answers, 1);
}

TEST(CmManager, WhatFitsNoStateChangesNothing) {
  Pair pair;
  const std::uint32_t active = pair.connect();
  pair.network.run();
  Manager& manager = pair.client.manager();
  EXPECT_FALSE(manager.accept(active, {}, 1));
  EXPECT_FALSE(manager.confirm(active));
  EXPECT_FALSE(manager.reject(active, reason::consumer, {}, 1));
  EXPECT_FALSE(manager.answer(active, {}, 1));
  EXPECT_FALSE(manager.disconnect(active + 1, 1));
  EXPECT_EQ(manager.find(active)->state(), State::established);
}

}  // namespace
}  // namespace softrdma::cm
