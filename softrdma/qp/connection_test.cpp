// Requester and responder against one another: what they do, and what losses cost.
#include <sys/mman.h>

#include "softrdma/qp/congestion.hpp"
#include "softrdma/qp/connection_ends.hpp"

namespace softrdma::qp::connected {
namespace {

TEST_F(Connection, SendsArriveInOrderAndWhole) {
  for (std::uint32_t bytes : {0U, 1U, 63U, 64U, 65U, 128U, 200U}) {
    b.add_receive(1024, 256);
    a.fill(0, bytes, static_cast<std::uint8_t>(bytes));
    a.add(IBV_WR_SEND, 0, bytes);
    ASSERT_TRUE(run());
    EXPECT_EQ(b.part(1024, bytes), a.part(0, bytes));
    ASSERT_FALSE(b.received.empty());
    EXPECT_EQ(b.received.back().bytes, bytes);
  }
  EXPECT_EQ(b.established, 1);
  expect_all_sent();
}

TEST_F(Connection, ImmediateSolicitedAndInlineDataArrive) {
  b.add_receive(0, 64);
  SendWork& work = a.add(IBV_WR_SEND_WITH_IMM, 0, 5);
  work.is_inline = true;
  work.flags |= IBV_SEND_SOLICITED;
  work.immediate = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::ranges::fill(a.sends.inline_data(work), std::byte{9});
  ASSERT_TRUE(run());
  ASSERT_EQ(b.received.size(), 1U);
  EXPECT_EQ(b.part(0, 5), Bytes(5, std::byte{9}));
  EXPECT_TRUE(b.received[0].solicited);
  EXPECT_EQ(b.received[0].flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(b.received[0].immediate, work.immediate);
  expect_all_sent();
}

TEST_F(Connection, WritesAndReadsMoveMemory) {
  a.fill(0, 1000, 1);
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 1000, b, 2000);
  a.add_remote(IBV_WR_RDMA_READ, 2000, 1000, b, 2000);
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 0, b, 0);
  a.add_remote(IBV_WR_RDMA_READ, 0, 0, b, 0);
  ASSERT_TRUE(run());
  EXPECT_EQ(b.part(2000, 1000), a.part(0, 1000));
  EXPECT_EQ(a.part(2000, 1000), a.part(0, 1000));
  EXPECT_TRUE(b.received.empty());
  expect_all_sent();
}

TEST_F(Connection, AWriteWithImmediateTakesAReceive) {
  a.fill(0, 100, 1);
  a.add_remote(IBV_WR_RDMA_WRITE_WITH_IMM, 0, 100, b, 500);
  b.add_receive(0, 0);
  ASSERT_TRUE(run());
  EXPECT_EQ(b.part(500, 100), a.part(0, 100));
  ASSERT_EQ(b.received.size(), 1U);
  EXPECT_EQ(b.received[0].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(b.received[0].bytes, 100U);
  expect_all_sent();
}

TEST_F(Connection, AtomicsGiveTheValueBefore) {
  b.word(80) = 5;
  a.add_remote(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, b, 80).compare_or_add = 3;
  SendWork& swap = a.add_remote(IBV_WR_ATOMIC_CMP_AND_SWP, 8, 8, b, 80);
  swap.compare_or_add = 8;
  swap.swap = 100;
  SendWork& miss = a.add_remote(IBV_WR_ATOMIC_CMP_AND_SWP, 16, 8, b, 80);
  miss.compare_or_add = 8;
  miss.swap = 200;
  ASSERT_TRUE(run());
  EXPECT_EQ(a.word(0), 5U);
  EXPECT_EQ(a.word(8), 8U);
  EXPECT_EQ(a.word(16), 100U);
  EXPECT_EQ(b.word(80), 100U);
  expect_all_sent();
}

TEST_F(Connection, ASendWaitsForItsReceive) {
  a.add(IBV_WR_SEND, 0, 100);
  a.add(IBV_WR_SEND, 0, 10);
  Network network(a, b, {}, 1);
  EXPECT_FALSE(network.run());  // it goes on asking
  EXPECT_TRUE(b.received.empty());
  EXPECT_GT(a.requester.counters().not_ready, 10U);
  for (int i = 0; i < 2; ++i) b.add_receive(0, 100);
  EXPECT_TRUE(network.run());
  EXPECT_EQ(b.received.size(), 2U);
  expect_all_sent();
}

TEST_F(Connection, PatienceWithAnUnreadyReceiverEnds) {
  a.context.rnr_retry = 3;
  a.start();
  a.add(IBV_WR_SEND, 0, 10);
  a.add(IBV_WR_SEND, 0, 10);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR}));
  EXPECT_EQ(a.requester.counters().not_ready, 4U);
}

TEST_F(Connection, SilenceEndsIt) {
  a.add(IBV_WR_SEND, 0, 10);
  a.add(IBV_WR_SEND, 0, 10);
  ASSERT_TRUE(run({.lost = 100}));
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR}));
  EXPECT_EQ(a.requester.counters().timeouts, std::uint64_t{retry_count} + 1);
}

// What follows a lost packet tells of it: nobody has to wait, and it counts as one loss.
TEST_F(Connection, OneLossIsMendedAtOnce) {
  a.fill(0, 1000, 1);
  for (std::uint64_t lost = 1; lost <= 15; ++lost) {
    a.context.retry_count = 1;
    a.start();
    b.start();
    const std::uint64_t timeouts = a.requester.counters().timeouts;
    a.add_remote(IBV_WR_RDMA_WRITE, 0, 1000, b, 2000);
    ASSERT_TRUE(run({.lost_packet = lost}));
    EXPECT_EQ(a.requester.counters().timeouts, timeouts) << "packet " << lost;
    EXPECT_EQ(b.part(2000, 1000), a.part(0, 1000));
  }
  expect_all_sent();
}

TEST_F(Connection, OneLostPieceOfAReadIsMendedAtOnce) {
  b.fill(0, 1400, 1);
  constexpr std::uint64_t packets = 3 + (1400 - 1) / segment_bytes + 1;
  int waits = 0;
  for (std::uint64_t lost = 1; lost <= packets; ++lost) {
    a.context.retry_count = 1;
    a.start();
    b.start();
    const std::uint64_t timeouts = a.requester.counters().timeouts;
    a.add_remote(IBV_WR_RDMA_READ, 2000, 1400, b, 0);
    ASSERT_TRUE(run({.lost_packet = lost}));
    waits += static_cast<int>(a.requester.counters().timeouts - timeouts);
    EXPECT_EQ(a.part(2000, 1400), b.part(0, 1400));
    std::ranges::fill(a.ram, std::byte{0});
  }
  // Nothing tells of the loss of the last piece or the last request.
  EXPECT_LE(waits, 2);
  expect_all_sent();
}

TEST_F(Connection, CongestionHalvesWhatIsOnItsWay) {
  const auto count_sent = [&](std::uint64_t now_ns) {
    Outgoing out;
    int count = 0;
    while (a.requester.next(now_ns, &out)) ++count;
    return count;
  };
  constexpr std::uint64_t begin_ns = 1'000'000;
  a.requester.on_congestion(begin_ns);
  a.requester.on_congestion(begin_ns + notice_interval_ns - 1);
  for (int i = 0; i < 32; ++i) a.add(IBV_WR_SEND, 0, 8);
  EXPECT_EQ(count_sent(begin_ns), 8) << "of 16; the second notice told of the same";
  EXPECT_EQ(a.requester.counters().notices, 1U);
  a.requester.on_congestion(begin_ns + notice_interval_ns);
  EXPECT_EQ(a.requester.counters().notices, 2U);
}

TEST_F(Connection, AShrunkenWindowAsksForItsAnswer) {
  // Each loss halves the window; what then goes out is less than what is acknowledged by itself.
  a.context.window_packets = 64;
  a.start();
  b.add_receive(0, 4096);
  a.add(IBV_WR_SEND, 0, 4096);
  Network network(a, b, {.lost_packet = 30}, 1);
  ASSERT_TRUE(network.run());
  for (std::uint64_t lost = 5; lost < 60; lost += 9) {
    b.add_receive(0, 4096);
    a.add(IBV_WR_SEND, 0, 4096);
    ASSERT_TRUE(run({.lost_packet = lost}));
  }
  EXPECT_EQ(b.received.size(), 8U);
  EXPECT_EQ(a.requester.counters().timeouts, 0U);
  expect_all_sent();
}

TEST_F(Connection, InvalidationTakesTheKeyAway) {
  const std::uint32_t window = *b.regions.insert({.address = 0,
                                                  .bytes = 8,
                                                  .memory = b.ram.data(),
                                                  .domain = domain,
                                                  .access = IBV_ACCESS_REMOTE_WRITE});
  b.add_receive(0, 100);
  b.add_receive(0, 100);
  a.add(IBV_WR_SEND_WITH_INV, 0, 10).invalidate_key = window;
  ASSERT_TRUE(run());
  expect_all_sent();
  EXPECT_EQ(b.received[0].flags, static_cast<unsigned>(IBV_WC_WITH_INV));
  EXPECT_EQ(b.received[0].invalidated_key, window);
  a.add(IBV_WR_SEND_WITH_INV, 0, 10).invalidate_key = window;
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses.back(), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Connection, AFenceWaitsForReads) {
  a.context.reads_max = 4;
  a.add_remote(IBV_WR_RDMA_READ, 0, 8, b, 0);
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 8, b, 8).flags |= IBV_SEND_FENCE;
  Outgoing out;
  EXPECT_TRUE(a.requester.next(1, &out));
  EXPECT_FALSE(a.requester.next(1, &out));
}

TEST_F(Connection, ReadsOnTheirWayAreLimited) {
  a.context.reads_max = 2;
  for (int i = 0; i < 5; ++i) a.add_remote(IBV_WR_RDMA_READ, 0, 8, b, 0);
  Outgoing out;
  EXPECT_TRUE(a.requester.next(1, &out));
  EXPECT_TRUE(a.requester.next(1, &out));
  EXPECT_FALSE(a.requester.next(1, &out));
}

TEST_F(Connection, AReadOfMemoryThatIsGoneIsNotAnsweredAgain) {
  constexpr std::size_t bytes = 4096;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const first = static_cast<std::byte*>(memory);
  std::fill_n(first, segment_bytes, std::byte{7});
  const std::uint64_t where = End::address(memory_bytes);
  SendWork& work = a.add(IBV_WR_RDMA_READ, 0, 2 * segment_bytes);
  work.remote_address = where;
  work.remote_key = *b.regions.insert({.address = where,
                                       .bytes = bytes,
                                       .memory = first,
                                       .domain = domain,
                                       .access = IBV_ACCESS_REMOTE_READ});
  Outgoing request;
  ASSERT_TRUE(a.requester.next(1, &request));
  const Bytes wire = to_bytes(request);
  const auto ask = [&] { b.responder.on_request(*wire::parse(wire)); };
  Outgoing answer;
  for (const bool is_repeated : {false, true}) {
    ask();
    for (std::size_t packet = 0; packet < 2; ++packet) {
      ASSERT_TRUE(b.responder.next(&answer));
      EXPECT_EQ(answer.is_copy, is_repeated);
      const Bytes given = to_bytes(answer);
      EXPECT_TRUE(std::ranges::equal(
          std::span(given).last(segment_bytes),
          std::span(first, bytes).subspan(packet * segment_bytes, segment_bytes)));
    }
    EXPECT_FALSE(b.responder.next(&answer));
  }
  ASSERT_EQ(::munmap(memory, bytes), 0);
  ask();
  EXPECT_FALSE(b.responder.next(&answer));
  EXPECT_FALSE(b.responder.has_answers());
  EXPECT_EQ(b.responder.counters().duplicates, 2U);
}

TEST_F(Connection, DrainingEndsWhatHasBegunAndNothingElse) {
  for (int i = 0; i < 2; ++i) b.add_receive(0, 256);
  a.add(IBV_WR_SEND, 0, 200);
  Outgoing first;
  ASSERT_TRUE(a.requester.next(1, &first));
  a.requester.drain();
  a.add(IBV_WR_SEND, 0, 10);
  EXPECT_FALSE(a.requester.is_drained());
  ASSERT_TRUE(run());  // the first packet is lost, and repeated
  EXPECT_TRUE(a.requester.is_drained());
  EXPECT_EQ(a.drained, 1);
  EXPECT_EQ(b.received.size(), 1U);
  a.requester.resume();
  ASSERT_TRUE(run());
  EXPECT_EQ(b.received.size(), 2U);
  expect_all_sent();
}

TEST_F(Connection, APeerOfThisHostIsCopiedToAndFromWithoutPackets) {
  a.neighbour = &b;
  a.fill(0, 300, 1);
  b.fill(1024, 300, 7);
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 300, b, 2048);
  a.add_remote(IBV_WR_RDMA_READ, 2048, 300, b, 1024).flags |= IBV_SEND_FENCE;
  Network network(a, b, {}, 0);
  ASSERT_TRUE(network.run());
  EXPECT_EQ(network.packets, 0U);
  EXPECT_EQ(a.statuses, std::vector(2, IBV_WC_SUCCESS));
  EXPECT_EQ(b.part(2048, 300), a.part(0, 300));
  EXPECT_EQ(a.part(2048, 300), b.part(1024, 300));
}

TEST_F(Connection, NothingOnItsWayIsOvertakenByACopyWithoutPackets) {
  a.neighbour = &b;
  b.add_receive(2048, 8);
  a.add(IBV_WR_SEND, 0, 8);
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 8, b, 2048);
  Outgoing out;
  ASSERT_TRUE(a.requester.next(1, &out));
  ASSERT_TRUE(a.requester.next(1, &out)) << "by a packet: the message has not been answered";
  EXPECT_EQ(out.headers.opcode.operation, wire::Operation::write_only);
  EXPECT_EQ(a.asked_directly, 0);
}

TEST_F(Connection, WhatLocalKeysDoNotOpenIsNotCopiedWithoutPackets) {
  a.neighbour = &b;
  SendWork& work = a.add_remote(IBV_WR_RDMA_READ, 0, 8, b, 0);
  a.sends.entries(work)[0].lkey ^= 1;
  Network network(a, b, {}, 0);
  ASSERT_TRUE(network.run());
  EXPECT_EQ(a.asked_directly, 0);
  EXPECT_EQ(a.statuses, std::vector(1, IBV_WC_LOC_PROT_ERR));
}

}  // namespace
}  // namespace softrdma::qp::connected
