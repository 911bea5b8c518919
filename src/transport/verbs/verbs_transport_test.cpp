// Two ends of the transport in one process, over softrdma.
#include <gtest/gtest.h>

#include <poll.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memory/registration/code_of_libc.hpp"
#include "transport/verbs/test_end.hpp"

namespace hawser::transport::verbs {
namespace {

TEST(VerbsTransport, APeerIsReachedWithoutAConnection) {
  End a(0);
  End b(1);
  Link& link = a.connect(b);
  EXPECT_TRUE(link.channels().has(ChannelKind::ud_send));
  EXPECT_TRUE(link.may_lose_frames());
  EXPECT_EQ(&a.connect(b), &link);
  const std::size_t largest = link.frame_bytes_max(ChannelKind::ud_send);
  EXPECT_TRUE(std::has_single_bit(largest + sizeof(DatagramHeader))) << "an MTU";
  EXPECT_GE(largest, 1000U);
  std::uint64_t number = 0;
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{40}, std::size_t{41}, std::size_t{500}, largest}) {
    std::byte* const frame = send_datagram(link, bytes, number++);
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame) % 8, 0U);
    link.release(ChannelKind::ud_send, frame);
    settle(a, b);
    ASSERT_EQ(b.sink.arrivals.size(), number);
    EXPECT_EQ(b.sink.arrivals.back().bytes, bytes);
    EXPECT_EQ(b.sink.arrivals.back().number, number - 1);
  }
  EXPECT_EQ(b.sink.damaged, 0);
  EXPECT_EQ(b.sink.links.size(), 1U) << "told once of the peer that reached it first";
}

TEST(VerbsTransport, WhoWasReachedCanAnswer) {
  End a(0);
  End b(1);
  Link& there = a.connect(b);
  there.release(ChannelKind::ud_send, send_datagram(there, 8, 0));
  settle(a, b);
  ASSERT_EQ(b.sink.links.size(), 1U);
  Link& back = *b.sink.links.front();
  EXPECT_EQ(&b.connect(a), &back);
  back.release(ChannelKind::ud_send, send_datagram(back, 100, 0));
  settle(a, b);
  ASSERT_EQ(a.sink.arrivals.size(), 1U);
  EXPECT_TRUE(a.sink.links.empty()) << "it had connected itself";
}

/// Whether memory is first registered without a change to code that other threads may be running.
bool keeps_code_when_it_registers() {
  Pair pair;
  const memory::CodeOfLibc code = memory::code_of_libc();
  pair.connect();
  const auto bytes = std::make_unique<std::array<std::byte, 100'000>>();
  const auto address = reinterpret_cast<std::uintptr_t>(bytes->data());
  const bool is_held = pair.there->hold(address, bytes->size()).ok();
  return is_held && memory::code_of_libc() == code;
}

TEST(VerbsTransport, AProgramThatIsUnderWayKeepsItsCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process that has registered nothing yet
  EXPECT_EXIT(::_exit(keeps_code_when_it_registers() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(VerbsTransport, AStrangerIsNotHeard) {
  End a(0);
  End stranger(0, {}, std::byte{2});
  End b(1);
  Link& link = stranger.connect(b);
  link.release(ChannelKind::ud_send, send_datagram(link, 8, 0));
  settle(stranger, b);
  EXPECT_TRUE(b.sink.arrivals.empty());
  EXPECT_TRUE(b.sink.links.empty());
  EXPECT_EQ(b.transport->dropped(), 1U);
  Link& known = a.connect(b);
  known.release(ChannelKind::ud_send, send_datagram(known, 8, 0));
  settle(a, b);
  EXPECT_EQ(b.sink.arrivals.size(), 1U);
  link.release(ChannelKind::ud_send, send_datagram(link, 8, 0));
  settle(stranger, b);
  EXPECT_EQ(b.sink.arrivals.size(), 1U) << "not under the name of one who is known, either";
}

TEST(VerbsTransport, AKeptFrameCanBeSentAgain) {
  End a(0);
  End b(1);
  Link& link = a.connect(b);
  std::byte* const first = send_datagram(link, 64, 0);
  std::byte* const second = send_datagram(link, 64, 1);
  ASSERT_NE(second, first);
  for (int i = 0; i < 40; ++i)
    ASSERT_EQ(link.resend(ChannelKind::ud_send, first, 64, false), Link::Resent::sent);
  link.release(ChannelKind::ud_send, first);
  link.release(ChannelKind::ud_send, second);
  settle(a, b);
  ASSERT_EQ(b.sink.arrivals.size(), 42U);
  EXPECT_EQ(b.sink.arrivals[1].number, 1U);
  EXPECT_EQ(b.sink.arrivals.back().number, 0U);
}

TEST(VerbsTransport, BuffersGrowToTheirLimitAndLeaveRoomForOthersAndForAnswers) {
  Settings few;
  few.ud_send_buffers = 32;
  few.ud_send_buffers_max = 64;
  few.ud_queue_depth = 64;
  End a(0, few);
  End b(1);
  End c(2);
  Link& link = a.connect(b);
  const auto at_first = a.ledger.current_bytes(memory::Account::network_buffers);
  std::vector<std::byte*> kept;
  for (std::byte* frame = send_datagram(link, 8, 0); frame != nullptr;
       frame = send_datagram(link, 8, 0)) {
    kept.push_back(frame);
    ASSERT_LE(kept.size(), 64U);
    settle(a, b);
  }
  EXPECT_GT(kept.size(), 32U);
  EXPECT_GT(a.ledger.current_bytes(memory::Account::network_buffers), at_first);
  Link& other = a.connect(c);
  std::byte* const frame = send_datagram(other, 8, 0);
  EXPECT_NE(frame, nullptr) << "another peer finds room";
  const std::array<std::byte, 24> answer{};
  EXPECT_TRUE(link.send_once(ChannelKind::ud_send, answer));
  for (std::byte* each : kept) link.release(ChannelKind::ud_send, each);
  other.release(ChannelKind::ud_send, frame);
  std::byte* const next = send_datagram(link, 8, 1);
  ASSERT_NE(next, nullptr);
  link.release(ChannelKind::ud_send, next);
}

TEST(VerbsTransport, WhatHasLeftIsTakenBackBeforeThereIsMoreMemory) {
  Settings few;
  few.ud_send_buffers = 32;
  End a(0, few);
  End b(1);
  Link& link = a.connect(b);
  std::uint64_t number = 0;
  const auto send_one = [&](std::size_t bytes) {
    std::byte* const frame = send_datagram(link, bytes, number++);
    ASSERT_NE(frame, nullptr);
    link.release(ChannelKind::ud_send, frame);
    settle(a, b);
  };
  send_one(1000);
  const auto at_first = a.ledger.current_bytes(memory::Account::network_buffers);
  for (int i = 0; i < 200; ++i) send_one(1000);
  EXPECT_EQ(a.ledger.current_bytes(memory::Account::network_buffers), at_first);
  EXPECT_EQ(b.sink.arrivals.size(), number);
}

TEST(VerbsTransport, AShortFrameTakesAShortBuffer) {
  const auto bytes_of_first = [](std::size_t bytes) {
    End a(0);
    End b(1);
    Link& link = a.connect(b);
    const auto before = a.ledger.current_bytes(memory::Account::network_buffers);
    link.release(ChannelKind::ud_send, send_datagram(link, bytes, 0));
    return a.ledger.current_bytes(memory::Account::network_buffers) - before;
  };
  EXPECT_LT(2 * bytes_of_first(192), bytes_of_first(193));
}

TEST(VerbsTransport, SleepEndsWhenADatagramComes) {
  End a(0);
  End b(1);
  Link& link = a.connect(b);
  b.transport->arm();
  pollfd polled{b.transport->descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 0), 0);
  link.release(ChannelKind::ud_send, send_datagram(link, 8, 0));
  EXPECT_EQ(::poll(&polled, 1, 5000), 1);
  settle(a, b);
  EXPECT_EQ(b.sink.arrivals.size(), 1U);
  b.transport->arm();
  EXPECT_EQ(::poll(&polled, 1, 0), 0) << "what woke it is forgotten";
}

TEST(VerbsTransport, AWrongAddressOrDeviceIsASentence) {
  End a(0);
  const std::array<std::byte, 3> nonsense{};
  EXPECT_FALSE(a.transport->connect({1, 9, 0}, nonsense));
  memory::Ledger ledger;
  RecordingSink sink;
  Settings absent;
  absent.device = "mlx9_9";
  const auto opened = VerbsTransport::open({{1, 0, 0}, {}, &ledger, &sink, {}}, absent);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().sentence().find("mlx9_9"), std::string::npos);
  EXPECT_NE(opened.error().sentence().find("softrdma0"), std::string::npos);
}

}  // namespace
}  // namespace hawser::transport::verbs
