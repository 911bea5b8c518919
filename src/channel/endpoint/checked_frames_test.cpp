// Two endpoints with a link between them whose frames a test may damage or lose.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "channel/endpoint/endpoint_table.hpp"
#include "transport/self/self_transport.hpp"

namespace hawser::channel {
namespace {

using Frame = std::vector<std::byte>;

/// Loses nothing by itself, keeps nothing, and has one channel for frames as shared memory does.
class PairLink final : public Link {
 public:
  PairLink() { channels_ = {ChannelKind::shared_queue}; }
  [[nodiscard]] ChannelSet possible_channels() const override {
    return {ChannelKind::shared_queue, ChannelKind::single_copy};
  }
  [[nodiscard]] std::size_t frame_bytes_max(ChannelKind) const override { return 496; }
  std::byte* reserve(ChannelKind, std::size_t bytes) override {
    reserved_.resize(bytes);
    return reserved_.data();
  }
  void commit(ChannelKind) override {
    ++frames_sent;
    longest = std::max(longest, reserved_.size());
    if (on_way(reserved_)) to->push_back(reserved_);
  }
  bool ask(ChannelKind) override { return false; }
  bool give_back(ChannelKind) override { return false; }
  bool recall(ChannelKind) override { return false; }
  [[nodiscard]] bool is_away() const override { return false; }
  [[nodiscard]] bool sends_once_along() const override { return goes_along; }
  std::int64_t get(std::span<const transport::MemoryPiece>,
                   std::span<const transport::MemoryPiece>) override {
    return -1;
  }

  std::deque<Frame>* to = nullptr;
  bool goes_along = false;
  std::size_t frames_sent = 0;
  std::size_t longest = 0;
  /// False: the frame is lost.
  std::function<bool(Frame&)> on_way = [](Frame&) { return true; };

 private:
  Frame reserved_;
};

class PairTransport final : public Transport {
 public:
  PairTransport(Sink& sink, const Identity& peer) : sink_(sink), peer_(peer) {}
  [[nodiscard]] std::string_view name() const override { return "pair"; }
  Result<std::span<const std::byte>> address() override { return std::span<const std::byte>(); }
  Result<Link*> connect(const Identity&, std::span<const std::byte>) override { return &link; }
  bool progress() override {
    if (inbox.empty()) return false;
    if (link.user == nullptr) {
      sink_.on_link(link, peer_);
      sink_.on_channels_changed(link);
    }
    const Frame frame = std::move(inbox.front());
    inbox.pop_front();
    sink_.on_frame(link, ChannelKind::shared_queue, frame);
    return true;
  }
  [[nodiscard]] bool is_drained() const override { return true; }
  void leave() override {}
  void come_back() override {}

  PairLink link;
  std::deque<Frame> inbox;

 private:
  Sink& sink_;
  const Identity peer_;
};

class TwoLocalProcesses final : public bootstrap::Bootstrap {
 public:
  TwoLocalProcesses() { placement_.self.job = 1; }
  [[nodiscard]] const bootstrap::Placement& placement() const override { return placement_; }
  Result<void> publish(std::string_view, std::span<const std::byte>) override { return {}; }
  Result<std::optional<Frame>> look_up(std::uint32_t, std::string_view) override {
    return std::optional<Frame>(Frame());
  }
  [[nodiscard]] std::optional<HostMemory> host_memory() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint32_t> local_rank_of(std::uint32_t index) const override {
    return index;
  }
  void arrive_at_end() override {}
  [[nodiscard]] bool have_all_arrived_at_end() const override { return true; }
  void report_initialized() override {}
  void report_finalized() override {}
  [[noreturn]] void abort(int, std::string_view) override { std::abort(); }

 private:
  bootstrap::Placement placement_;
};

/// Writes down the numbers that it gets.
class Reader final : public FrameHandler {
 public:
  void on_frame(Endpoint&, ChannelKind, std::span<const std::byte> frame) override {
    std::uint32_t number = 0;
    ASSERT_EQ(frame.size(), sizeof(FramePrefix) + sizeof(number));
    std::memcpy(&number, frame.data() + sizeof(FramePrefix), sizeof(number));
    numbers.push_back(number);
  }
  void on_frame_apart(Endpoint& from, ChannelKind kind, const FrameView& frame) override {
    on_frame(from, kind, frame.head);
  }
  bool on_turn(void*) override { return true; }
  void on_lost(Endpoint&) override {}
  void on_operation_done(Endpoint&, std::uint64_t, bool) override {}
  void on_clearance(Endpoint&, std::uint64_t, const transport::Clearance&) override {}

  std::vector<std::uint32_t> numbers;
};

class CheckedFrames : public ::testing::Test {
 protected:
  struct End {
    End(const Identity& self, const Identity& peer, CheckedFrames& test,
        const AssuranceSettings& settings)
        : policy(*Policy::parse({}, {.ranks = 2, .oversubscribed = false})),
          table({self,
                 &test.addresses_,
                 &test.bootstrap_,
                 &ledger,
                 &policy,
                 {},
                 0,
                 settings,
                 *DeliveryChannels::parse(settings),
                 [&test] { return test.now_ns_; }}),
          self_transport(table, ledger),
          transport(table, peer) {
      table.set_handler(reader);
      table.set_self_transport(self_transport);
      table.add_transport(transport);
    }
    memory::Ledger ledger;
    Policy policy;
    EndpointTable table;
    Reader reader;
    transport::self::SelfTransport self_transport;
    PairTransport transport;
  };

  void open(const AssuranceSettings& settings) {
    const Identity here_is{1, 0, 0};
    const Identity there_is{1, 1, 0};
    here = std::make_unique<End>(here_is, there_is, *this, settings);
    there = std::make_unique<End>(there_is, here_is, *this, settings);
    here->transport.link.to = &there->transport.inbox;
    there->transport.link.to = &here->transport.inbox;
    peer = &here->table.find_or_make(there_is);
  }
  bool send(std::uint32_t number) { return send(*peer, number); }
  static bool send(Endpoint& by, std::uint32_t number) {
    return by.try_send(ChannelKind::shared_queue, 1, Sequencing::ordered,
                       sizeof(FramePrefix) + sizeof(number),
                       [&](std::byte* body) { std::memcpy(body, &number, sizeof(number)); });
  }
  void pump() {
    constexpr std::uint64_t step_ns = 1'000'000;
    now_ns_ += step_ns;
    here->table.progress();
    there->table.progress();
  }
  /// COUNT numbers arrive once each, in their order.
  void expect_all_of(std::uint32_t count) {
    std::uint32_t sent = 0;
    constexpr int rounds_max = 20'000;
    for (int round = 0; round < rounds_max && !(sent == count && is_settled()); ++round) {
      if (sent < count && send(sent)) ++sent;
      pump();
    }
    ASSERT_TRUE(is_settled());
    ASSERT_EQ(there->reader.numbers.size(), count);
    for (std::uint32_t i = 0; i < count; ++i) EXPECT_EQ(there->reader.numbers[i], i);
  }
  [[nodiscard]] bool is_settled() const {
    return here->table.is_drained() && there->table.is_drained() && here->transport.inbox.empty() &&
           there->transport.inbox.empty();
  }
  [[nodiscard]] std::uint64_t failed_there() const {
    std::uint64_t failed = 0;
    there->table.for_each([&](const Endpoint& endpoint) { failed += endpoint.failed_checksum(); });
    return failed;
  }

  TwoLocalProcesses bootstrap_;
  bootstrap::AddressBook addresses_{bootstrap_};
  std::uint64_t now_ns_ = 1;
  std::unique_ptr<End> here;
  std::unique_ptr<End> there;
  Endpoint* peer = nullptr;
};

TEST_F(CheckedFrames, ALinkOfWhichNothingIsAskedCarriesFramesAsTheyAre) {
  open({});
  expect_all_of(100);
  EXPECT_EQ(here->transport.link.frames_sent, 100U);
  EXPECT_EQ(here->transport.link.longest, sizeof(FramePrefix) + sizeof(std::uint32_t));
  EXPECT_EQ(there->transport.link.frames_sent, 0U) << "nothing is acknowledged";
  EXPECT_EQ(here->ledger.peak_bytes(memory::Account::kept_frames), 0);
  EXPECT_EQ(peer->frame_bytes_max(ChannelKind::shared_queue), 496U);
}

TEST_F(CheckedFrames, AnotherChannelsChecksumCostsNothing) {
  open({.crc = "ring,single_copy"});
  EXPECT_TRUE(peer->is_checked(ChannelKind::single_copy));
  EXPECT_FALSE(peer->is_checked(ChannelKind::shared_queue));
  expect_all_of(10);
  EXPECT_EQ(there->transport.link.frames_sent, 0U);
}

TEST_F(CheckedFrames, WhatIsDamagedOnItsWayIsSentAgain) {
  open({.crc = "shared_queue"});
  EXPECT_EQ(peer->frame_bytes_max(ChannelKind::shared_queue), 492U);
  BitFlipper damage(3);
  here->transport.link.on_way = [&](Frame& frame) {
    if (const auto bit = damage.next(frame.size())) BitFlipper::flip(frame.data(), *bit);
    return true;
  };
  expect_all_of(500);
  EXPECT_GT(failed_there(), 100U);
  EXPECT_GT(peer->sent_again(), 100U);
  EXPECT_GT(here->ledger.peak_bytes(memory::Account::kept_frames), 0);
  EXPECT_EQ(here->ledger.current_bytes(memory::Account::kept_frames), 0);
}

TEST_F(CheckedFrames, DamageBothWaysAndLossChangeNothing) {
  AssuranceSettings settings{.crc = "on"};
  settings.window.timeout_ns_max = 20'000'000;  // a few rounds, however bad the line is
  open(settings);
  BitFlipper damage(4);
  BitFlipper loss(7);
  const auto harm = [&](Frame& frame) {
    if (const auto bit = damage.next(frame.size())) BitFlipper::flip(frame.data(), *bit);
    return !loss.next(1);
  };
  here->transport.link.on_way = harm;
  there->transport.link.on_way = harm;
  expect_all_of(500);
}

TEST_F(CheckedFrames, ADamagedFrameIsReportedBeforeItsTimeIsOver) {
  AssuranceSettings settings{.crc = "on"};
  constexpr std::uint64_t hour_ns = 3'600'000'000'000;
  settings.window.timeout_ns_initial = settings.window.timeout_ns_min =
      settings.window.timeout_ns_max = hour_ns;
  open(settings);
  bool is_first = true;
  here->transport.link.on_way = [&](Frame& frame) {
    constexpr std::size_t bit_of_body = 8 * sizeof(FramePrefix);
    if (std::exchange(is_first, false)) BitFlipper::flip(frame.data(), bit_of_body);
    return true;
  };
  expect_all_of(1);
  EXPECT_EQ(failed_there(), 1U);
  EXPECT_EQ(peer->sent_again(), 1U);
}

TEST_F(CheckedFrames, BitsThatAUserFlipsAreFound) {
  open({.crc = "on", .flip_one_in = 2});
  expect_all_of(200);
  EXPECT_GT(failed_there(), 100U);
}

TEST_F(CheckedFrames, AFrameThatIsAcknowledgedMayBeLost) {
  open({.acknowledged = "shared_queue"});
  BitFlipper loss(5);
  here->transport.link.on_way = [&](Frame&) { return !loss.next(1); };
  expect_all_of(200);
  EXPECT_EQ(failed_there(), 0U);
  EXPECT_GT(peer->sent_again(), 20U);
  EXPECT_EQ(here->ledger.current_bytes(memory::Account::kept_frames), 0);
}

TEST_F(CheckedFrames, AnAcknowledgementThatIsDueGoesAlongWithAFrameWhereTheLinkCanDoSo) {
  for (const bool goes_along : {true, false}) {
    constexpr std::uint32_t frames_acknowledged_together = 6;
    AssuranceSettings settings{.acknowledged = "shared_queue"};
    settings.acknowledger.frames = frames_acknowledged_together;
    open(settings);
    PairLink& back = there->transport.link;
    back.goes_along = goes_along;
    for (std::uint32_t i = 0; i < frames_acknowledged_together; ++i) {
      ASSERT_TRUE(send(i));
      there->table.progress();
    }
    ASSERT_EQ(there->reader.numbers.size(), frames_acknowledged_together);
    ASSERT_EQ(back.frames_sent, 0U);
    ASSERT_TRUE(send(there->table.find_or_make({1, 0, 0}), 9));
    ASSERT_EQ(here->transport.inbox.size(), goes_along ? 2U : 1U);
    const auto class_of = [](const Frame& frame) { return static_cast<int>(frame.front()); };
    EXPECT_EQ(class_of(here->transport.inbox.front()),
              goes_along ? static_cast<int>(ControlClass::acknowledgement) : 1);
    EXPECT_EQ(class_of(here->transport.inbox.back()), 1);
    constexpr int rounds = 4;
    for (int i = 0; i < rounds; ++i) pump();
    EXPECT_EQ(back.frames_sent, 2U) << "once is enough";
    EXPECT_EQ(here->reader.numbers.size(), 1U);
  }
}

}  // namespace
}  // namespace hawser::channel
