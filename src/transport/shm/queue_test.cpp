#include "transport/shm/queue.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace hawser::transport::shm {
namespace {

/// A queue in private, zeroed memory, as a segment has it.
struct Queue {
  explicit Queue(std::uint64_t slot_count)
      : count(slot_count), slots(std::make_unique<QueueSlot[]>(slot_count)) {}
  QueueSender sender(std::uint32_t owner) { return {slots.get(), count, &tail, owner}; }
  QueueReceiver receiver() { return {slots.get(), count}; }

  std::uint64_t count;
  std::unique_ptr<QueueSlot[]> slots;
  std::atomic<std::uint64_t> tail{0};
};

template <class Hooks = NoHooks>
bool send(QueueSender& sender, std::uint64_t number, Hooks&& hooks = {}) {
  QueueSlot* slot = sender.claim(hooks);
  if (slot == nullptr) return false;
  std::memcpy(slot->frame, &number, sizeof(number));
  sender.publish(*slot, FrameType::data, sizeof(number), hooks);
  return true;
}

struct Received {
  QueueReceiver::Head head;
  std::uint32_t owner = 0;
  std::uint64_t number = 0;
};

Received receive(QueueReceiver& receiver) {
  QueueSlot* slot = nullptr;
  Received received;
  received.head = receiver.look(&slot, &received.owner);
  if (received.head != QueueReceiver::Head::ready) return received;
  EXPECT_EQ(slot->frame_bytes, sizeof(received.number));
  EXPECT_EQ(slot->type, FrameType::data);
  std::memcpy(&received.number, slot->frame, sizeof(received.number));
  receiver.pop();
  return received;
}

using Head = QueueReceiver::Head;

TEST(Queue, ZeroedMemoryIsAnEmptyQueue) {
  Queue queue(4);
  QueueReceiver receiver = queue.receiver();
  EXPECT_EQ(receive(receiver).head, Head::empty);
}

TEST(Queue, HoldsAsManyFramesAsSlotsOverManyLaps) {
  for (const std::uint64_t slots : {1U, 2U, 4U, 128U}) {
    Queue queue(slots);
    QueueSender sender = queue.sender(7);
    QueueReceiver receiver = queue.receiver();
    std::uint64_t sent = 0;
    std::uint64_t got = 0;
    for (int lap = 0; lap < 5; ++lap) {
      while (send(sender, sent)) ++sent;
      ASSERT_EQ(sent - got, slots);
      for (std::uint64_t i = 0; i <= slots / 2; ++i, ++got) {
        const Received received = receive(receiver);
        ASSERT_EQ(received.head, Head::ready);
        EXPECT_EQ(received.owner, 7U);
        EXPECT_EQ(received.number, got);
      }
    }
  }
}

TEST(Queue, AClaimedSlotHoldsUpWhatIsBehindIt) {
  Queue queue(4);
  QueueSender slow = queue.sender(1);
  QueueSender quick = queue.sender(2);
  QueueReceiver receiver = queue.receiver();
  QueueSlot* slot = slow.claim();
  ASSERT_TRUE(send(quick, 20));
  const Received claimed = receive(receiver);
  EXPECT_EQ(claimed.head, Head::claimed);
  EXPECT_EQ(claimed.owner, 1U);
  const std::uint64_t number = 10;
  std::memcpy(slot->frame, &number, sizeof(number));
  slow.publish(*slot, FrameType::data, sizeof(number));
  EXPECT_EQ(receive(receiver).number, 10U);
  EXPECT_EQ(receive(receiver).number, 20U);
}

TEST(Queue, AClaimThatIsPoppedIsSkipped) {
  Queue queue(2);
  QueueSender dead = queue.sender(1);
  QueueSender alive = queue.sender(2);
  QueueReceiver receiver = queue.receiver();
  ASSERT_NE(dead.claim(), nullptr);
  ASSERT_TRUE(send(alive, 1));
  ASSERT_FALSE(send(alive, 2));
  ASSERT_EQ(receive(receiver).head, Head::claimed);
  receiver.pop();
  EXPECT_EQ(receive(receiver).number, 1U);
  for (std::uint64_t i = 2; i < 10; ++i) {
    ASSERT_TRUE(send(alive, i));
    EXPECT_EQ(receive(receiver).number, i);
  }
}

/// The tail is a hint: whatever value it is late at, senders find the first free slot behind it.
TEST(Queue, ALateTailDelaysButMisleadsNobody) {
  constexpr std::uint64_t slots = 4;
  for (std::uint64_t late_by = 0; late_by <= 3 * slots; ++late_by) {
    Queue queue(slots);
    QueueSender sender = queue.sender(1);
    QueueReceiver receiver = queue.receiver();
    constexpr std::uint64_t before = 3 * slots + 1;
    for (std::uint64_t i = 0; i < before; ++i) {
      ASSERT_TRUE(send(sender, i));
      if (i + 2 < before) {
        ASSERT_EQ(receive(receiver).number, i);
      }
    }
    queue.tail -= late_by;
    ASSERT_TRUE(send(sender, before)) << late_by;
    ASSERT_TRUE(send(sender, before + 1)) << late_by;
    ASSERT_FALSE(send(sender, before + 2)) << late_by;
    EXPECT_EQ(queue.tail, before + 2);
    for (std::uint64_t i = before - 2; i < before + 2; ++i) EXPECT_EQ(receive(receiver).number, i);
    EXPECT_EQ(receive(receiver).head, Head::empty);
  }
}

/// Laps are 30 bits in a slot's state; positions go on.
TEST(Queue, LapsWrap) {
  constexpr std::uint64_t slots = 4;
  const std::uint64_t lap = queue_state::lap_mask - 1;
  Queue queue(slots);
  for (std::uint64_t i = 0; i < slots; ++i)
    queue.slots[i].state = queue_state::make(queue_state::free, lap, 0);
  queue.tail = lap * slots;
  QueueSender sender = queue.sender(1);
  QueueReceiver receiver(queue.slots.get(), slots, lap * slots);
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  for (int round = 0; round < 10; ++round) {
    while (send(sender, sent)) ++sent;
    ASSERT_EQ(sent - got, slots);
    while (got < sent - 1) ASSERT_EQ(receive(receiver).number, got++);
  }
  EXPECT_GT(sent, 4 * slots);
}

/// Gives way at random steps, so that threads meet in the middle of their claims.
struct GiveWay {
  explicit GiveWay(std::uint32_t seed) : random(seed) {}
  void at(QueueStep) {
    if (random() % 8 == 0) ::sched_yield();
  }
  std::minstd_rand random;
};

class QueueThreads : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(QueueThreads, EverySendersFramesArriveOnceAndInOrder) {
  constexpr std::uint32_t senders = 4;
  constexpr std::uint64_t frames_max = 300'000;  // per sender; time ends it earlier
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
  Queue queue(GetParam());
  std::array<std::atomic<std::uint64_t>, senders> sent{};
  std::atomic<std::uint32_t> finished{0};
  std::vector<std::thread> threads;
  for (std::uint32_t s = 0; s < senders; ++s) {
    threads.emplace_back([&, s] {
      QueueSender sender = queue.sender(s + 1);
      GiveWay hooks(s + 1);
      for (std::uint64_t i = 0; i < frames_max && std::chrono::steady_clock::now() < end; ++i) {
        while (!send(sender, i, hooks)) ::sched_yield();
        sent[s] = i + 1;
      }
      ++finished;
    });
  }
  QueueReceiver receiver = queue.receiver();
  std::array<std::uint64_t, senders> got{};
  for (bool last_look = false;;) {
    const Received received = receive(receiver);
    if (received.head == Head::ready) {
      ASSERT_GE(received.owner, 1U);
      ASSERT_LE(received.owner, senders);
      ASSERT_EQ(received.number, got[received.owner - 1]++);
      continue;
    }
    if (last_look) break;
    last_look = finished == senders;
    ::sched_yield();
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t s = 0; s < senders; ++s) {
    EXPECT_EQ(got[s], sent[s]);
    EXPECT_GT(got[s], 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(TinyAndSmall, QueueThreads, ::testing::Values(1, 2, 4, 16));

}  // namespace
}  // namespace hawser::transport::shm
