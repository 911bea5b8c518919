// Messages without copies between two ends of the transport, over softrdma.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "transport/verbs/test_end.hpp"

namespace hawser::transport::verbs {
namespace {

using Done = std::pair<std::uint64_t, bool>;

constexpr std::size_t long_bytes = 1 << 20;
constexpr std::uint64_t incoming_token = 7;
constexpr std::uint64_t outgoing_token = 8;
constexpr std::byte nothing_came{0xee};

/// Few datagrams at a time, and quick to despair.
Settings in_parts() {
  Settings settings;
  settings.zero_copy_queue_pairs = 1;
  settings.zero_copy_receive_depth = 16;
  settings.zero_copy_first_timeout_ns = 20'000'000;
  settings.zero_copy_timeout_ns = 5'000'000;
  return settings;
}

/// A message from a to b, whose sinks are the layer above: the test carries clearances.
struct Crossing {
  explicit Crossing(std::size_t bytes = long_bytes, const Settings& settings = in_parts())
      : a(0, settings), b(1, settings), source(bytes), target(bytes, nothing_came) {
    there = &a.connect(b);
    back = &b.connect(a);
    std::mt19937_64 random(bytes);
    for (std::byte& byte : source) byte = static_cast<std::byte>(random());
    source_held = hold(*there, source);
    target_held = hold(*back, target);
  }
  static std::unique_ptr<HeldMemory> hold(Link& link, std::vector<std::byte>& bytes) {
    auto held = link.hold(reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size());
    if (!held) throw std::runtime_error(held.error().sentence());
    return std::move(*held);
  }
  Result<Clearance> expect(std::uint64_t token = incoming_token) {
    return back->expect({.address = reinterpret_cast<std::uint64_t>(target.data()),
                         .bytes = target.size(),
                         .local_key = target_held->local_key(),
                         .token = token});
  }
  bool send(std::span<const std::byte> clearance) {
    return there->send_cleared({.address = reinterpret_cast<std::uint64_t>(source.data()),
                                .bytes = source.size(),
                                .local_key = source_held->local_key(),
                                .token = outgoing_token + parts++},
                               clearance);
  }
  /// Until the receiver has been told how it ended, each part sent as it is cleared.
  void finish() {
    std::size_t carried = 0;
    while (b.sink.operations.empty()) {
      a.transport->progress();
      b.transport->progress();
      for (; carried < b.sink.clearances.size(); ++carried)
        ASSERT_TRUE(send(b.sink.clearances[carried].second.bytes()));
    }
    settle(a, b);
  }
  [[nodiscard]] bool is_untouched() const {
    return std::ranges::all_of(target, [](std::byte each) { return each == nothing_came; });
  }

  End a;
  End b;
  Link* there;
  Link* back;
  std::vector<std::byte> source;
  std::vector<std::byte> target;
  std::unique_ptr<HeldMemory> source_held;
  std::unique_ptr<HeldMemory> target_held;
  std::uint64_t parts = 0;
};

TEST(VerbsZeroCopy, AMessageCrossesPartByPart) {
  Crossing crossing;
  const Result<Clearance> first = crossing.expect();
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(crossing.send(first->bytes()));
  crossing.finish();
  EXPECT_EQ(crossing.b.sink.operations, (std::vector<Done>{{incoming_token, true}}));
  EXPECT_EQ(crossing.target, crossing.source);
  EXPECT_GT(crossing.parts, 1U);
  ASSERT_EQ(crossing.a.sink.operations.size(), crossing.parts) << "each part was reported";
  for (const Done& done : crossing.a.sink.operations) EXPECT_TRUE(done.second);
  for (const auto& [token, clearance] : crossing.b.sink.clearances)
    EXPECT_EQ(token, incoming_token);
  EXPECT_TRUE(crossing.a.transport->is_drained());
}

TEST(VerbsZeroCopy, NoConnectionIsNeeded) {
  const Crossing crossing;
  EXPECT_TRUE(crossing.there->channels().has(ChannelKind::ud_zero_copy));
  EXPECT_FALSE(crossing.there->channels().has(ChannelKind::rc_send));
}

TEST(VerbsZeroCopy, WithoutQueuePairsThereIsNoSuchChannel) {
  Settings settings = in_parts();
  settings.zero_copy_queue_pairs = 0;
  Crossing crossing(long_bytes, settings);
  EXPECT_FALSE(crossing.there->channels().has(ChannelKind::ud_zero_copy));
  EXPECT_FALSE(crossing.expect().ok());
}

TEST(VerbsZeroCopy, WhoFindsNoQueuePairIsToldSoUntilOneIsFree) {
  Crossing crossing;
  ASSERT_TRUE(crossing.expect().ok());
  const Result<Clearance> second = crossing.expect(incoming_token + 1);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), static_cast<int>(ErrorClass::no_mem));
  crossing.back->stop_expecting(incoming_token);
  EXPECT_TRUE(crossing.expect(incoming_token + 1).ok());
}

TEST(VerbsZeroCopy, ASilentSenderEndsIt) {
  Crossing crossing;
  ASSERT_TRUE(crossing.expect().ok());
  EXPECT_LT(crossing.b.transport->deadline_ns(), base::never_ns) << "the process must wake for it";
  crossing.finish();
  EXPECT_EQ(crossing.b.sink.operations, (std::vector<Done>{{incoming_token, false}}));
  EXPECT_TRUE(crossing.is_untouched());
  EXPECT_EQ(crossing.b.transport->deadline_ns(), base::never_ns);
}

TEST(VerbsZeroCopy, NothingIsWrittenOnceItIsAbandoned) {
  Crossing crossing;
  const Result<Clearance> clearance = crossing.expect();
  ASSERT_TRUE(clearance.ok());
  crossing.back->stop_expecting(incoming_token);
  EXPECT_TRUE(crossing.send(clearance->bytes()));
  settle(crossing.a, crossing.b);
  EXPECT_TRUE(crossing.is_untouched());
  EXPECT_TRUE(crossing.b.sink.operations.empty()) << "it is nobody's any more";
  EXPECT_EQ(crossing.a.sink.operations, (std::vector<Done>{{outgoing_token, true}})) << "it left";
}

TEST(VerbsZeroCopy, AnotherPeersLinkCanNotAbandonIt) {
  Crossing crossing;
  End c(2, in_parts());
  const Result<Clearance> clearance = crossing.expect();
  ASSERT_TRUE(clearance.ok());
  crossing.b.connect(c).stop_expecting(incoming_token);
  ASSERT_TRUE(crossing.send(clearance->bytes()));
  crossing.finish();
  EXPECT_EQ(crossing.target, crossing.source);
}

TEST(VerbsZeroCopy, AClearanceThatMakesNoSenseIsRefused) {
  Crossing crossing;
  const Result<Clearance> clearance = crossing.expect();
  ASSERT_TRUE(clearance.ok());
  EXPECT_FALSE(crossing.send({}));
  EXPECT_FALSE(crossing.send(clearance->bytes().first(3)));
  std::vector<std::byte> wrong(clearance->bytes().begin(), clearance->bytes().end());
  std::ranges::fill(wrong, std::byte{0xff});
  EXPECT_FALSE(crossing.send(wrong));
}

TEST(VerbsZeroCopy, WhatIsUnderWayEndsWithTheTransport) {
  Crossing crossing;
  const Result<Clearance> clearance = crossing.expect();
  ASSERT_TRUE(clearance.ok());
  ASSERT_TRUE(crossing.send(clearance->bytes()));
  crossing.source_held.reset();
  crossing.target_held.reset();
  crossing.a.transport.reset();
  crossing.b.transport.reset();
  EXPECT_TRUE(crossing.b.sink.operations.empty()) << "the sink may be gone as well";
}

}  // namespace
}  // namespace hawser::transport::verbs
