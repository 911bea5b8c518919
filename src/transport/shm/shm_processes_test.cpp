// The transport between real processes, and when one of them is killed.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "platform/clock.hpp"
#include "transport/shm/shm_world.hpp"

namespace hawser::transport::shm {
namespace {

constexpr std::uint32_t ranks_max = 6;
/// A test that hangs ends with a signal, and its processes with it.
constexpr unsigned seconds_max = 60;

/// What the processes of a test share: wake words, and the addresses that they publish.
struct Board {
  std::array<hostmem::WakeWord, ranks_max> words;
  struct Post {
    std::atomic<std::uint32_t> bytes;
    std::array<std::byte, 255> address;
  };
  std::array<Post, ranks_max> posts;
  std::atomic<std::uint32_t> finished;
};

class Host {
 public:
  Host()
      : file_(std::move(*platform::create_anonymous_file("test-board", bytes()))),
        mapping_(std::move(*platform::Mapping::shared(file_, 0, bytes()))) {}

  [[nodiscard]] Board& board() const { return *reinterpret_cast<Board*>(mapping_.data()); }
  /// Runs RANK's MAIN in a process of its own; what it returns is the exit code.
  void start(std::uint32_t rank, const std::function<int(Board&)>& main) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(seconds_max);
      ::_exit(main(board()));
    }
    children_[rank] = child;
  }
  /// Kills RANK's process wherever it is, and waits until it has ended.
  void kill(std::uint32_t rank) {
    ::kill(children_[rank], SIGKILL);
    wait(rank);
  }
  /// The wait status of RANK's process.
  int wait(std::uint32_t rank) {
    int status = -1;
    EXPECT_EQ(::waitpid(children_[rank], &status, 0), children_[rank]);
    return status;
  }

 private:
  static std::size_t bytes() { return platform::round_to_pages(sizeof(Board)); }
  platform::FileDescriptor file_;
  platform::Mapping mapping_;
  std::array<pid_t, ranks_max> children_{};
};

/// Frames carry the sender and a count: number = sender << 32 | count. Each sender's frames of one
/// channel must come in order.
class CountingSink final : public RecordingSink {
 public:
  void on_frame(Link& link, ChannelKind kind, std::span<const std::byte> frame) override {
    (void)link;
    const auto number = check_frame(frame);
    const auto sender = static_cast<std::uint32_t>(number.value_or(~0ULL) >> 32);
    if (!number || sender >= ranks_max) {
      ++damaged;
      return;
    }
    std::uint64_t& next = next_[static_cast<std::size_t>(kind)][sender];
    const std::uint64_t count = *number & 0xffffffffU;
    if (count < next) ++out_of_order;
    next = count + 1;
    ++received[sender];
    if (kind == ChannelKind::ring) ++by_ring;
  }
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : received) sum += n;
    return sum;
  }
  [[nodiscard]] bool is_sound() const { return damaged == 0 && out_of_order == 0; }

  std::array<std::uint64_t, ranks_max> received{};
  std::uint64_t by_ring = 0;
  int out_of_order = 0;

 private:
  std::array<std::array<std::uint64_t, ranks_max>, channel_kind_count> next_{};
};

using End = ShmEnd<CountingSink>;

void publish(Board& board, std::uint32_t rank, End& end) {
  const std::vector<std::byte> address = end.address();
  std::copy(address.begin(), address.end(), board.posts[rank].address.begin());
  board.posts[rank].bytes = static_cast<std::uint32_t>(address.size());
}

std::span<const std::byte> address_of(Board& board, std::uint32_t rank) {
  while (board.posts[rank].bytes == 0) ::sched_yield();
  return std::span(board.posts[rank].address).first(board.posts[rank].bytes);
}

/// Sends one frame, polling while there is no room.
void send(End& end, Link& link, ChannelKind kind, std::size_t bytes, std::uint64_t number) {
  for (;;) {
    std::byte* frame = link.channels().has(kind) ? link.reserve(kind, bytes) : nullptr;
    if (frame != nullptr) {
      make_frame({frame, bytes}, number);
      link.commit(kind);
      return;
    }
    if (!end.transport->progress()) ::sched_yield();
  }
}

/// Every process sends FRAMES to every other one; through rings from the half on, if WITH_RINGS.
int all_to_all(Board& board, std::uint32_t rank, std::uint32_t ranks, std::uint32_t frames,
               bool with_rings) {
  End end(rank, std::span(board.words).first(ranks), {.queue_slots = 8, .ring_lines = 8});
  publish(board, rank, end);
  std::vector<Link*> links;
  for (std::uint32_t peer = 0; peer < ranks; ++peer)
    if (peer != rank) links.push_back(&end.connect(peer, address_of(board, peer)));
  for (std::uint32_t i = 0; i < frames; ++i) {
    for (Link* link : links) {
      const std::uint64_t number = (std::uint64_t{rank} << 32) | i;
      const bool by_ring = with_rings && i >= frames / 2;
      if (with_rings && i == frames / 2)
        while (!link->channels().has(ChannelKind::shared_queue) || !link->ask(ChannelKind::ring))
          end.transport->progress();
      const ChannelKind kind = by_ring ? ChannelKind::ring : ChannelKind::shared_queue;
      send(end, *link, kind, 8 + i % (by_ring ? 3000 : queue_frame_bytes_max - 7), number);
    }
  }
  const std::uint64_t expected = std::uint64_t{frames} * (ranks - 1);
  while (end.sink.total() < expected || !end.transport->is_drained())
    if (!end.transport->progress()) ::sched_yield();
  ++board.finished;
  while (board.finished < ranks)
    if (!end.transport->progress()) ::sched_yield();
  if (!end.sink.is_sound()) return 1;
  if (end.sink.total() != expected) return 2;
  if (end.sink.by_ring != (with_rings ? expected / 2 : 0)) return 3;
  return end.sink.links.size() + links.size() < ranks - 1 ? 4 : 0;
}

class AllToAll : public ::testing::TestWithParam<bool> {};

TEST_P(AllToAll, EveryFrameArrives) {
  constexpr std::uint32_t ranks = 4;
  Host host;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    host.start(rank,
               [&](Board& board) { return all_to_all(board, rank, ranks, 2000, GetParam()); });
  for (std::uint32_t rank = 0; rank < ranks; ++rank) EXPECT_EQ(host.wait(rank), 0) << rank;
}

INSTANTIATE_TEST_SUITE_P(QueueAndRings, AllToAll, ::testing::Bool());

/// Sends FRAMES to rank 0 by KIND.
int many_to_one(Board& board, std::uint32_t rank, std::uint32_t frames, ChannelKind kind) {
  End end(rank, board.words, {});
  Link& link = end.connect(0, address_of(board, 0));
  if (kind == ChannelKind::ring)
    while (!link.channels().has(ChannelKind::shared_queue) || !link.ask(kind))
      end.transport->progress();
  for (std::uint32_t i = 0; i < frames; ++i)
    send(end, link, kind, 8 + i % 400, (std::uint64_t{rank} << 32) | i);
  return end.transport->is_drained() ? 0 : 1;
}

class ManyToOne : public ::testing::TestWithParam<ChannelKind> {};

TEST_P(ManyToOne, FourSendersOfTenThousandFrames) {
  constexpr std::uint32_t frames = 10'000;
  constexpr std::uint32_t senders = 4;
  Host host;
  End end(0, host.board().words, {.queue_slots = 16});
  publish(host.board(), 0, end);
  for (std::uint32_t rank = 1; rank <= senders; ++rank)
    host.start(rank, [&](Board& board) { return many_to_one(board, rank, frames, GetParam()); });
  ::alarm(seconds_max);
  while (end.sink.total() < std::uint64_t{frames} * senders)
    if (!end.transport->progress()) ::sched_yield();
  ::alarm(0);
  for (std::uint32_t rank = 1; rank <= senders; ++rank) {
    EXPECT_EQ(host.wait(rank), 0);
    EXPECT_EQ(end.sink.received[rank], frames);
  }
  EXPECT_TRUE(end.sink.is_sound());
  EXPECT_EQ(end.sink.links.size(), senders);
}

INSTANTIATE_TEST_SUITE_P(QueueAndRings, ManyToOne,
                         ::testing::Values(ChannelKind::shared_queue, ChannelKind::ring));

struct KillAt {
  QueueStep step;
  void at(QueueStep reached) const {
    if (reached == step) ::kill(::getpid(), SIGKILL);
  }
};

void publish_frame(QueueSender& sender, QueueSlot& slot, std::uint64_t number, auto&& hooks) {
  make_frame({slot.frame, 100}, number);
  sender.publish(slot, FrameType::data, 100, hooks);
}

/// Rank 1: attaches to rank 0 by hand, sends three frames, and dies at STEP of the fourth.
int die_while_sending(Board& board, QueueStep step) {
  constexpr std::uint32_t rank = 1;
  const auto address = address_of(board, 0);
  auto socket = platform::LocalSocket::connect(
      {reinterpret_cast<const char*>(address.data()) + 4, address.size() - 4});
  memory::Ledger ledger;
  auto segment = Segment::create({}, ledger);
  if (!socket || !segment) return 1;
  AttachPacket hello;
  hello.identity = test_identity(rank);
  hello.local_rank = rank;
  const auto key = test_key();
  std::copy(key.begin(), key.end(), hello.key);
  hello.owner = 1;
  hello.queue_slots = segment->queue_slots();
  hello.window_bytes = segment->window_bytes();
  if (!socket->send(std::as_bytes(std::span(&hello, 1)), segment->file().get())) return 2;
  board.words[0].knock = 1;
  std::array<std::byte, 256> answer;
  std::size_t bytes = 0;
  platform::FileDescriptor fd;
  while (socket->receive(answer, &bytes, &fd) == platform::LocalSocket::Received::nothing)
    ::sched_yield();
  const auto welcome = parse_attach_packet(std::span(answer).first(bytes), key);
  if (!welcome) return 3;
  auto peer = PeerSegment::attach(fd, welcome->queue_slots, welcome->window_bytes);
  if (!peer) return 4;
  QueueSender sender = peer->queue_sender(welcome->owner);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto go = [&](auto hooks) {
      QueueSlot* slot = nullptr;
      while (slot == nullptr) slot = sender.claim(hooks);
      publish_frame(sender, *slot, (std::uint64_t{rank} << 32) | i, hooks);
    };
    if (i < 3) {
      go(NoHooks{});
    } else {
      go(KillAt{step});
    }
  }
  return 5;  // not reached
}

class KilledAt : public ::testing::TestWithParam<QueueStep> {};

TEST_P(KilledAt, TheOthersGoOn) {
  constexpr std::uint32_t frames = 3000;
  Host host;
  End end(0, host.board().words, {.queue_slots = 8});
  publish(host.board(), 0, end);
  for (const std::uint32_t rank : {2U, 3U})
    host.start(rank, [&](Board& board) {
      return many_to_one(board, rank, frames, ChannelKind::shared_queue);
    });
  host.start(1, [&](Board& board) { return die_while_sending(board, GetParam()); });
  const bool was_written = GetParam() == QueueStep::ready;
  const bool leaves_a_claim = GetParam() != QueueStep::start && !was_written;
  const auto is_done = [&] {
    const auto& received = end.sink.received;
    return received[1] >= (was_written ? 4U : 3U) && received[2] == frames &&
           received[3] == frames && end.sink.lost.size() >= (leaves_a_claim ? 1U : 0U);
  };
  ::alarm(seconds_max);
  while (!is_done())
    if (!end.transport->progress()) ::sched_yield();
  const int status = host.wait(1);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(host.wait(2), 0);
  EXPECT_EQ(host.wait(3), 0);
  settle(end);
  ::alarm(0);
  EXPECT_TRUE(is_done());
  EXPECT_EQ(end.sink.received[1], was_written ? 4U : 3U);
  EXPECT_EQ(end.sink.lost.size(), leaves_a_claim ? 1U : 0U);
  EXPECT_TRUE(end.sink.is_sound());
}

INSTANTIATE_TEST_SUITE_P(EveryStep, KilledAt,
                         ::testing::Values(QueueStep::start, QueueStep::claimed,
                                           QueueStep::tail_moved, QueueStep::written,
                                           QueueStep::ready));

/// Kills a process that sends by ring as fast as it can, wherever it happens to be.
TEST(KilledAnywhere, WhatArrivedIsWholeAndTheOthersGoOn) {
  for (int round = 0; round < 5; ++round) {
    Host host;
    End end(0, host.board().words, {.queue_slots = 4, .ring_lines = 4});
    publish(host.board(), 0, end);
    constexpr std::uint32_t endless = 0xffffffffU;
    constexpr std::uint32_t frames = 500;
    const auto kind = round % 2 == 0 ? ChannelKind::ring : ChannelKind::shared_queue;
    host.start(1, [&](Board& board) { return many_to_one(board, 1, endless, kind); });
    host.start(2, [&](Board& board) { return many_to_one(board, 2, frames, kind); });
    ::alarm(seconds_max);
    while (end.sink.received[1] < 100)
      if (!end.transport->progress()) ::sched_yield();
    host.kill(1);
    while (end.sink.received[2] < frames)
      if (!end.transport->progress()) ::sched_yield();
    ::alarm(0);
    EXPECT_EQ(host.wait(2), 0);
    settle(end);
    EXPECT_TRUE(end.sink.is_sound());
    EXPECT_FALSE(end.transport->progress());
  }
}

/// Polling, then sleeping on the wake word: a message never finds its receiver asleep for good.
int ping_pong(Board& board, std::uint32_t rank, std::uint32_t rounds, hostmem::FencePayer payer) {
  platform::register_global_barrier();
  End end(rank, std::span(board.words).first(2), {}, payer);
  publish(board, rank, end);
  Link& link = end.connect(1 - rank, address_of(board, 1 - rank));
  hostmem::Sleeper sleeper(board.words[rank], payer);
  const auto wait_until = [&](auto&& is_done) {
    while (!is_done()) {
      if (end.transport->progress()) continue;
      const std::uint32_t ticket = sleeper.announce();
      if (end.transport->progress() || is_done()) {
        sleeper.cancel();
        continue;
      }
      sleeper.sleep(ticket);
    }
  };
  wait_until([&] { return link.channels().has(ChannelKind::shared_queue); });
  for (std::uint32_t i = 0; i < rounds; ++i) {
    if (rank == 1) wait_until([&] { return end.sink.total() > i; });
    send(end, link, ChannelKind::shared_queue, 8, (std::uint64_t{rank} << 32) | i);
    if (rank == 0) wait_until([&] { return end.sink.total() > i; });
  }
  return end.sink.is_sound() ? 0 : 1;
}

class SleepingPingPong : public ::testing::TestWithParam<hostmem::FencePayer> {};

TEST_P(SleepingPingPong, NoWakeUpIsLost) {
  if (GetParam() == hostmem::FencePayer::sleeper && !platform::register_global_barrier())
    GTEST_SKIP() << "this kernel has no membarrier";
  Host host;
  for (const std::uint32_t rank : {0U, 1U})
    host.start(rank, [&](Board& board) { return ping_pong(board, rank, 3000, GetParam()); });
  EXPECT_EQ(host.wait(0), 0);
  EXPECT_EQ(host.wait(1), 0);
}

INSTANTIATE_TEST_SUITE_P(FencePayers, SleepingPingPong,
                         ::testing::Values(hostmem::FencePayer::sleeper,
                                           hostmem::FencePayer::waker));

}  // namespace
}  // namespace hawser::transport::shm
