// Transfers without copies over softrdma, both ends in one process.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>

#include <array>
#include <random>

#include "transport/verbs/zero_copy_ends.hpp"

namespace hawser::transport::verbs {
namespace {

using Received = ZeroCopyReceiver::Event;
using Sent = ZeroCopySender::Event;
using Kinds = std::vector<Received::Kind>;

constexpr std::byte untouched{0xee};
constexpr auto network_buffers = memory::Account::network_buffers;

/// Few segments at a time, so that few make many batches.
constexpr ZeroCopySettings few{.queue_pairs_max = 2,
                               .receive_depth = 8,
                               .send_depth = 6,
                               .batches_max = 4,
                               .first_timeout_ns = 1000,
                               .next_timeout_ns = 100};

void fill(std::vector<std::byte>& bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
}

bool is_untouched(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == untouched; });
}

Kinds kinds_of(const std::vector<Received>& events) {
  Kinds kinds;
  for (const Received& event : events) kinds.push_back(event.kind);
  return kinds;
}

/// Some of the segments that CLEAR is about.
ClearToSend part_of(const ClearToSend& clear, std::uint32_t first, std::uint32_t segments) {
  ClearToSend part = clear;
  part.first_segment = first;
  part.segments = segments;
  return part;
}

/// One transfer of five segments that has begun, as most of what goes wrong begins.
struct BegunTransfer {
  static constexpr std::uint32_t segments = 5;

  explicit BegunTransfer(ZeroCopyEnds& both)
      : ends(both),
        source(both.port, segments * both.segment_bytes - 3),
        target(both.port, source.bytes.size(), untouched) {
    fill(source.bytes, 5);
    begin();
  }
  void begin() {
    const Result<ClearToSend> begun = ends.begin(1, target.bytes, target.key());
    if (!begun) throw std::runtime_error(begun.error().sentence());
    clear = *begun;
  }
  void send(std::uint32_t first, std::uint32_t count) { send(part_of(clear, first, count)); }
  void send(const ClearToSend& what) {
    if (const auto sent = ends.send(what, source.bytes, source.key()); !sent.ok())
      throw std::runtime_error(sent.error().sentence());
    ends.settle();
  }
  [[nodiscard]] bool is_complete() const { return target.bytes == source.bytes; }
  /// All of it, sent anew, does not reach the memory, which is the user's again.
  void expect_that_nothing_is_written() {
    std::ranges::fill(target.bytes, untouched);
    for (std::uint32_t i = 0; i < segments; ++i) send(i, 1);
    EXPECT_TRUE(is_untouched(target.bytes));
  }

  ZeroCopyEnds& ends;
  RegisteredMemory source;
  RegisteredMemory target;
  ClearToSend clear;
};

TEST(ZeroCopy, MessagesOfEachSizeComeWholeAndTouchNothingBehind) {
  ZeroCopyEnds ends;
  const std::size_t mtu = ends.segment_bytes;
  const std::size_t batch = 256 * mtu;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{7}, mtu - 1, mtu, mtu + 1, 3 * mtu,
                                  batch - 1, batch, batch + 1, 3 * batch + 17}) {
    RegisteredMemory source(ends.port, bytes);
    RegisteredMemory target(ends.port, bytes + mtu, untouched);
    fill(source.bytes, bytes);
    ASSERT_EQ(ends.transfer(source, target, bytes), Received::Kind::finished) << bytes;
    EXPECT_TRUE(std::equal(source.bytes.begin(), source.bytes.end(), target.bytes.begin()))
        << bytes;
    EXPECT_TRUE(is_untouched(std::span(target.bytes).subspan(bytes))) << bytes;
  }
}

TEST(ZeroCopy, ABatchFollowsTheOther) {
  ZeroCopyEnds ends(few);
  constexpr std::size_t segments = 83;
  const std::size_t bytes = segments * ends.segment_bytes - 1;
  RegisteredMemory source(ends.port, bytes);
  RegisteredMemory target(ends.port, bytes);
  fill(source.bytes, 1);
  ASSERT_EQ(ends.transfer(source, target, bytes), Received::Kind::finished);
  EXPECT_EQ(target.bytes, source.bytes);
  EXPECT_EQ(ends.batches, 10) << "and the first";
}

TEST(ZeroCopy, TransfersFollowOneAnotherOnOneQueuePairEachWithAKeyOfItsOwn) {
  ZeroCopyEnds ends(few);
  RegisteredMemory source(ends.port, 20 * ends.segment_bytes);
  RegisteredMemory target(ends.port, source.bytes.size());
  std::optional<ClearToSend> before;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::size_t bytes = source.bytes.size() - i;
    fill(source.bytes, i);
    ASSERT_EQ(ends.transfer(source, target, bytes), Received::Kind::finished);
    EXPECT_TRUE(std::equal(target.bytes.begin(),
                           target.bytes.begin() + static_cast<std::ptrdiff_t>(bytes),
                           source.bytes.begin()));
    const Result<ClearToSend> clear = ends.begin(9, target.bytes, target.key());
    ASSERT_TRUE(clear);
    ends.receiver->cancel(9);
    if (before) {
      EXPECT_EQ(clear->queue_pair, before->queue_pair);
      EXPECT_NE(clear->queue_key, before->queue_key);
      EXPECT_NE(clear->transfer, before->transfer);
    }
    before = *clear;
  }
}

TEST(ZeroCopy, SeveralTransfersGoOnAtATimeAndOneTooManyIsToldSo) {
  ZeroCopyEnds ends(few);
  RegisteredMemory source(ends.port, 3 * ends.segment_bytes);
  fill(source.bytes, 2);
  RegisteredMemory first(ends.port, source.bytes.size());
  RegisteredMemory second(ends.port, source.bytes.size());
  const Result<ClearToSend> one = ends.begin(1, first.bytes, first.key());
  const Result<ClearToSend> two = ends.begin(2, second.bytes, second.key());
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->queue_pair, two->queue_pair);
  const Result<ClearToSend> third = ends.begin(3, second.bytes, second.key());
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code(), static_cast<int>(ErrorClass::no_mem));
  EXPECT_NE(third.error().sentence().find("all 2 queue pairs"), std::string::npos);
  ASSERT_TRUE(ends.send(*two, source.bytes, source.key()));
  ASSERT_TRUE(ends.send(*one, source.bytes, source.key()));
  ends.settle();
  EXPECT_EQ(kinds_of(ends.received), Kinds(2, Received::Kind::finished));
  EXPECT_EQ(ends.received.front().owner, 2U);
  EXPECT_EQ(ends.received.back().owner, 1U);
  EXPECT_EQ(first.bytes, source.bytes);
  EXPECT_EQ(second.bytes, source.bytes);
  EXPECT_TRUE(ends.begin(3, second.bytes, second.key()));
}

TEST(ZeroCopy, ALostSegmentIsNoticedByTheNextAndTheMemoryIsTheUsersAgain) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  transfer.send(0, 2);
  EXPECT_TRUE(ends.received.empty());
  transfer.send(3, 1);
  ASSERT_EQ(kinds_of(ends.received), Kinds{Received::Kind::failed});
  EXPECT_EQ(ends.received.front().owner, 1U);
  EXPECT_EQ(ends.receiver->under_way(), 0U);
  EXPECT_EQ(ends.receiver->deadline_ns(), never_ns);
  transfer.expect_that_nothing_is_written();
  transfer.begin();
  transfer.send(0, transfer.segments);
  EXPECT_EQ(ends.received.back().kind, Received::Kind::finished)
      << "the queue pair is as good as new";
  EXPECT_TRUE(transfer.is_complete());
}

TEST(ZeroCopy, ALostLastSegmentIsNoticedByTheTime) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  transfer.send(0, transfer.segments - 1);
  EXPECT_EQ(ends.receiver->deadline_ns(), ends.now_ns + few.next_timeout_ns);
  ends.now_ns = ends.receiver->deadline_ns() - 1;
  ends.settle();
  EXPECT_TRUE(ends.received.empty());
  ++ends.now_ns;
  ends.settle();
  EXPECT_EQ(kinds_of(ends.received), Kinds{Received::Kind::failed});
  transfer.expect_that_nothing_is_written();
}

TEST(ZeroCopy, ASenderThatIsGoneIsNoticedByTheTime) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  EXPECT_EQ(ends.receiver->deadline_ns(), ends.now_ns + few.first_timeout_ns);
  ends.now_ns += few.first_timeout_ns;
  ends.settle();
  EXPECT_EQ(kinds_of(ends.received), Kinds{Received::Kind::failed});
  transfer.expect_that_nothing_is_written();
}

TEST(ZeroCopy, WhatHasArrivedWhileNobodyLookedIsNotLate) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  ASSERT_TRUE(ends.send(transfer.clear, transfer.source.bytes, transfer.source.key()));
  while (ends.sender->under_way() > 0) ends.sender->poll();
  ends.now_ns += 10 * few.first_timeout_ns;
  ends.settle();
  EXPECT_EQ(kinds_of(ends.received), Kinds{Received::Kind::finished});
  EXPECT_TRUE(transfer.is_complete());
}

TEST(ZeroCopy, WhatWaitsBehindAnotherTransferIsNotLate) {
  ZeroCopyEnds ends({.first_timeout_ns = 1000, .next_timeout_ns = 100});
  RegisteredMemory source(ends.port, 50 * ends.segment_bytes);
  RegisteredMemory first(ends.port, source.bytes.size());
  RegisteredMemory second(ends.port, source.bytes.size());
  for (RegisteredMemory* target : {&first, &second}) {
    const Result<ClearToSend> clear = ends.begin(1, target->bytes, target->key());
    ASSERT_TRUE(clear);
    ASSERT_TRUE(ends.send(*clear, source.bytes, source.key()));
  }
  while (ends.sender->under_way() > 0) ends.sender->poll();
  ends.now_ns += 1000;
  ends.settle();
  EXPECT_EQ(kinds_of(ends.received), Kinds(2, Received::Kind::finished));
}

TEST(ZeroCopy, ADoubledOrOvertakenSegmentIsAFailure) {
  for (const std::uint32_t next : {0U, 2U}) {
    ZeroCopyEnds ends(few);
    BegunTransfer transfer(ends);
    transfer.send(0, 1);
    transfer.send(next, 1);
    EXPECT_EQ(kinds_of(ends.received), Kinds{Received::Kind::failed});
    transfer.expect_that_nothing_is_written();
  }
}

TEST(ZeroCopy, AnotherLengthThanAgreedUponIsAFailure) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{99}, std::size_t{101}}) {
    ZeroCopyEnds ends(few);
    RegisteredMemory source(ends.port, bytes);
    RegisteredMemory target(ends.port, 200, untouched);
    const Result<ClearToSend> clear =
        ends.begin(1, std::span(target.bytes).first(100), target.key());
    ASSERT_TRUE(clear);
    ASSERT_TRUE(ends.send(*clear, source.bytes, source.key()));
    ends.settle();
    EXPECT_EQ(kinds_of(ends.received), Kinds{Received::Kind::failed});
    EXPECT_TRUE(is_untouched(std::span(target.bytes).subspan(100)));
  }
}

TEST(ZeroCopy, LateSegmentsOfAnEarlierTransferDoNotTouchThisOne) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  const ClearToSend earlier = transfer.clear;
  transfer.send(earlier);
  ASSERT_EQ(kinds_of(ends.received), Kinds{Received::Kind::finished});
  std::ranges::fill(transfer.target.bytes, untouched);
  transfer.begin();
  ASSERT_EQ(transfer.clear.queue_pair, earlier.queue_pair);
  transfer.send(earlier);
  EXPECT_TRUE(is_untouched(transfer.target.bytes));
  transfer.send(0, 2);
  transfer.send(earlier);
  transfer.send(2, transfer.segments - 2);
  EXPECT_EQ(kinds_of(ends.received), Kinds(2, Received::Kind::finished));
  EXPECT_TRUE(transfer.is_complete());
}

TEST(ZeroCopy, ASegmentOfAnotherTransferThatHasTheKeyIsAFailure) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  ClearToSend other = transfer.clear;
  other.transfer = static_cast<std::uint16_t>(other.transfer - 1);
  transfer.send(other);
  EXPECT_EQ(kinds_of(ends.received), Kinds{Received::Kind::failed});
}

TEST(ZeroCopy, ACancelledTransferWritesNothingAndReportsNothing) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  transfer.send(0, 2);
  ends.receiver->cancel(1);
  transfer.expect_that_nothing_is_written();
  EXPECT_TRUE(ends.received.empty());
  EXPECT_EQ(ends.receiver->under_way(), 0U);
}

TEST(ZeroCopy, AQueuePairThatHasFailedMeanwhileIsOpenedAnew) {
  const Port port = port_of_a_test();
  const CompletionQueue completions(ibv_create_cq(port.context.get(), 4, nullptr, nullptr, 0));
  ZeroCopyQueuePair queue_pair(port);
  const ibv_qp_cap one_of_each{.max_send_wr = 1,
                               .max_recv_wr = 1,
                               .max_send_sge = 1,
                               .max_recv_sge = 1,
                               .max_inline_data = 0};
  ASSERT_TRUE(queue_pair.make(completions.get(), one_of_each).ok());
  ASSERT_TRUE(queue_pair.open(1).ok());
  const std::uint32_t number = queue_pair.get()->qp_num;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(queue_pair.get(), &attributes, IBV_QP_STATE), 0);
  ASSERT_TRUE(queue_pair.open(2).ok());
  ibv_qp_init_attr made_with{};
  ASSERT_EQ(ibv_query_qp(queue_pair.get(), &attributes, IBV_QP_STATE | IBV_QP_QKEY, &made_with), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attributes.qkey, 2U);
  EXPECT_EQ(queue_pair.get()->qp_num, number);
}

TEST(ZeroCopy, WhateverTheNetworkDoesATransferIsRightOrFails) {
  ZeroCopyEnds ends(few);
  std::mt19937 random(2008);
  const auto draw = [&random](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  int finished = 0;
  int failed = 0;
  for (int round = 0; round < 100; ++round) {
    BegunTransfer transfer(ends);
    ends.received.clear();
    for (std::uint32_t i = 0; i < transfer.segments; ++i) {
      const std::uint32_t chance = draw(20);
      if (chance != 0) transfer.send(i, 1);
      if (chance == 1) transfer.send(draw(transfer.segments), 1);
    }
    ends.now_ns += few.first_timeout_ns;
    ends.settle();
    ASSERT_EQ(ends.received.size(), 1U);
    const bool is_finished = ends.received.front().kind == Received::Kind::finished;
    ++(is_finished ? finished : failed);
    if (is_finished) {
      EXPECT_TRUE(transfer.is_complete());
    }
    transfer.expect_that_nothing_is_written();
  }
  EXPECT_GT(finished, 25);
  EXPECT_GT(failed, 25);
}

TEST(ZeroCopy, TheSendersMemoryIsFreeOnceABatchHasLeft) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  const std::vector<std::byte> content = transfer.source.bytes;
  ASSERT_TRUE(ends.send(transfer.clear, transfer.source.bytes, transfer.source.key(), 77));
  while (ends.sender->events().empty()) ends.sender->poll();
  EXPECT_EQ(ends.sender->events().front().kind, Sent::Kind::left);
  EXPECT_EQ(ends.sender->events().front().owner, 77U);
  EXPECT_EQ(ends.sender->under_way(), 0U);
  std::ranges::fill(transfer.source.bytes, untouched);
  ends.settle();
  EXPECT_EQ(transfer.target.bytes, content);
}

TEST(ZeroCopy, BatchesThatWaitAreBoundedAndLeaveInTurn) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  std::uint64_t accepted = 0;
  // Nothing that is posted is reported before the first poll().
  while (ends.send(transfer.clear, transfer.source.bytes, transfer.source.key(), accepted).ok()) {
    ASSERT_LE(++accepted, few.batches_max);
  }
  EXPECT_EQ(accepted, few.batches_max);
  ends.settle();
  ASSERT_EQ(ends.sent.size(), accepted);
  for (std::uint64_t i = 0; i < accepted; ++i) {
    EXPECT_EQ(ends.sent[i].owner, i);
    EXPECT_EQ(ends.sent[i].kind, Sent::Kind::left);
  }
  EXPECT_TRUE(ends.send(transfer.clear, transfer.source.bytes, transfer.source.key()));
}

TEST(ZeroCopy, ABatchThatIsNotOfTheMessageIsRefusedWithASentence) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  const auto refused = ends.send(part_of(transfer.clear, 4, 2), transfer.source.bytes, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().sentence().find("segments 4 to 6"), std::string::npos);
  EXPECT_EQ(ends.sender->under_way(), 0U);
}

TEST(ZeroCopy, ABatchThatTheAdapterRefusesFailsAndOthersGoOn) {
  ZeroCopyEnds ends(few);
  BegunTransfer transfer(ends);
  constexpr std::uint32_t no_key = 0xffff'fff0;
  ASSERT_TRUE(ends.send(transfer.clear, transfer.source.bytes, no_key, 1));
  ends.settle();
  ASSERT_EQ(ends.sent.size(), 1U);
  EXPECT_EQ(ends.sent.front().kind, Sent::Kind::failed);
  EXPECT_EQ(ends.sent.front().owner, 1U);
  EXPECT_TRUE(is_untouched(transfer.target.bytes));
  transfer.send(transfer.clear);
  EXPECT_EQ(ends.sent.back().kind, Sent::Kind::left);
  EXPECT_TRUE(transfer.is_complete());
}

TEST(ZeroCopy, WhatHasLeftBeforeAFailureIsToldSoAndWhatWasBehindItFails) {
  ZeroCopyEnds ends;
  BegunTransfer transfer(ends);
  constexpr std::uint32_t no_key = 0xffff'fff0;
  for (const std::uint32_t key : {transfer.source.key(), no_key, transfer.source.key()}) {
    ASSERT_TRUE(ends.send(transfer.clear, transfer.source.bytes, key));
  }
  ends.settle();
  ASSERT_EQ(ends.sent.size(), 3U);
  EXPECT_EQ(ends.sent[0].kind, Sent::Kind::left);
  EXPECT_EQ(ends.sent[1].kind, Sent::Kind::failed);
  EXPECT_EQ(ends.sent[2].kind, Sent::Kind::failed);
  EXPECT_TRUE(transfer.is_complete());
}

TEST(ZeroCopy, MemoryThatTheReceiverCannotWriteIsAFailure) {
  ZeroCopyEnds ends(few);
  RegisteredMemory source(ends.port, 10);
  std::array<std::byte, 10> memory{};
  constexpr std::uint32_t no_key = 0xffff'fff0;
  const Result<ClearToSend> clear = ends.begin(1, memory, no_key);
  ASSERT_TRUE(clear);
  ASSERT_TRUE(ends.send(*clear, source.bytes, source.key()));
  ends.settle();
  EXPECT_EQ(kinds_of(ends.received), Kinds{Received::Kind::failed});
  EXPECT_EQ(ends.transfer(source, source, 10), Received::Kind::finished);
}

TEST(ZeroCopy, MemoryIsChargedFromTheFirstUseToTheEnd) {
  ZeroCopyEnds ends(few);
  EXPECT_EQ(ends.ledger.current_bytes(network_buffers), 0);
  {
    BegunTransfer transfer(ends);
    const std::int64_t charged = ends.ledger.current_bytes(network_buffers);
    EXPECT_GT(charged, 0);
    RegisteredMemory other(ends.port, 1);
    ASSERT_TRUE(ends.begin(2, other.bytes, other.key()));
    EXPECT_EQ(ends.ledger.current_bytes(network_buffers), charged) << "one route for all";
    ends.receiver.reset();
  }
  EXPECT_EQ(ends.ledger.current_bytes(network_buffers), 0);
}

TEST(ZeroCopy, ASleepingReceiverIsWokenWhenABatchIsComplete) {
  ZeroCopyEnds ends(few);
  const CompletionChannel channel(ibv_create_comp_channel(ends.port.context.get()));
  ASSERT_NE(channel, nullptr);
  ::fcntl(channel->fd, F_SETFL, O_NONBLOCK);
  ends.receiver.emplace(ends.port, few, ends.ledger, channel.get());
  BegunTransfer transfer(ends);
  ends.receiver->arm();
  pollfd polled{channel->fd, POLLIN, 0};
  transfer.send(0, transfer.segments);
  EXPECT_EQ(::poll(&polled, 1, 5000), 1);
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel.get(), &queue, &context), 0);
  ibv_ack_cq_events(queue, 1);
  EXPECT_EQ(kinds_of(ends.received), Kinds{Received::Kind::finished});
  ends.receiver.reset();
}

}  // namespace
}  // namespace hawser::transport::verbs
