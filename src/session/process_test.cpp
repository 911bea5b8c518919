// Several Processes as threads of this OS process, over one real job segment and the real
// shared-memory transport: what the thread sanitizer can see of the code that processes share.
#include "session/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/local/local_bootstrap.hpp"
#include "collective/collective.hpp"
#include "session/host.hpp"

namespace hawser::session {
namespace {

constexpr std::uint32_t byte_handle = 0x247;
constexpr std::uint32_t int_handle = 0x209;

/// What a rank needs in a test body.
struct Rank {
  Process& process;
  core::Comm& world;
  core::Datatype& byte;
  core::Datatype& integer;
};

/// Runs BODY as SIZE ranks, one thread each.
void run_ranks(int size, const Settings& settings, bool threaded,
               const std::function<void(Rank&)>& body) {
  const auto job = bootstrap::JobSegment::create(
      {.size = static_cast<std::uint32_t>(size),
       .host_bytes = bootstrap::host_bytes_per_process * static_cast<std::size_t>(size),
       .launcher_pid = 0,
       .host_cores = 2});
  ASSERT_TRUE(job.ok());
  core::TypeTable types;
  std::vector<std::thread> ranks;
  for (int index = 0; index < size; ++index) {
    ranks.emplace_back([&, index] {
      platform::FileDescriptor fd(::fcntl(job->fd().get(), F_DUPFD_CLOEXEC, 0));
      auto bootstrap = bootstrap::LocalBootstrap::join(fd, static_cast<std::uint32_t>(index));
      ASSERT_TRUE(bootstrap.ok()) << bootstrap.error().sentence();
      auto host = HostSurroundings::create(**bootstrap, settings);
      ASSERT_TRUE(host.ok()) << host.error().sentence();
      auto process = Process::create(std::move(*host), settings, types);
      ASSERT_TRUE(process.ok()) << process.error().sentence();
      (*process)->set_threaded(threaded);
      (*process)->come_back();
      const auto world = (*process)->comms().make_world(
          size, base::make_ref<core::Errhandler>(core::ErrhandlerKind::errors_return));
      Rank rank{**process, *world, *types.find(byte_handle), *types.find(int_handle)};
      body(rank);
      EXPECT_TRUE((*process)->finalize(true).ok());
      (*process)->leave();
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

/// The sanitizer knows fences of the waker, and nothing of membarrier.
Settings settings_for_threads() {
  Settings settings;
  settings.wait.sleeper_fences = false;
  settings.wait.spin_us = 50;
  return settings;
}

/// Everybody sends ROUNDS messages of growing sizes to everybody, itself included.
void exchange_all(Rank& rank, int rounds, int tag) {
  p2p::Engine& engine = rank.process.engine();
  const int size = rank.world.size();
  for (int round = 0; round < rounds; ++round) {
    const std::size_t bytes = static_cast<std::size_t>(round) * 137U % 20000U;
    std::vector<std::vector<char>> received(static_cast<std::size_t>(size),
                                            std::vector<char>(bytes));
    const std::vector<char> sent(bytes, static_cast<char>(rank.world.rank() + round));
    std::vector<base::Ref<core::Request>> requests;
    for (int peer = 0; peer < size; ++peer) {
      auto& data = received[static_cast<std::size_t>(peer)];
      requests.push_back(*engine.irecv({data.data(), static_cast<base::Count>(bytes), &rank.byte},
                                       {&rank.world, peer, tag}));
    }
    for (int peer = 0; peer < size; ++peer)
      requests.push_back(*engine.isend({sent.data(), static_cast<base::Count>(bytes), &rank.byte},
                                       {&rank.world, peer, tag}, p2p::SendMode::standard));
    for (const auto& request : requests) engine.wait(*request);
    for (int peer = 0; peer < size; ++peer)
      EXPECT_EQ(received[static_cast<std::size_t>(peer)],
                std::vector<char>(bytes, static_cast<char>(peer + round)));
  }
}

/// MESSAGES to one neighbour and from another, DISTANCE ranks away.
void talk_to_neighbour(Rank& rank, int distance, int messages) {
  p2p::Engine& engine = rank.process.engine();
  const int size = rank.world.size();
  const int to = (rank.world.rank() + distance) % size;
  const int from = (rank.world.rank() + size - distance) % size;
  for (int number = 0; number < messages; ++number) {
    int received = -1;
    const auto request = *engine.isend({&number, 1, &rank.integer}, {&rank.world, to, distance},
                                       p2p::SendMode::standard);
    EXPECT_TRUE(
        engine.recv({&received, 1, &rank.integer}, {&rank.world, from, distance}, nullptr).ok());
    EXPECT_EQ(received, number);
    engine.wait(*request);
  }
}

class ProcessTest : public testing::TestWithParam<bool> {
 protected:
  /// Parameter: whether single copies are allowed.
  Settings settings_ = [] {
    Settings settings = settings_for_threads();
    settings.shm.single_copy = GetParam();
    return settings;
  }();
};

TEST_P(ProcessTest, ExchangesMessagesOfAllProtocols) {
  run_ranks(3, settings_, false, [](Rank& rank) { exchange_all(rank, 400, 5); });
}

TEST_P(ProcessTest, WorksWithTinyQueues) {
  settings_.shm.queue_slots = 4;
  settings_.shm.ring_lines = 4;
  run_ranks(3, settings_, false, [](Rank& rank) { exchange_all(rank, 200, 5); });
}

TEST_P(ProcessTest, ServesSeveralThreadsOfEachProcess) {
  run_ranks(2, settings_, true, [](Rank& rank) {
    std::vector<std::thread> threads;
    for (int tag = 1; tag <= 3; ++tag)
      threads.emplace_back([&rank, tag] { exchange_all(rank, 200, tag); });
    for (std::thread& thread : threads) thread.join();
  });
}

/// Of 32 KiB in one frame, once the ring has room for that; longer ones in a row of them.
TEST_P(ProcessTest, SendsMessagesWholeUpToAFramesLength) {
  run_ranks(2, settings_, false, [](Rank& rank) {
    exchange_all(rank, 150, 1);  // earns a ring
    constexpr std::size_t whole_bytes = 32768, longer_bytes = 100'000, first_ones = 20;
    p2p::Engine& engine = rank.process.engine();
    const int peer = 1 - rank.world.rank();
    const p2p::Envelope envelope{&rank.world, peer, 2};
    const auto send = [&](std::size_t bytes, char value) {
      const std::vector<char> data(bytes, value);
      EXPECT_TRUE(engine
                      .send({data.data(), static_cast<base::Count>(bytes), &rank.byte}, envelope,
                            p2p::SendMode::standard)
                      .ok());
    };
    const auto receive = [&](std::size_t bytes, char value) {
      std::vector<char> data(bytes);
      EXPECT_TRUE(
          engine.recv({data.data(), static_cast<base::Count>(bytes), &rank.byte}, envelope, nullptr)
              .ok());
      EXPECT_EQ(data, std::vector<char>(bytes, value));
    };
    if (rank.world.rank() == 1) {
      for (std::size_t i = 0; i < first_ones; ++i) receive(whole_bytes, 'a');
      send(0, 'b');
      receive(whole_bytes, 'c');
      receive(longer_bytes, 'd');
      return;
    }
    const auto sends_by = [&](p2p::SendProtocol protocol) {
      return rank.process.backend().sends_by(protocol);
    };
    for (std::size_t i = 0; i < first_ones; ++i) send(whole_bytes, 'a');
    receive(0, 'b');
    const std::uint64_t streams = sends_by(p2p::SendProtocol::stream);
    const std::uint64_t eager = sends_by(p2p::SendProtocol::eager);
    send(whole_bytes, 'c');
    EXPECT_EQ(sends_by(p2p::SendProtocol::stream), streams);
    EXPECT_EQ(sends_by(p2p::SendProtocol::eager), eager + 1);
    send(longer_bytes, 'd');
    EXPECT_EQ(sends_by(p2p::SendProtocol::stream), streams + 1);
    EXPECT_EQ(sends_by(p2p::SendProtocol::eager), eager + 1);
  });
}

TEST_P(ProcessTest, MovesItsOnlyRingToThoseItTalksTo) {
  settings_.channel.rings_asked_max = 1;
  settings_.channel.rings_granted_max = 1;
  run_ranks(4, settings_, false, [](Rank& rank) {
    for (int phase = 0; phase < 9; ++phase) talk_to_neighbour(rank, 1 + phase % 3, 500);
  });
}

TEST_P(ProcessTest, ReducesOverManySleepingRanks) {
  run_ranks(8, settings_, false, [](Rank& rank) {
    core::Op sum(core::OpCode::sum);
    for (int round = 0; round < 200; ++round) {
      const int mine = rank.world.rank() + round;
      int total = -1;
      EXPECT_TRUE(
          collective::allreduce(
              rank.process.blocking(), rank.world,
              {.send = &mine, .receive = &total, .count = 1, .type = &rank.integer, .op = &sum})
              .ok());
      EXPECT_EQ(total, 28 + 8 * round);
    }
  });
}

TEST_P(ProcessTest, ExchangesMessagesWhileItsOwnThreadMovesThemToo) {
  settings_.wait.progress = "thread";
  run_ranks(3, settings_, false, [](Rank& rank) { exchange_all(rank, 200, 5); });
}

TEST_P(ProcessTest, MovesALongMessageWhileItsSenderComputes) {
  settings_.wait.progress = "thread";
  std::atomic<bool> has_arrived{false};
  run_ranks(2, settings_, false, [&](Rank& rank) {
    constexpr std::size_t bytes = 3'000'000;
    std::vector<char> data(bytes, rank.world.rank() == 0 ? 'a' : ' ');
    p2p::Engine& engine = rank.process.engine();
    if (rank.world.rank() == 1) {
      EXPECT_TRUE(engine.recv({data.data(), bytes, &rank.byte}, {&rank.world, 0, 3}, nullptr).ok());
      EXPECT_EQ(data, std::vector<char>(bytes, 'a'));
      has_arrived.store(true);
      has_arrived.notify_all();
      return;
    }
    const auto sending = *engine.isend({data.data(), bytes, &rank.byte}, {&rank.world, 1, 3},
                                       p2p::SendMode::standard);
    has_arrived.wait(false);  // calls nothing of ours; the test's time limit is the bound
    engine.wait(*sending);
  });
}

INSTANTIATE_TEST_SUITE_P(SingleCopy, ProcessTest, testing::Bool(), [](const auto& parameter) {
  return parameter.param ? std::string("allowed") : std::string("refused");
});

}  // namespace
}  // namespace hawser::session
