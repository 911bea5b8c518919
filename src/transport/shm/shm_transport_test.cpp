#include "transport/shm/shm_transport.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "transport/contract_test.hpp"
#include "transport/shm/shm_world.hpp"

namespace hawser::transport {
namespace {

using shm::Settings;
using shm::settle;
using shm::ShmEnd;
using shm::test_identity;

class ShmWorld final : public World {
 public:
  explicit ShmWorld(const Settings& settings)
      : a_(0, words_, settings), b_(1, words_, settings), address_of_b_(b_.address()) {}

  Transport& sender() override { return *a_.transport; }
  Transport& receiver() override { return *b_.transport; }
  RecordingSink& sender_sink() override { return a_.sink; }
  RecordingSink& receiver_sink() override { return b_.sink; }
  Link& connect() override { return a_.connect(1, address_of_b_); }

 private:
  std::array<hostmem::WakeWord, 2> words_{};
  ShmEnd<> a_;
  ShmEnd<> b_;
  std::vector<std::byte> address_of_b_;
};

ContractCase shm_case(std::string name, const Settings& settings) {
  return {.name = std::move(name),
          .make_world = [settings] { return std::make_unique<ShmWorld>(settings); },
          .channels = {ChannelKind::shared_queue},
          .earned = {ChannelKind::ring}};
}

INSTANTIATE_TEST_SUITE_P(Shm, TransportContract,
                         ::testing::Values(shm_case("defaults", {}),
                                           shm_case("smallest", {.queue_slots = 4,
                                                                 .ring_lines = 4,
                                                                 .ring_bulk_bytes = 4096,
                                                                 .rings_max = 1}),
                                           shm_case("without_single_copy",
                                                    {.single_copy = false})));

/// Two ends that have not met.
class Shm : public ::testing::Test {
 protected:
  std::array<hostmem::WakeWord, 2> words{};
  ShmEnd<> a{0, words, {}};
  ShmEnd<> b{1, words, {}};
};

bool send(Link& link, ChannelKind kind, std::size_t bytes, std::uint64_t number) {
  std::byte* frame = link.reserve(kind, bytes);
  if (frame == nullptr) return false;
  make_frame({frame, bytes}, number);
  link.commit(kind);
  return true;
}

TEST_F(Shm, TheOneThatIsReachedLearnsOfItsLinkOnce) {
  Link& link = a.connect(1, b.address());
  EXPECT_TRUE(link.channels().empty());
  settle(a, b);
  ASSERT_EQ(b.sink.links.size(), 1U);
  EXPECT_EQ(b.sink.peers[0], test_identity(0));
  EXPECT_TRUE(a.sink.links.empty());
  EXPECT_EQ(a.sink.channels_changed, 1);
  EXPECT_EQ(b.sink.channels_changed, 1);
  Link& back = b.connect(0, a.address());
  EXPECT_EQ(&back, b.sink.links[0]);
  ASSERT_TRUE(send(back, ChannelKind::shared_queue, 8, 0));
  settle(a, b);
  ASSERT_EQ(a.sink.arrivals.size(), 1U);
  EXPECT_EQ(a.sink.arrivals[0].link, &link);
  EXPECT_EQ(b.sink.links.size(), 1U);
}

TEST_F(Shm, BothConnectingAtOnceMakeOneLinkEach) {
  for (const bool a_first : {true, false}) {
    ShmEnd<> c(0, words, {});
    ShmEnd<> d(1, words, {});
    Link& to_d = c.connect(1, d.address());
    Link& to_c = d.connect(0, c.address());
    if (a_first) c.transport->progress();
    settle(d, c);
    EXPECT_TRUE(c.sink.links.empty());
    EXPECT_TRUE(d.sink.links.empty());
    EXPECT_EQ(c.sink.channels_changed, 1);
    EXPECT_EQ(d.sink.channels_changed, 1);
    EXPECT_TRUE(c.sink.lost.empty());
    EXPECT_TRUE(d.sink.lost.empty());
    ASSERT_TRUE(send(to_d, ChannelKind::shared_queue, 100, 1));
    ASSERT_TRUE(send(to_c, ChannelKind::shared_queue, 100, 2));
    ASSERT_TRUE(to_d.ask(ChannelKind::ring));
    ASSERT_TRUE(to_c.ask(ChannelKind::ring));
    settle(c, d);
    ASSERT_EQ(d.sink.arrivals.size(), 1U);
    EXPECT_EQ(d.sink.arrivals[0].link, &to_c);
    ASSERT_EQ(c.sink.arrivals.size(), 1U);
    EXPECT_EQ(c.sink.arrivals[0].link, &to_d);
    EXPECT_TRUE(to_d.channels().has(ChannelKind::ring));
    EXPECT_TRUE(to_c.channels().has(ChannelKind::ring));
  }
}

/// The peer is attached and asks before its handshake has been looked at here.
TEST_F(Shm, AnAskThatOvertakesTheHandshakeIsAnswered) {
  Link& link = a.connect(1, b.address());
  b.transport->progress();
  ASSERT_EQ(b.sink.links.size(), 1U);
  words[0].knock = 0;  // as if the poll had passed this word just before it was raised
  ASSERT_TRUE(b.sink.links[0]->ask(ChannelKind::ring));
  a.transport->progress();
  EXPECT_EQ(a.sink.asked, 1);
  EXPECT_FALSE(a.transport->is_drained());
  words[0].knock = 1;
  settle(a, b);
  EXPECT_TRUE(b.sink.links[0]->channels().has(ChannelKind::ring));
  EXPECT_TRUE(a.transport->is_drained());
  EXPECT_FALSE(link.channels().empty());
}

/// A ring that carries many long frames gets a long area, as long as its receiver has room for one.
TEST_F(Shm, ARingIsExtendedForLongFrames) {
  const auto rings_after = [&](std::int64_t long_rings_max) {
    const Settings settings{.ring_long_bytes = 1 << 18, .long_rings_max = long_rings_max};
    ShmEnd<> c(0, words, settings);
    ShmEnd<> d(1, words, settings);
    Link& link = c.connect(1, d.address());
    settle(c, d);
    EXPECT_TRUE(link.ask(ChannelKind::ring));
    settle(c, d);
    const std::int64_t before = d.ledger.current_bytes(memory::Account::rings);
    for (std::uint64_t i = 0; i < 100; ++i) {
      EXPECT_TRUE(send(link, ChannelKind::ring, i % 2 == 0 ? 8192 : 100, i));
      settle(c, d);
    }
    EXPECT_EQ(d.sink.arrivals.size(), 100U);
    for (std::uint64_t i = 0; i < d.sink.arrivals.size(); ++i)
      EXPECT_EQ(d.sink.arrivals[i].number, i);
    const std::int64_t gained = d.ledger.current_bytes(memory::Account::rings) - before;
    EXPECT_TRUE(link.give_back(ChannelKind::ring));
    settle(c, d);
    EXPECT_EQ(d.ledger.current_bytes(memory::Account::rings), 0);
    EXPECT_TRUE(c.transport->is_drained() && d.transport->is_drained());
    return gained;
  };
  EXPECT_GE(rings_after(1), 1 << 18);
  EXPECT_EQ(rings_after(0), 0);
}

/// Two with a ring each way, of which the one from c to d has few cells.
class ShmCells : public ::testing::Test {
 protected:
  explicit ShmCells(std::int64_t cells = 2)
      : settings{.ring_long_bytes = 1 << 18, .ring_cells = cells} {
    settle(c, d);
    to_c = d.sink.links[0];
    EXPECT_TRUE(to_d.ask(ChannelKind::ring) && to_c->ask(ChannelKind::ring));
    settle(c, d);
    extend();
  }
  void extend() {
    for (std::uint64_t i = 0; i < 32; ++i) {
      EXPECT_TRUE(send(to_d, ChannelKind::ring, 8192, i));
      settle(c, d);
    }
  }
  void give_back_with_a_cell_under_way() {
    ASSERT_TRUE(send(to_d, ChannelKind::ring, 8192, 100));
    settle(c, d);
    ASSERT_TRUE(send(*to_c, ChannelKind::ring, 8192, 101));
    ASSERT_TRUE(to_d.give_back(ChannelKind::ring));
    d.transport->progress();
  }
  [[nodiscard]] std::int64_t rings_of_d() const {
    return d.ledger.current_bytes(memory::Account::rings);
  }

  const Settings settings;
  std::array<hostmem::WakeWord, 2> words{};
  ShmEnd<> c{0, words, settings};
  ShmEnd<> d{1, words, settings};
  Link& to_d = c.connect(1, d.address());
  Link* to_c = nullptr;
};

/// A ring whose cells are on their way back is freed once they have been read.
TEST_F(ShmCells, ARingThatIsGivenBackWaitsForWhatLiesInItsCells) {
  give_back_with_a_cell_under_way();
  EXPECT_EQ(d.sink.given_back, 1);
  EXPECT_GT(rings_of_d(), 0);
  EXPECT_FALSE(to_c->give_back(ChannelKind::ring)) << "nobody could tell when they were read";
  settle(c, d);
  EXPECT_EQ(rings_of_d(), 0);
  ASSERT_FALSE(c.sink.arrivals.empty());
  EXPECT_EQ(c.sink.arrivals.back().number, 101U);
  EXPECT_TRUE(to_c->give_back(ChannelKind::ring));
  settle(c, d);
  EXPECT_EQ(c.ledger.current_bytes(memory::Account::rings), 0);
  EXPECT_EQ(c.sink.damaged + d.sink.damaged, 0);
}

TEST_F(ShmCells, OfAPeerThatIsLostNothingIsWaitedFor) {
  give_back_with_a_cell_under_way();
  EXPECT_GT(rings_of_d(), 0);
  to_c->abandon();
  d.transport->progress();
  EXPECT_EQ(rings_of_d(), 0);
}

/// Where frames wait that may bring cells, they are to be read before long ones are sent; for a
/// while.
TEST_F(ShmCells, WhatMayBringCellsIsToBeReadFirst) {
  const auto wants = [&] { return to_d.wants_reading_first(ChannelKind::ring); };
  extend();
  EXPECT_FALSE(wants()) << "all cells are away, but nothing waits";
  ASSERT_TRUE(send(*to_c, ChannelKind::ring, 8192, 1));
  EXPECT_TRUE(wants());
  EXPECT_FALSE(to_d.wants_reading_first(ChannelKind::shared_queue));
  c.transport->progress();
  ASSERT_TRUE(send(*to_c, ChannelKind::ring, 8192, 2));
  EXPECT_FALSE(wants()) << "it has a cell";
  settle(c, d);
  extend();
  ASSERT_TRUE(send(*to_c, ChannelKind::ring, 100, 3));
  int times = 0;
  while (wants() && times < 10) ++times;
  EXPECT_EQ(times, 2) << "what waits is short";
}

class ShmManyCells : public ShmCells {
 protected:
  static constexpr std::uint64_t count = 100;

  ShmManyCells() : ShmCells(count) {}
};

/// What lies in the cells of a ring that was given back is not taken for what lies in those of the
/// next one.
TEST_F(ShmManyCells, ThereIsOnePoolAtATime) {
  const std::size_t bytes = to_d.frame_bytes_max(ChannelKind::ring);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(send(to_d, ChannelKind::ring, 8192, i));
  settle(c, d);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(send(*to_c, ChannelKind::ring, bytes, i));
  ASSERT_TRUE(to_d.give_back(ChannelKind::ring));
  ASSERT_TRUE(to_d.ask(ChannelKind::ring));
  d.transport->progress();
  c.sink.arrivals.clear();
  for (int i = 0; i < 4 && !to_d.channels().has(ChannelKind::ring); ++i) c.transport->progress();
  ASSERT_TRUE(to_d.channels().has(ChannelKind::ring));
  for (std::uint64_t i = 0; i < 32; ++i) {
    ASSERT_TRUE(send(to_d, ChannelKind::ring, 8192, i));
    d.transport->progress();
  }
  ASSERT_LT(c.sink.arrivals.size(), count) << "too late to test anything";
  settle(c, d);
  EXPECT_EQ(c.sink.damaged, 0);
  ASSERT_EQ(c.sink.arrivals.size(), count);
  for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(c.sink.arrivals[i].number, i);
  extend();
  EXPECT_GT(to_d.frame_bytes_max(ChannelKind::ring), 16384U) << "it may ask again";
}

/// Frames both ways while rings are given back and asked for anew, at any moment.
TEST_F(ShmCells, NothingIsLostWhileRingsComeAndGo) {
  std::mt19937 random(1);
  std::array<std::uint64_t, 2> sent{};
  c.sink.arrivals.clear();
  d.sink.arrivals.clear();
  int given_back = 0;
  for (int step = 0; step < 30'000; ++step) {
    const std::size_t end = random() % 2;
    Link& link = end == 0 ? to_d : *to_c;
    const auto what = random() % 100;
    if (what < 40) {
      (end == 0 ? c : d).transport->progress();
    } else if (!link.channels().has(ChannelKind::ring)) {
      link.ask(ChannelKind::ring);
    } else if (what == 99 && random() % 4 == 0) {
      given_back += link.give_back(ChannelKind::ring) ? 1 : 0;
    } else {
      const std::size_t bytes = random() % 4 == 0 ? 40 : 4096 + random() % 8000;
      if (send(link, ChannelKind::ring, bytes, sent[end])) ++sent[end];
    }
  }
  settle(c, d);
  EXPECT_GT(given_back, 20);
  EXPECT_EQ(c.sink.damaged + d.sink.damaged, 0);
  ASSERT_EQ(d.sink.arrivals.size(), sent[0]);
  ASSERT_EQ(c.sink.arrivals.size(), sent[1]);
  for (std::uint64_t i = 0; i < sent[0]; ++i) ASSERT_EQ(d.sink.arrivals[i].number, i);
  for (std::uint64_t i = 0; i < sent[1]; ++i) ASSERT_EQ(c.sink.arrivals[i].number, i);
  for (Link* const link : {&to_d, to_c})
    EXPECT_TRUE(link->give_back(ChannelKind::ring) || !link->channels().has(ChannelKind::ring));
  settle(c, d);
  EXPECT_EQ(rings_of_d(), 0);
  EXPECT_EQ(c.ledger.current_bytes(memory::Account::rings), 0);
}

/// Who sends as well has its turn before a ring that is full of long frames is empty.
TEST_F(Shm, OneRoundTakesABoundedNumberOfBytes) {
  constexpr std::uint64_t long_frames = 40;
  Link& link = a.connect(1, b.address());
  settle(a, b);
  ASSERT_TRUE(link.ask(ChannelKind::ring));
  settle(a, b);
  for (std::uint64_t i = 0; i < 32; ++i) {
    ASSERT_TRUE(send(link, ChannelKind::ring, 8192, i));
    settle(a, b);
  }
  const std::size_t frame_bytes = link.frame_bytes_max(ChannelKind::ring);
  ASSERT_GT(frame_bytes, 32768U) << "there is a long area";
  b.sink.arrivals.clear();
  for (std::uint64_t i = 0; i < long_frames; ++i)
    ASSERT_TRUE(send(link, ChannelKind::ring, frame_bytes, i));
  b.transport->progress();
  EXPECT_EQ(b.sink.arrivals.size(), 5U) << "160 KiB";
  settle(a, b);
  EXPECT_EQ(b.sink.arrivals.size(), long_frames);
}

TEST_F(Shm, WhatEndsATurnLeavesTheNextFramesInTheRing) {
  Link& link = a.connect(1, b.address());
  settle(a, b);
  ASSERT_TRUE(link.ask(ChannelKind::ring));
  settle(a, b);
  b.sink.ends_turns = true;
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(send(link, ChannelKind::ring, 600, i));
  for (std::size_t taken = 1; taken <= 3; ++taken) {
    EXPECT_TRUE(b.transport->progress());
    ASSERT_EQ(b.sink.arrivals.size(), taken);
    EXPECT_EQ(b.sink.arrivals.back().number, taken - 1);
  }
}

TEST_F(Shm, AKnockWakesTheSleeper) {
  hostmem::Sleeper sleeper(words[1], hostmem::FencePayer::waker);
  const std::vector<std::byte> address = b.address();
  const std::uint32_t ticket = sleeper.announce();
  a.connect(1, address);
  sleeper.sleep(ticket);
  EXPECT_EQ(words[1].knock, 1U);
}

TEST_F(Shm, AFrameWakesTheSleeper) {
  Link& link = a.connect(1, b.address());
  settle(a, b);
  hostmem::Sleeper sleeper(words[1], hostmem::FencePayer::waker);
  const std::uint32_t ticket = sleeper.announce();
  ASSERT_TRUE(send(link, ChannelKind::shared_queue, 8, 0));
  sleeper.sleep(ticket);
}

TEST_F(Shm, GarbageIsNoAddress) {
  const std::vector<std::byte> too_short(4);
  const std::vector<std::byte> too_long(255, std::byte{'x'});
  const std::vector<std::byte> unknown(30, std::byte{'x'});
  for (const auto* address : {&too_short, &too_long, &unknown}) {
    const Result<Link*> link = a.transport->connect(test_identity(1), *address);
    ASSERT_FALSE(link.ok());
    EXPECT_FALSE(link.error().sentence().empty());
  }
  EXPECT_FALSE(a.transport->connect(test_identity(1), {}).ok());
}

TEST_F(Shm, WhoCouldNotBeReachedCanStillReachUs) {
  ASSERT_FALSE(a.transport->connect(test_identity(1), {}).ok());
  b.connect(0, a.address());
  settle(a, b);
  ASSERT_EQ(a.sink.links.size(), 1U);
  EXPECT_EQ(a.sink.peers[0], test_identity(1));
}

TEST_F(Shm, APeerThatGoesBeforeItAnswersIsLost) {
  auto c = std::make_unique<ShmEnd<>>(1, words, Settings{});
  Link& link = a.connect(1, c->address());
  c.reset();
  words[0].knock = 1;
  settle(a);
  EXPECT_EQ(a.sink.lost.size(), 1U);
  EXPECT_TRUE(link.channels().empty());
  EXPECT_EQ(&a.connect(1, b.address()), &link);
  settle(a, b);
  EXPECT_TRUE(link.channels().has(ChannelKind::shared_queue));
}

TEST_F(Shm, FramesOfAPeerThatHasGoneAreStillThere) {
  auto c = std::make_unique<ShmEnd<>>(0, words, Settings{});
  Link& link = c->connect(1, b.address());
  settle(*c, b);
  ASSERT_TRUE(link.ask(ChannelKind::ring));
  settle(*c, b);
  ASSERT_TRUE(send(link, ChannelKind::shared_queue, 100, 1));
  ASSERT_TRUE(send(link, ChannelKind::ring, 10'000, 2));
  c.reset();
  settle(b);
  EXPECT_EQ(b.sink.arrivals.size(), 2U);
  EXPECT_EQ(b.sink.damaged, 0);
}

TEST(ShmWindow, RingsAreGrantedWhileThereIsRoom) {
  std::array<hostmem::WakeWord, 3> words{};
  ShmEnd<> granter(0, words, {.rings_max = 1});
  ShmEnd<> first(1, words, {});
  ShmEnd<> second(2, words, {});
  Link& from_first = first.connect(0, granter.address());
  Link& from_second = second.connect(0, granter.address());
  settle(first, second, granter);
  ASSERT_TRUE(from_first.ask(ChannelKind::ring));
  settle(first, granter);
  ASSERT_TRUE(from_second.ask(ChannelKind::ring));
  settle(second, granter);
  EXPECT_EQ(granter.sink.asked, 2);
  EXPECT_TRUE(from_first.channels().has(ChannelKind::ring));
  EXPECT_FALSE(from_second.channels().has(ChannelKind::ring));
  EXPECT_EQ(second.sink.refused, 1);
  ASSERT_TRUE(send(from_second, ChannelKind::shared_queue, 8, 0));
  settle(second, granter);
  EXPECT_EQ(granter.sink.arrivals.size(), 1U);
}

TEST_F(Shm, AFullQueueDelaysAnAnswerOnly) {
  ShmEnd<> small(0, words, {.queue_slots = 4});
  Link& to_b = small.connect(1, b.address());
  settle(small, b);
  Link& to_small = *b.sink.links[0];
  ASSERT_TRUE(to_b.ask(ChannelKind::ring));
  std::uint64_t sent = 0;
  while (send(to_small, ChannelKind::shared_queue, 8, sent)) ++sent;
  EXPECT_FALSE(to_small.ask(ChannelKind::ring));
  b.transport->progress();
  EXPECT_FALSE(b.transport->is_drained());
  small.transport->leave();
  EXPECT_TRUE(b.transport->is_drained()) << "nobody is there to wait for";
  small.transport->come_back();
  EXPECT_FALSE(b.transport->is_drained());
  settle(small, b);
  EXPECT_TRUE(b.transport->is_drained());
  EXPECT_EQ(small.sink.arrivals.size(), sent);
  EXPECT_TRUE(to_b.channels().has(ChannelKind::ring));
}

TEST(ShmLedger, EverythingIsRefundedInTheEnd) {
  std::array<hostmem::WakeWord, 2> words{};
  memory::Ledger ledger;
  RecordingSink sink;
  ShmEnd<> peer(1, words, {});
  const auto key = shm::test_key();
  {
    auto opened = shm::ShmTransport::open(
        {test_identity(0), key, 0, words, hostmem::FencePayer::waker, &ledger, &sink}, {});
    ASSERT_TRUE(opened.ok());
    Link* link = *(*opened)->connect(test_identity(1), peer.address());
    for (int i = 0; i < 10; ++i) (*opened)->progress(), peer.transport->progress();
    ASSERT_TRUE(link->channels().has(ChannelKind::shared_queue));
    ASSERT_TRUE(peer.sink.links[0]->ask(ChannelKind::ring));
    for (int i = 0; i < 10; ++i) (*opened)->progress(), peer.transport->progress();
    EXPECT_GE(ledger.current_bytes(memory::Account::segment), 128 * 512);
    EXPECT_GE(ledger.current_bytes(memory::Account::rings), 65536);
    EXPECT_EQ(ledger.current_bytes(memory::Account::attachments), 128 * 512);
  }
  for (const auto account :
       {memory::Account::segment, memory::Account::rings, memory::Account::attachments})
    EXPECT_EQ(ledger.current_bytes(account), 0) << memory::account_name(account);
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return std::distance(begin(entries), end(entries));
}

int mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("hawser-segment") != std::string::npos) ++count;
  return count;
}

TEST(ShmLeftovers, NoDescriptorAndNoMappingSurvives) {
  const auto descriptors = open_descriptors();
  const int segments = mapped_segments();
  {
    std::array<hostmem::WakeWord, 2> words{};
    ShmEnd<> a(0, words, {});
    ShmEnd<> b(1, words, {});
    Link& link = a.connect(1, b.address());
    b.connect(0, a.address());
    settle(a, b);
    ASSERT_TRUE(link.ask(ChannelKind::ring));
    settle(a, b);
    EXPECT_EQ(mapped_segments(), segments + 4);
    // Connected: a segment and a listener each, no more.
    EXPECT_EQ(open_descriptors(), descriptors + 4);
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(mapped_segments(), segments);
}

}  // namespace
}  // namespace hawser::transport
