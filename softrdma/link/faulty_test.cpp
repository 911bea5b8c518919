#include "softrdma/link/faulty.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <vector>

namespace softrdma::link {
namespace {

constexpr std::uint32_t packets = 10000;
constexpr std::uint32_t tenth = 100'000;

/// Carries everything at once.
class Recorder final : public Link, public Sink {
 public:
  std::optional<qp::Path> path_to(const ibv_ah_attr&, ibv_mtu) const override { return qp::Path{}; }
  bool has_room(const qp::Destination&) override { return true; }
  void send(const qp::Outgoing& packet, const ibv_ah_attr&) override {
    sequences.push_back(packet.headers.sequence);
    std::vector<std::byte> bytes;
    packet.payload.append_to(&bytes);
    for (const std::byte byte : bytes) ones += std::popcount(std::to_integer<unsigned>(byte));
  }
  bool poll(Sink&, std::uint64_t) override { return false; }
  void on_arrival(const qp::Arrival&) override {}

  std::vector<std::uint32_t> sequences;
  int ones = 0;
};

Recorder run(const Faults& faults, std::uint64_t seed) {
  Recorder recorder;
  Faulty link(recorder, faults, seed);
  const std::array<std::byte, 8> zeros{};
  for (std::uint32_t i = 0; i < packets; ++i) {
    qp::Outgoing packet;
    packet.headers.sequence = i;
    packet.payload.add(zeros);
    link.send(packet, {});
    link.poll(recorder, std::uint64_t{1000} * (i + 1));
  }
  while (const auto deadline = link.deadline_ns()) link.poll(recorder, *deadline);
  return recorder;
}

TEST(Faulty, WithoutFaultsItIsNotThere) {
  const Recorder recorder = run({}, 1);
  EXPECT_EQ(recorder.sequences.size(), packets);
  EXPECT_TRUE(std::ranges::is_sorted(recorder.sequences));
  EXPECT_EQ(recorder.ones, 0);
}

TEST(Faulty, LosesAsManyAsItIsTold) {
  const auto left = run({.lost = tenth}, 1).sequences.size();
  EXPECT_NEAR(static_cast<double>(left), packets * 0.9, packets * 0.02);
}

TEST(Faulty, RepeatsAsManyAsItIsTold) {
  const Recorder recorder = run({.repeated = tenth}, 1);
  EXPECT_NEAR(static_cast<double>(recorder.sequences.size()), packets * 1.1, packets * 0.02);
  EXPECT_EQ(std::set(recorder.sequences.begin(), recorder.sequences.end()).size(), packets);
}

TEST(Faulty, WhatIsLateComesAfterOthers) {
  const Recorder recorder = run({.late = tenth}, 1);
  EXPECT_EQ(recorder.sequences.size(), packets);
  EXPECT_FALSE(std::ranges::is_sorted(recorder.sequences));
  EXPECT_EQ(std::set(recorder.sequences.begin(), recorder.sequences.end()).size(), packets);
}

TEST(Faulty, DelaysEveryPacketInItsTurn) {
  constexpr std::uint64_t delay_ns = 5000;
  Recorder recorder;
  Faulty link(recorder, {.repeated = 1'000'000, .delay_ns = delay_ns}, 1);
  // What time it is when they are sent, the next poll tells.
  for (std::uint32_t i = 0; i < 3; ++i) {
    qp::Outgoing packet;
    packet.headers.sequence = i;
    link.send(packet, {});
  }
  EXPECT_TRUE(link.deadline_ns().has_value());
  link.poll(recorder, 1000);
  EXPECT_EQ(link.deadline_ns(), 1000 + delay_ns);
  link.poll(recorder, 1000 + delay_ns - 1);
  EXPECT_TRUE(recorder.sequences.empty());
  link.poll(recorder, 1000 + delay_ns);
  EXPECT_EQ(recorder.sequences, (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(link.deadline_ns(), std::nullopt);
}

TEST(Faulty, SendsWhatIsOnItsWayWhenTheSenderEnds) {
  Recorder recorder;
  Faulty link(recorder, {.delay_ns = 5000}, 1);
  for (std::uint32_t i = 0; i < 2; ++i) {
    qp::Outgoing packet;
    packet.headers.sequence = i;
    link.send(packet, {});
    if (i == 0) link.poll(recorder, 1000);
  }
  link.send_delayed();
  EXPECT_EQ(recorder.sequences, (std::vector<std::uint32_t>{0, 1}));
  link.poll(recorder, 100000);
  EXPECT_EQ(recorder.sequences.size(), 2U);
}

TEST(Faulty, FlipsOneBitOfAPayload) {
  const Recorder recorder = run({.flipped = tenth}, 1);
  EXPECT_EQ(recorder.sequences.size(), packets);
  EXPECT_NEAR(recorder.ones, packets * 0.1, packets * 0.02);
}

TEST(Faulty, TheSeedTellsEverything) {
  const Faults faults{.lost = tenth, .repeated = tenth, .late = tenth};
  EXPECT_EQ(run(faults, 5).sequences, run(faults, 5).sequences);
  EXPECT_NE(run(faults, 5).sequences, run(faults, 6).sequences);
}

}  // namespace
}  // namespace softrdma::link
