#include "softrdma/fabric/direct.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

namespace softrdma::fabric {
namespace {

constexpr std::uint32_t pair_domain = 4;
constexpr unsigned all_rights =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr std::uint64_t base = 0x10000;  // of the region, as work requests name it
constexpr std::uint32_t region_key = 0x1234;

ibv_ah_attr address_of_host() {
  ibv_ah_attr address{};
  address.dlid = 9;
  address.port_num = 1;
  return address;
}

std::vector<link::PortIdentity> port_of_host() {
  link::PortIdentity port;
  port.lid = 9;
  port.gids.resize(1);
  return {port};
}

/// A process, as far as its direct access goes, with a queue pair and a region.
struct Process {
  explicit Process(const std::string& fabric)
      : host(std::move(Host::join(fabric).value())), number(*host->take()) {}

  void open_to(std::uint32_t peer, unsigned access = all_rights) {
    direct.open({.queue_pair = number, .peer = peer, .domain = pair_domain, .access = access},
                address_of_host());
  }
  void publish(unsigned access = all_rights, std::uint32_t domain = pair_domain,
               std::uint32_t only_for_qp = 0) {
    direct.publish(region_key, {.address = base,
                                .bytes = ram.size(),
                                .memory = ram.data(),
                                .domain = domain,
                                .access = access,
                                .only_for_qp = only_for_qp});
  }

  std::unique_ptr<Host> host;
  Neighbours neighbours{*host};
  const std::vector<link::PortIdentity> ports = port_of_host();
  Direct direct{*host, neighbours, ports};
  const std::uint32_t number;
  std::array<std::byte, 4096> ram{};
};

class DirectTest : public testing::Test {
 protected:
  DirectTest() {
    std::ranges::generate(here_.ram, [i = 0]() mutable { return static_cast<std::byte>(i++ * 7); });
    there_.open_to(here_.number);
    there_.publish();
  }
  static std::string fabric_of_test() {
    static int made = 0;
    return fmt::format("test.direct.{}.{}", ::getpid(), ++made);
  }

  bool copy(bool is_write, std::uint64_t offset, std::uint32_t bytes,
            std::uint32_t key = region_key) {
    qp::DirectCopy what{.is_write = is_write, .local = {}, .remote = {base + offset, key, bytes}};
    what.local.memory[what.local.count++] = std::span(here_.ram).first(bytes / 2);
    what.local.memory[what.local.count++] =
        std::span(here_.ram).subspan(bytes / 2, bytes - bytes / 2);
    now_ns_ += 5'000'000;
    const ibv_ah_attr address = address_of_host();
    return here_.direct.copy(what, here_.number, {&address, there_.number}, now_ns_);
  }
  bool write(std::uint64_t offset = 0, std::uint32_t bytes = 64) {
    return copy(true, offset, bytes);
  }

  const std::string fabric_ = fabric_of_test();
  Process here_{fabric_};
  Process there_{fabric_};
  std::uint64_t now_ns_ = 1;
};

TEST_F(DirectTest, WritesAndReadsOfEveryLengthMoveMemory) {
  for (const std::uint32_t bytes : {1U, 7U, 8U, 9U, 64U, 1000U}) {
    ASSERT_TRUE(copy(true, 16, bytes)) << bytes;
    EXPECT_TRUE(std::equal(here_.ram.begin(), here_.ram.begin() + bytes, there_.ram.begin() + 16));
    EXPECT_EQ(there_.ram[16 + bytes], std::byte{0});
  }
  std::ranges::fill(there_.ram, std::byte{0x5a});
  ASSERT_TRUE(copy(false, 4096 - 500, 500));
  EXPECT_EQ(std::ranges::count(here_.ram, std::byte{0x5a}), 500 + (4096 - 500) / 256);
  EXPECT_EQ(here_.direct.counters().copies, 7U);
}

TEST_F(DirectTest, WhoPollsTheLastBytesFindsAllOthersInPlace) {
  constexpr std::uint8_t rounds = 200;
  for (const std::uint32_t bytes : {9U, 16U, 56U, 64U, 1000U, 4096U}) {
    std::ranges::fill(there_.ram, std::byte{0});
    std::atomic<std::uint8_t> found = 0;
    std::atomic<bool> gives_up = false;
    std::uint64_t wrong = 0;
    std::thread reader([&] {
      std::byte& last = there_.ram[bytes - 1];
      for (std::uint8_t round = 1; round <= rounds; ++round) {
        while (std::atomic_ref(last).load(std::memory_order_acquire) != std::byte{round}) {
          if (gives_up) return;
          std::this_thread::yield();
        }
        for (std::uint32_t i = 0; i < bytes; ++i)
          if (std::atomic_ref(there_.ram[i]).load(std::memory_order_relaxed) != std::byte{round})
            ++wrong;
        found = round;
      }
    });
    for (std::uint8_t round = 1; round <= rounds; ++round) {
      std::ranges::fill(here_.ram, std::byte{round});
      gives_up = !write(0, bytes);
      if (gives_up) break;
      while (found != round) std::this_thread::yield();
    }
    reader.join();
    EXPECT_FALSE(gives_up) << bytes;
    EXPECT_EQ(wrong, 0U) << bytes;
  }
}

TEST_F(DirectTest, WhatTheRegionDoesNotLetIsLeftToPackets) {
  EXPECT_FALSE(write(4096 - 63));
  EXPECT_FALSE(write(~std::uint64_t{0}));
  EXPECT_FALSE(copy(true, 0, 64, region_key + 1));
  there_.direct.withdraw(region_key);
  EXPECT_FALSE(write());
  there_.publish(IBV_ACCESS_REMOTE_READ);
  EXPECT_FALSE(write());
  EXPECT_TRUE(copy(false, 0, 64));
  there_.direct.withdraw(region_key);
  there_.publish(all_rights, pair_domain + 1);
  EXPECT_FALSE(write());
  there_.direct.withdraw(region_key);
  there_.publish(all_rights, pair_domain, there_.number + 1);
  EXPECT_FALSE(write());
  there_.direct.withdraw(region_key);
  there_.publish(all_rights, pair_domain, there_.number);
  EXPECT_TRUE(write());
}

TEST_F(DirectTest, WhatTheQueuePairDoesNotLetIsLeftToPackets) {
  there_.open_to(here_.number, IBV_ACCESS_REMOTE_READ);
  EXPECT_FALSE(write());
  there_.open_to(here_.number + 1);
  EXPECT_FALSE(write()) << "it is connected to another one";
  there_.open_to(here_.number);
  EXPECT_TRUE(write());
  there_.direct.close(there_.number);
  EXPECT_FALSE(write());
  ibv_ah_attr elsewhere = address_of_host();
  elsewhere.dlid = 10;
  there_.direct.open({there_.number, here_.number, pair_domain, all_rights}, elsewhere);
  EXPECT_FALSE(write()) << "its peer is of another host";
}

TEST_F(DirectTest, NobodyIsTakenForWhoWasThereBefore) {
  EXPECT_TRUE(write());
  const std::uint16_t seat = there_.host->seat();
  std::array<std::byte, 4096>& ram = there_.ram;
  there_.host.reset();
  std::ranges::fill(ram, std::byte{0});
  EXPECT_FALSE(write()) << "it has ended";
  const Process other(fabric_);
  ASSERT_EQ(other.host->seat(), seat);
  EXPECT_FALSE(write()) << "another process has its seat";
  EXPECT_EQ(ram[1], std::byte{0});
}

TEST_F(DirectTest, AProcessWhoseMemoryIsClosedGetsPackets) {
  // A process number that means another process: its memory does not hold the cookie.
  there_.host->seat_memory(there_.host->seat()).cookie_address = 8;
  EXPECT_FALSE(write());
}

TEST_F(DirectTest, AKeyWhosePlaceAnotherOneHasIsNotPublished) {
  std::uint32_t other = region_key + 1;
  while (&there_.host->region_card(0, other) != &there_.host->region_card(0, region_key)) ++other;
  there_.direct.publish(other, {.address = base, .bytes = 4096, .memory = there_.ram.data()});
  EXPECT_FALSE(copy(true, 0, 64, other));
  there_.direct.withdraw(other);
  EXPECT_TRUE(write()) << "the one that has the place keeps it";
}

TEST_F(DirectTest, ACardThatIsBeingChangedCountsForNothing) {
  ++there_.host->region_card(there_.host->seat(), region_key).version;
  EXPECT_FALSE(write());
}

TEST_F(DirectTest, WhoTakesMemoryBackWaitsForThoseWhoCopy) {
  for (const bool takes_region : {true, false}) {
    std::atomic<bool> has_left = false;
    std::atomic<bool> was_late = false;
    std::thread visitor;
    {
      auto visit = std::make_unique<Neighbours::Visit>(here_.neighbours, there_.host->seat());
      visitor = std::thread([&has_left, moved = std::move(visit)]() mutable {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        has_left = true;
        moved.reset();
      });
    }
    if (takes_region) {
      there_.direct.withdraw(region_key);
    } else {
      there_.direct.close(there_.number);
    }
    was_late = !has_left;
    visitor.join();
    EXPECT_FALSE(was_late) << takes_region;
  }
}

}  // namespace
}  // namespace softrdma::fabric
