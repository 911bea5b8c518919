#include "bootstrap/managed_bootstrap.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>

#include "bootstrap/fake_process_manager.hpp"
#include "bootstrap/shared_cores.hpp"

namespace hawser::bootstrap {
namespace {

using Ranks = std::vector<std::uint32_t>;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Ranks all_of(std::uint32_t size) {
  Ranks ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Runs BODY as the ranks of LAUNCHER, one thread each, of which CLAIMED(rank) share a host.
void run_job(FakeLauncher& launcher, const std::function<Ranks(std::uint32_t)>& claimed,
             const std::function<void(Bootstrap&)>& body) {
  std::vector<std::jthread> ranks;
  for (std::uint32_t rank = 0; rank < launcher.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      auto connected = ManagedBootstrap::connect(
          std::make_unique<FakeProcessManager>(launcher, rank, claimed(rank)));
      ASSERT_TRUE(connected.ok()) << connected.error().sentence();
      body(**connected);
      launcher.exchange();  // memory stays until all are done
    });
  }
}

/// Two ranks a host.
Ranks pair_of(std::uint32_t rank) { return {rank & ~1U, rank | 1U}; }

TEST(ManagedBootstrap, RanksOfOneHostShareItsMemory) {
  FakeLauncher launcher(3);
  std::array<std::byte, 3> seen{};
  run_job(
      launcher, [](std::uint32_t) { return all_of(3); },
      [&](Bootstrap& rank) {
        const Placement& placement = rank.placement();
        EXPECT_EQ(placement.size, 3U);
        EXPECT_EQ(placement.local_size, 3U);
        EXPECT_EQ(placement.local_rank, placement.self.index);
        EXPECT_EQ(placement.app_number, 3);
        EXPECT_EQ(placement.universe_size, 99);
        EXPECT_EQ(placement.launcher, "a fake launcher");
        EXPECT_EQ(rank.local_rank_of(2), 2U);
        EXPECT_EQ(rank.local_rank_of(3), std::nullopt);
        EXPECT_EQ(rank.descriptor(), -1);
        const auto memory = rank.host_memory();
        ASSERT_EQ(memory->bytes, 3 * host_bytes_per_process);
        const auto mapping = platform::Mapping::shared(*memory->fd, memory->offset, memory->bytes);
        ASSERT_TRUE(mapping.ok());
        mapping->data()[placement.local_rank] = std::byte{7};
        launcher.exchange();
        std::memcpy(seen.data(), mapping->data(), seen.size());
        launcher.exchange();
      });
  EXPECT_TRUE(std::ranges::all_of(seen, [](std::byte b) { return b == std::byte{7}; }));
}

TEST(ManagedBootstrap, AllHaveTheSameJobAndNoTwoJobsDo) {
  std::vector<Placement> placements;
  std::mutex mutex;
  for (int job = 0; job < 2; ++job) {
    FakeLauncher launcher(2);
    run_job(launcher, pair_of, [&](Bootstrap& rank) {
      const std::lock_guard lock(mutex);
      placements.push_back(rank.placement());
    });
  }
  ASSERT_EQ(placements.size(), 4U);
  EXPECT_EQ(placements[0].self.job, placements[1].self.job);
  EXPECT_EQ(placements[0].key, placements[1].key);
  EXPECT_NE(placements[0].self.job, placements[2].self.job);
  EXPECT_NE(placements[0].key, placements[2].key);
  EXPECT_NE(placements[0].key, JobKey{});
}

TEST(ManagedBootstrap, ValuesAreFoundWhereverTheyWerePublished) {
  FakeLauncher launcher(4);
  launcher.value_bytes_max = value_text_bytes_min;  // several texts for what is long
  run_job(launcher, pair_of, [&](Bootstrap& rank) {
    const std::uint32_t self = rank.placement().self.index;
    const std::vector<std::byte> address(255, static_cast<std::byte>(self + 1));
    ASSERT_TRUE(rank.publish("address", address).ok());
    ASSERT_TRUE(rank.publish("empty", {}).ok());
    ASSERT_TRUE(rank.commit().ok());
    ASSERT_TRUE(rank.publish("later", bytes_of("second")).ok());
    ASSERT_TRUE(rank.commit().ok());
    for (std::uint32_t peer = 0; peer < 4; ++peer) {
      EXPECT_EQ(*rank.look_up(peer, "address"),
                std::vector<std::byte>(255, static_cast<std::byte>(peer + 1)));
      EXPECT_EQ(*rank.look_up(peer, "empty"), std::vector<std::byte>{});
      EXPECT_EQ(*rank.look_up(peer, "later"), bytes_of("second"));
      EXPECT_EQ(*rank.look_up(peer, "other"), std::nullopt);
    }
    EXPECT_FALSE(rank.look_up(4, "address").ok());
  });
}

TEST(ManagedBootstrap, APeerIsAskedForOnceAndALocalOneNever) {
  FakeLauncher launcher(4);
  int asked_local = -1;
  int asked_remote = -1;
  run_job(launcher, pair_of, [&](Bootstrap& rank) {
    ASSERT_TRUE(rank.publish("address", bytes_of("here")).ok());
    ASSERT_TRUE(rank.commit().ok());
    launcher.exchange();
    if (rank.placement().self.index == 0) {
      const int before = launcher.gets;
      EXPECT_EQ(*rank.look_up(1, "address"), bytes_of("here"));
      asked_local = launcher.gets - before;
      for (int i = 0; i < 3; ++i) EXPECT_EQ(*rank.look_up(3, "address"), bytes_of("here"));
      asked_remote = launcher.gets - before;
    }
    launcher.exchange();
  });
  EXPECT_EQ(asked_local, 0);
  EXPECT_EQ(asked_remote, 1);
}

TEST(ManagedBootstrap, OneHostPublishesNothingThroughTheLauncher) {
  FakeLauncher launcher(2);
  run_job(launcher, pair_of, [&](Bootstrap& rank) {
    ASSERT_TRUE(rank.publish("address", bytes_of("here")).ok());
    ASSERT_TRUE(rank.commit().ok());
    EXPECT_EQ(*rank.look_up(1, "address"), bytes_of("here"));
  });
  EXPECT_EQ(launcher.get(0, "values.0.0"), std::nullopt);
}

/// A claim that is not true: rank 1 finds somebody else's memory, or none, where rank 0 offers it.
void expect_alone(const std::function<std::string(HostOffer)>& forge_offer) {
  FakeLauncher launcher(2);
  std::mutex mutex;
  bool forged = false;
  const auto forge = [&] {
    const std::lock_guard lock(mutex);
    if (std::exchange(forged, true)) return;
    HostOffer nonsense{1, 1, 2, 3, 4};
    launcher.forge(0, "host", forge_offer(nonsense));
  };
  run_job(
      launcher,
      [&](std::uint32_t) {
        forge();
        return all_of(2);
      },
      [&](Bootstrap& rank) {
        const Placement& placement = rank.placement();
        EXPECT_EQ(placement.local_rank, 0U);
        EXPECT_EQ(rank.local_rank_of(placement.self.index), 0U);
        EXPECT_EQ(rank.local_rank_of(1 - placement.self.index), std::nullopt);
        EXPECT_EQ(placement.local_size, 1U);
        ASSERT_TRUE(rank.publish("address", bytes_of("over the network")).ok());
        ASSERT_TRUE(rank.commit().ok());
        EXPECT_EQ(*rank.look_up(1 - placement.self.index, "address"), bytes_of("over the network"));
        EXPECT_GE(rank.descriptor(), 0);
      });
}

TEST(ManagedBootstrap, WhoIsInOtherNameSpacesIsAlone) {
  expect_alone([](const HostOffer& offer) { return to_text(offer); });
}

TEST(ManagedBootstrap, WhoFindsOtherMemoryIsAlone) {
  const auto other = LocalGroup::lead(2);
  ASSERT_TRUE(other.ok());
  expect_alone([&](const HostOffer&) {
    HostOffer offer = other->offer();
    offer.cookie ^= 1;
    return to_text(offer);
  });
}

TEST(ManagedBootstrap, WhoIsOfferedAnythingElseIsAlone) {
  for (const char* text :
       {"", "nonsense", "1.2.3.4", "0.0.0.0.0", "1.2.3.4.5.6", "fffffffff.1.2.3.4"})
    expect_alone([&](const HostOffer&) { return std::string(text); });
}

TEST(ManagedBootstrap, LocalRanksAreThoseOfTheOnesThatAreHere) {
  FakeLauncher launcher(3);
  run_job(
      launcher, [](std::uint32_t rank) { return rank == 1 ? Ranks{1} : all_of(3); },
      [&](Bootstrap& rank) {
        const Placement& placement = rank.placement();
        const bool is_alone = placement.self.index == 1;
        EXPECT_EQ(placement.local_size, is_alone ? 1U : 2U);
        EXPECT_EQ(placement.local_rank, placement.self.index / 2);
        EXPECT_EQ(rank.local_rank_of(2), is_alone ? std::nullopt : std::optional(1U));
        EXPECT_EQ(rank.local_rank_of(1), is_alone ? std::optional(0U) : std::nullopt);
        ASSERT_TRUE(rank.publish("address", bytes_of("here")).ok());
        ASSERT_TRUE(rank.commit().ok());
        for (std::uint32_t peer = 0; peer < 3; ++peer)
          EXPECT_EQ(*rank.look_up(peer, "address"), bytes_of("here"));
      });
}

TEST(ManagedBootstrap, TheEndWaitsForAllOnOneHostAndOnSeveral) {
  for (const bool one_host : {true, false}) {
    FakeLauncher launcher(4);
    run_job(
        launcher, [&](std::uint32_t rank) { return one_host ? all_of(4) : pair_of(rank); },
        [&](Bootstrap& rank) {
          launcher.exchange();
          if (rank.placement().self.index != 0) rank.arrive_at_end();
          launcher.exchange();
          EXPECT_FALSE(rank.have_all_arrived_at_end());
          launcher.exchange();
          if (rank.placement().self.index == 0) rank.arrive_at_end();
          launcher.exchange();
          EXPECT_TRUE(rank.have_all_arrived_at_end());
          rank.report_finalized();
          rank.report_exit();
        });
    EXPECT_EQ(launcher.finalized, 4);
  }
}

TEST(ManagedBootstrap, SessionsAloneTakeTheirLeaveAtExit) {
  FakeLauncher launcher(2);
  run_job(launcher, pair_of, [&](Bootstrap& rank) {
    rank.report_finalized();
    launcher.exchange();
    EXPECT_EQ(launcher.finalized, 0);
    launcher.exchange();
    rank.report_exit();
  });
  EXPECT_EQ(launcher.finalized, 2);
}

TEST(ManagedBootstrap, NobodyIsWaitedForOnceTheLauncherIsGone) {
  FakeLauncher launcher(4);
  run_job(launcher, pair_of, [&](Bootstrap& rank) {
    launcher.is_gone = true;
    rank.arrive_at_end();
    EXPECT_TRUE(rank.have_all_arrived_at_end());
  });
}

TEST(ManagedBootstrap, WhatCannotBeIsRefused) {
  struct Case {
    std::uint32_t rank;
    Ranks claimed;
  };
  for (const Case& wrong :
       {Case{2, {2}}, {0, {}}, {0, {1}}, {0, {0, 0}}, {0, {1, 0}}, {0, {0, 2}}}) {
    FakeLauncher launcher(2);
    const auto refused = ManagedBootstrap::connect(
        std::make_unique<FakeProcessManager>(launcher, wrong.rank, wrong.claimed));
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().sentence().find("a fake launcher"), std::string::npos);
  }
}

TEST(ManagedBootstrap, ADamagedSecretIsRefusedAndNotPrinted) {
  FakeLauncher launcher(1);
  launcher.forge(0, "job", "00ff00ff");
  const auto refused =
      ManagedBootstrap::connect(std::make_unique<FakeProcessManager>(launcher, 0, Ranks{0}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().sentence().find("00ff"), std::string::npos);
}

TEST(ManagedBootstrap, DamagedValuesAreAnError) {
  FakeLauncher launcher(4);
  launcher.forge(2, "values.0.0", "1.0461");
  run_job(launcher, pair_of, [&](Bootstrap& rank) {
    ASSERT_TRUE(rank.commit().ok());
    EXPECT_EQ(rank.look_up(2, "address").ok(), rank.placement().self.index >= 2);
  });
}

TEST(ManagedBootstrap, AbortEndsWithACodeThatFails) {
  const pid_t child = ::fork();
  if (child == 0) {
    FakeLauncher launcher(1);
    auto rank =
        ManagedBootstrap::connect(std::make_unique<FakeProcessManager>(launcher, 0, Ranks{0}));
    (*rank)->abort(256, "no more bread");
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

/// A job of one rank.
std::unique_ptr<Bootstrap> alone(FakeLauncher& launcher,
                                 std::uint64_t arrival_ns = ManagedBootstrap::arrival_ns_max) {
  auto connected = ManagedBootstrap::connect(
      std::make_unique<FakeProcessManager>(launcher, 0, all_of(1)), arrival_ns);
  EXPECT_TRUE(connected.ok()) << connected.error().sentence();
  return *std::move(connected);
}

template <class T>
int code_of(const Result<T>& result) {
  return result ? 0 : result.error().code();
}

constexpr int spawn_class = static_cast<int>(ErrorClass::spawn);
constexpr int service_class = static_cast<int>(ErrorClass::service);
constexpr int name_class = static_cast<int>(ErrorClass::name);

TEST(ManagedBootstrap, NewProcessesMayComeUntilTheLauncherSaysOtherwise) {
  FakeLauncher launcher(1);
  const auto rank = alone(launcher);
  EXPECT_EQ(code_of(rank->spawn({})), spawn_class);
  const auto spawning = rank->spawn({.programs = {{{"program"}, 2, ""}}, .environment = {}});
  ASSERT_TRUE(spawning.ok());
  EXPECT_EQ((*spawning)->failure(), std::nullopt);
  launcher.set_spawn_failure("they have ended");
  pollfd event{(*spawning)->descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&event, 1, 10000), 1);
  EXPECT_EQ((*spawning)->failure(), "they have ended");
}

TEST(ManagedBootstrap, NewProcessesThatNeverComeAreGivenUp) {
  FakeLauncher launcher(1);
  const auto rank = alone(launcher, 0);
  const auto spawning = rank->spawn({.programs = {{{"program"}, 2, ""}}, .environment = {}});
  ASSERT_TRUE(spawning.ok());
  EXPECT_NE((*spawning)->failure().value_or("").find("within 0 s"), std::string::npos);
}

TEST(ManagedBootstrap, ANameIsPublishedOnceAndByOne) {
  FakeLauncher launcher(1);
  const auto rank = alone(launcher);
  EXPECT_EQ(code_of(rank->look_up_name("fish")), name_class);
  ASSERT_TRUE(rank->publish_name("fish", "a port").ok());
  EXPECT_EQ(*rank->look_up_name("fish"), "a port");
  EXPECT_EQ(code_of(rank->publish_name("fish", "another")), service_class);
  ASSERT_TRUE(rank->unpublish_name("fish").ok());
  EXPECT_EQ(code_of(rank->unpublish_name("fish")), service_class);
  launcher.set_name("bread", "of another process");
  EXPECT_EQ(code_of(rank->publish_name("bread", "mine")), service_class);
  EXPECT_EQ(code_of(rank->unpublish_name("bread")), service_class);
}

TEST(ManagedBootstrap, NamesEndWithTheirProcessWhichThenAsksForNothing) {
  FakeLauncher launcher(1);
  const auto rank = alone(launcher);
  launcher.set_name("bread", "of another process");
  ASSERT_TRUE(rank->publish_name("fish", "a port").ok());
  rank->arrive_at_end();
  rank->report_finalized();
  EXPECT_EQ(launcher.names().size(), 1U);
  EXPECT_EQ(code_of(rank->spawn({.programs = {{{"program"}, 1, ""}}, .environment = {}})),
            spawn_class);
  EXPECT_EQ(code_of(rank->publish_name("fish", "a port")), service_class);
  EXPECT_EQ(code_of(rank->look_up_name("bread")), name_class);
  EXPECT_EQ(launcher.spawns, 0);
}

}  // namespace
}  // namespace hawser::bootstrap
