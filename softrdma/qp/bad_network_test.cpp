// Requester and responder against one another, over a network that loses, repeats and reorders.
#include "softrdma/qp/connection_ends.hpp"

namespace softrdma::qp::connected {
namespace {

// Random work in both directions, over a bad network: all of it is done once, in order; if the ends
// are of one host, also where they copy by themselves in between.
class BadNetwork : public testing::TestWithParam<int> {};

TEST_P(BadNetwork, LosesNothingAndDoesNothingTwice) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  std::mt19937_64 random(seed);
  End a{1, wire::Service::reliable_connection, seed};
  End b{2, wire::Service::reliable_connection, seed + 1};
  a.context.retry_count = b.context.retry_count = 255;  // more than a program can ask for
  a.start();
  b.start();
  constexpr std::uint32_t slot_bytes = 256;
  const bool is_one_host = seed % 2 != 0;
  if (is_one_host) a.neighbour = &b;
  std::uint64_t expected_sum = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> writes;  // from where, how many bytes
  std::vector<std::uint32_t> messages;                          // their lengths
  // The first half of each memory is its own, the second the peer's to write.
  for (std::uint32_t i = 0; i < 24; ++i) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(random() % slot_bytes);
    const std::uint32_t from = (i % 7) * slot_bytes;
    switch (random() % 4) {
      case 0: {
        if (messages.size() >= 4) break;
        const auto to = static_cast<std::uint32_t>(2048 + messages.size() * slot_bytes);
        b.add_receive(to, slot_bytes);
        a.add(IBV_WR_SEND, from, bytes);
        messages.push_back(bytes);
        break;
      }
      case 1:
        a.add_remote(IBV_WR_RDMA_WRITE, from, bytes, b, 3072);
        writes.emplace_back(from, bytes);
        break;
      case 2:
        a.add_remote(IBV_WR_RDMA_READ, 2048, bytes * 4, b, from);
        break;
      case 3: {
        const std::uint64_t amount = random() % 1000;
        a.add_remote(IBV_WR_ATOMIC_FETCH_AND_ADD, 4000, 8, b, 4000).compare_or_add = amount;
        expected_sum += amount;
        break;
      }
    }
  }
  a.add_remote(IBV_WR_RDMA_WRITE, 1792, 200, b, 3584);
  a.add_remote(IBV_WR_RDMA_READ, 3100, 200, b, 1792);
  for (std::uint32_t i = 0; i < 2048; ++i) {
    a.ram[i] = static_cast<std::byte>(random());
    b.ram[i] = static_cast<std::byte>(random());
  }
  for (int i = 0; i < 6; ++i) b.add_remote(IBV_WR_RDMA_READ, 0, 200, a, 0).flags |= IBV_SEND_FENCE;

  const std::size_t works = a.sends.size();
  Network network(a, b, {.lost = 10, .repeated = 10, .late = 10, .gone = 10}, seed);
  ASSERT_TRUE(network.run());
  EXPECT_EQ(a.sent.size(), works);
  EXPECT_TRUE(std::ranges::is_sorted(a.sent));
  EXPECT_EQ(a.failures + b.failures, 0);
  EXPECT_EQ(b.word(4000), expected_sum);
  EXPECT_EQ(b.received.size(), messages.size());
  for (std::size_t i = 0; i < b.received.size(); ++i) EXPECT_EQ(b.received[i].bytes, messages[i]);
  EXPECT_EQ(b.part(3584, 200), a.part(1792, 200));
  EXPECT_EQ(a.part(3100, 200), b.part(1792, 200));
  Bytes written(slot_bytes);
  for (const auto& [from, bytes] : writes)
    std::copy_n(a.ram.begin() + from, bytes, written.begin());
  EXPECT_EQ(b.part(3072, slot_bytes), written);
  EXPECT_EQ(a.copied_directly > 0, a.asked_directly > 0);
  EXPECT_TRUE(is_one_host || a.asked_directly == 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BadNetwork, testing::Range(0, 300));

// Without acknowledgements: what arrives is whole, and in order.
TEST(Unreliable, LosesWholeMessagesOnly) {
  std::uint64_t arrived = 0;
  constexpr int seeds = 50;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    End a{1, wire::Service::unreliable_connection, seed};
    End b{2, wire::Service::unreliable_connection, seed + 1};
    for (std::uint32_t i = 0; i < 10; ++i) {
      b.add_receive(2048, 256);
      a.fill(i * 200, 200, static_cast<std::uint8_t>(i));
      a.add(IBV_WR_SEND_WITH_IMM, i * 200, 200).immediate[0] = static_cast<std::byte>(i);
    }
    Network network(a, b, {.lost = 5, .gone = 5}, seed);
    ASSERT_TRUE(network.run());
    EXPECT_EQ(a.sent.size(), 10U);
    int last = -1;
    for (const Received& message : b.received) {
      EXPECT_EQ(message.status, IBV_WC_SUCCESS);
      EXPECT_EQ(message.bytes, 200U);
      EXPECT_GT(std::to_integer<int>(message.immediate[0]), last);
      last = std::to_integer<int>(message.immediate[0]);
    }
    arrived += b.received.size();
  }
  // Of messages of four packets, of which one in ten is lost, two thirds arrive.
  EXPECT_GT(arrived, 10 * seeds * 5 / 10);
  EXPECT_LT(arrived, 10 * seeds * 8 / 10);
}

}  // namespace
}  // namespace softrdma::qp::connected
