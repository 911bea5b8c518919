#include "softrdma/memory/region_table.hpp"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace softrdma::memory {
namespace {

constexpr unsigned read_right = IBV_ACCESS_REMOTE_READ;
constexpr unsigned write_right = IBV_ACCESS_REMOTE_WRITE;
constexpr std::uint32_t domain = 7;
constexpr std::uint32_t queue_pair = 11;

class Regions : public testing::Test {
 protected:
  std::uint32_t insert(unsigned access, std::uint64_t address = 0x1000) {
    return *table_.insert({.address = address,
                           .bytes = memory_.size(),
                           .memory = memory_.data(),
                           .domain = domain,
                           .access = access});
  }
  Refusal refusal(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, unsigned rights,
                  std::uint32_t asking_domain = domain) {
    return table_.open(key, address, bytes, {asking_domain, queue_pair, rights}).refusal;
  }

  RegionTable table_{12345};
  std::array<std::byte, 100> memory_{};
};

TEST_F(Regions, OpenWhatTheyWereMadeFor) {
  const std::uint32_t key = insert(read_right);
  const Opened opened = table_.open(key, 0x1000 + 20, 80, {domain, queue_pair, read_right});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.memory, memory_.data() + 20);
}

TEST_F(Regions, RefuseWithTheReason) {
  const std::uint32_t key = insert(read_right);
  EXPECT_EQ(refusal(key ^ 1, 0x1000, 1, read_right), Refusal::unknown_key);
  EXPECT_EQ(refusal(key ^ 0x100, 0x1000, 1, read_right), Refusal::unknown_key);
  EXPECT_EQ(refusal(key, 0x1000, 1, read_right, domain + 1), Refusal::other_domain);
  EXPECT_EQ(refusal(key, 0x1000, 1, write_right), Refusal::missing_right);
  EXPECT_EQ(refusal(key, 0x1000, 1, read_right | write_right), Refusal::missing_right);
  EXPECT_EQ(refusal(key, 0x1000, 101, read_right), Refusal::out_of_bounds);
  EXPECT_EQ(refusal(key, 0x0fff, 1, read_right), Refusal::out_of_bounds);
  EXPECT_EQ(refusal(key, 0x1000 + 100, 1, read_right), Refusal::out_of_bounds);
  EXPECT_EQ(refusal(key, 0x1000 + 100, 0, read_right), Refusal::none);
}

// Nothing that wraps around the end of the address space gets in.
TEST_F(Regions, CountNoBytesPastTheEnd) {
  const std::uint32_t key = insert(read_right, ~std::uint64_t{0} - 99);
  EXPECT_EQ(refusal(key, ~std::uint64_t{0}, 1, read_right), Refusal::none);
  EXPECT_EQ(refusal(key, ~std::uint64_t{0}, 2, read_right), Refusal::out_of_bounds);
  EXPECT_EQ(refusal(key, ~std::uint64_t{0} - 99, ~std::uint64_t{0}, read_right),
            Refusal::out_of_bounds);
  EXPECT_EQ(refusal(key, 0, 1, read_right), Refusal::out_of_bounds);
}

/// Has something to mark, and hears of what was refused.
class Changes final : public AccessObserver {
 public:
  explicit Changes(RegionTable& table) : table_(table) { table.observe(*this); }
  void before_access() override {
    for (const StalePart& part : std::exchange(coming, {})) was_somewhere = table_.mark_stale(part);
  }
  void on_stale_access(const StaleAccess& access) override { refused.push_back(access.part); }

  std::vector<StalePart> coming;
  std::vector<StalePart> refused;
  bool was_somewhere = false;

 private:
  RegionTable& table_;
};

class StaleRegions : public Regions {
 protected:
  /// From the byte BEGIN of the memory to END.
  void change(std::size_t begin, std::size_t end) {
    const auto start = reinterpret_cast<std::uintptr_t>(memory_.data());
    changes_.coming.push_back({start + begin, start + end, Change::unmapped});
  }
  Changes changes_{table_};
};

TEST_F(StaleRegions, OpenOnlyWhatHasNotChanged) {
  const std::uint32_t key = insert(read_right);
  EXPECT_EQ(refusal(key, 0x1000, 100, read_right), Refusal::none);
  change(40, 60);
  EXPECT_EQ(refusal(key, 0x1000, 100, read_right), Refusal::stale);
  EXPECT_EQ(refusal(key, 0x1000, 100, 0), Refusal::stale);
  EXPECT_EQ(refusal(key, 0x1000, 41, read_right), Refusal::stale);
  EXPECT_EQ(refusal(key, 0x1000, 40, read_right), Refusal::none);
  EXPECT_EQ(refusal(key, 0x1000 + 60, 40, read_right), Refusal::none);
  EXPECT_EQ(changes_.refused.size(), 3U);
  EXPECT_EQ(refusal(key, 0x1000, 101, read_right), Refusal::out_of_bounds);
}

TEST_F(StaleRegions, AreGoodWhenRegisteredAgain) {
  const std::uint32_t key = insert(read_right);
  change(0, 100);
  EXPECT_EQ(refusal(key, 0x1000, 1, read_right), Refusal::stale);
  const std::uint32_t second = insert(read_right);
  EXPECT_EQ(refusal(second, 0x1000, 100, read_right), Refusal::none);
  EXPECT_EQ(refusal(key, 0x1000, 1, read_right), Refusal::stale);
  const Region region = *table_.find(key);
  table_.change(key, region);
  EXPECT_EQ(refusal(key, 0x1000, 1, read_right), Refusal::stale);
  table_.renew(key, region);
  EXPECT_EQ(refusal(key, 0x1000, 1, read_right), Refusal::none);
  change(0, 100);
  table_.look_for_changes();
  EXPECT_TRUE(table_.erase(key));
  // The place of the stale one, and nothing of it.
  EXPECT_EQ(refusal(insert(read_right), 0x1000, 100, read_right), Refusal::none);
}

TEST_F(StaleRegions, ArePagedOnDemandIfTheyAskForThat) {
  const std::uint32_t key = insert(read_right | IBV_ACCESS_ON_DEMAND);
  change(0, 100);
  EXPECT_EQ(refusal(key, 0x1000, 100, read_right), Refusal::none);
  EXPECT_FALSE(changes_.was_somewhere);
}

TEST_F(StaleRegions, AreStaleThroughTheirWindowsToo) {
  const std::uint32_t region = insert(read_right | IBV_ACCESS_MW_BIND);
  const std::uint32_t window = *table_.insert({.domain = domain, .kind = RegionKind::window_1});
  ASSERT_TRUE(table_.bind({.window_key = window,
                           .new_key = window,
                           .region_key = region,
                           .access = read_right | IBV_ACCESS_ZERO_BASED,
                           .address = 0x1000 + 50,
                           .bytes = 50},
                          domain, queue_pair));
  change(90, 100);
  EXPECT_EQ(refusal(window, 0, 40, read_right), Refusal::none);
  EXPECT_EQ(refusal(window, 0, 41, read_right), Refusal::stale);
}

TEST_F(Regions, AKeyThatEndedOpensNothingEvenAfterItsPlaceWasGivenAway) {
  const std::uint32_t old_key = insert(read_right);
  EXPECT_TRUE(table_.erase(old_key));
  EXPECT_FALSE(table_.erase(old_key));
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t stale = insert(read_right);
    EXPECT_TRUE(table_.erase(stale));
    const std::uint32_t fresh = insert(read_right);
    EXPECT_EQ(stale >> 8, fresh >> 8);
    EXPECT_EQ(refusal(stale, 0x1000, 1, read_right), Refusal::unknown_key);
    EXPECT_TRUE(table_.erase(fresh));
  }
}

class Windows : public Regions {
 protected:
  std::uint32_t insert_window(RegionKind kind) {
    return *table_.insert({.domain = domain, .kind = kind});
  }
  static std::uint32_t next(std::uint32_t key) { return (key & ~0xffU) | ((key + 1) & 0xffU); }
  /// Bytes 10 to 29 of the region, to be read.
  Binding binding(std::uint32_t window) const {
    return {.window_key = window,
            .new_key = next(window),
            .region_key = region_,
            .access = read_right,
            .address = 0x1000 + 10,
            .bytes = 20};
  }
  bool bind(const Binding& wanted) { return table_.bind(wanted, domain, queue_pair); }

  const std::uint32_t region_ = insert(IBV_ACCESS_MW_BIND);
};

TEST_F(Windows, OpenNothingBeforeTheyAreBound) {
  const std::uint32_t key = insert_window(RegionKind::window_1);
  EXPECT_EQ(refusal(key, 0, 0, read_right), Refusal::missing_right);
}

TEST_F(Windows, OpenTheirPartUnderTheNewKey) {
  for (const RegionKind kind : {RegionKind::window_1, RegionKind::window_2}) {
    const std::uint32_t key = insert_window(kind);
    ASSERT_TRUE(bind(binding(key)));
    EXPECT_EQ(refusal(key, 0x1000 + 10, 20, read_right), Refusal::unknown_key);
    const Opened opened = table_.open(next(key), 0x1000 + 12, 18, {domain, queue_pair, read_right});
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened.memory, memory_.data() + 12);
    EXPECT_EQ(refusal(next(key), 0x1000 + 9, 1, read_right), Refusal::out_of_bounds);
    EXPECT_EQ(refusal(next(key), 0x1000 + 10, 1, write_right), Refusal::missing_right);
    EXPECT_EQ(refusal(next(key), 0x1000 + 10, 1, 0), Refusal::missing_right);
  }
}

TEST_F(Windows, OfTypeTwoOpenToOneQueuePair) {
  const std::uint32_t key = insert_window(RegionKind::window_2);
  ASSERT_TRUE(bind(binding(key)));
  const Access other{domain, queue_pair + 1, read_right};
  EXPECT_EQ(table_.open(next(key), 0x1000 + 10, 1, other).refusal, Refusal::other_queue_pair);
}

TEST_F(Windows, OfTypeTwoAreBoundAgainOnlyOnceTheyAreInvalid) {
  const std::uint32_t key = insert_window(RegionKind::window_2);
  EXPECT_FALSE(table_.invalidate(key, queue_pair));
  ASSERT_TRUE(bind(binding(key)));
  EXPECT_FALSE(bind(binding(next(key))));
  EXPECT_FALSE(table_.invalidate(next(key), queue_pair + 1));
  EXPECT_TRUE(table_.invalidate(next(key), queue_pair));
  EXPECT_EQ(refusal(next(key), 0x1000 + 10, 1, read_right), Refusal::missing_right);
  EXPECT_TRUE(bind(binding(next(key))));
}

TEST_F(Windows, OfTypeOneAreBoundAgainAndUnbound) {
  const std::uint32_t key = insert_window(RegionKind::window_1);
  ASSERT_TRUE(bind(binding(key)));
  ASSERT_TRUE(bind(binding(next(key))));
  EXPECT_EQ(table_.find(region_)->windows, 1U);
  Binding nothing = binding(next(next(key)));
  nothing.bytes = 0;
  ASSERT_TRUE(bind(nothing));
  EXPECT_EQ(table_.find(region_)->windows, 0U);
  EXPECT_FALSE(table_.invalidate(nothing.new_key, queue_pair));
}

TEST_F(Windows, AddressesMayBeginAtZero) {
  const std::uint32_t key = insert_window(RegionKind::window_1);
  Binding wanted = binding(key);
  wanted.access |= IBV_ACCESS_ZERO_BASED;
  ASSERT_TRUE(bind(wanted));
  EXPECT_EQ(table_.open(wanted.new_key, 3, 17, {domain, queue_pair, read_right}).memory,
            memory_.data() + 13);
}

TEST_F(Windows, BreakNoRule) {
  const std::uint32_t key = insert_window(RegionKind::window_1);
  const std::uint32_t unwilling = insert(IBV_ACCESS_LOCAL_WRITE);
  const auto refused = [&](auto&& change) {
    Binding wanted = binding(key);
    change(wanted);
    return !bind(wanted);
  };
  EXPECT_TRUE(refused([](Binding& b) { b.bytes = 91; }));
  EXPECT_TRUE(refused([](Binding& b) { b.address = 0x0fff; }));
  EXPECT_TRUE(refused([](Binding& b) { b.access = write_right; }));  // without LOCAL_WRITE
  EXPECT_TRUE(refused([](Binding& b) { b.new_key ^= 0x100; }));
  EXPECT_TRUE(refused([&](Binding& b) { b.region_key = unwilling; }));
  EXPECT_TRUE(refused([&](Binding& b) { b.region_key = key; }));
  EXPECT_TRUE(refused([&](Binding& b) { b.window_key = region_; }));
  EXPECT_FALSE(table_.bind(binding(key), domain + 1, queue_pair));
  EXPECT_EQ(table_.find(region_)->windows, 0U);
}

TEST_F(Regions, KeysTellNothingOfOneAnother) {
  constexpr int count = 10000;
  std::set<std::uint32_t> places;
  int close = 0;
  std::uint32_t last = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t place = insert(read_right) >> 8;
    places.insert(place);
    if (place - last + 16 < 32) ++close;
    last = place;
  }
  EXPECT_EQ(places.size(), static_cast<std::size_t>(count));
  // Of random places, one in half a million is that close to the one before.
  EXPECT_LT(close, 5);
}

/// Remembers what is published.
class Directory final : public KeyDirectory {
 public:
  void publish(std::uint32_t key, const Region& region) override { regions[key] = region; }
  void withdraw(std::uint32_t key) override { regions.erase(key); }
  std::map<std::uint32_t, Region> regions;
};

TEST(RegionDirectory, HasWhatPeersMayUseAndNothingElse) {
  Directory directory;
  RegionTable table(5, &directory);
  std::array<std::byte, 64> memory{};
  Region region{.address = 0x1000,
                .bytes = memory.size(),
                .memory = memory.data(),
                .domain = domain,
                .access = IBV_ACCESS_LOCAL_WRITE};
  const std::uint32_t local = *table.insert(region);
  EXPECT_TRUE(directory.regions.empty());
  region.access |= write_right | IBV_ACCESS_MW_BIND;
  const std::uint32_t remote = *table.insert(region);
  ASSERT_TRUE(directory.regions.contains(remote));
  region.bytes = 32;
  table.change(remote, region);
  EXPECT_EQ(directory.regions[remote].bytes, 32U);

  const std::uint32_t window = *table.insert({.domain = domain, .kind = RegionKind::window_2});
  EXPECT_FALSE(directory.regions.contains(window));
  const std::uint32_t bound = window ^ 1;
  ASSERT_TRUE(table.bind({.window_key = window,
                          .new_key = bound,
                          .region_key = remote,
                          .access = write_right,
                          .address = 0x1008,
                          .bytes = 8},
                         domain, queue_pair));
  ASSERT_TRUE(directory.regions.contains(bound));
  EXPECT_EQ(directory.regions[bound].only_for_qp, queue_pair);
  EXPECT_EQ(directory.regions[bound].memory, memory.data() + 8);
  ASSERT_TRUE(table.invalidate(bound, queue_pair));
  EXPECT_FALSE(directory.regions.contains(bound));

  table.erase(remote);
  table.erase(local);
  EXPECT_TRUE(directory.regions.empty());
}

TEST(RegionDirectory, HasNothingThatIsStale) {
  Directory directory;
  RegionTable table(5, &directory);
  std::array<std::byte, 64> memory{};
  const Region region{.address = 0x1000,
                      .bytes = memory.size(),
                      .memory = memory.data(),
                      .domain = domain,
                      .access = IBV_ACCESS_LOCAL_WRITE | write_right | IBV_ACCESS_MW_BIND};
  const std::uint32_t key = *table.insert(region);
  const std::uint32_t window = *table.insert({.domain = domain, .kind = RegionKind::window_1});
  const auto bind = [&] {
    return table.bind({.window_key = window,
                       .new_key = window,
                       .region_key = key,
                       .access = write_right,
                       .address = 0x1008,
                       .bytes = 8},
                      domain, queue_pair);
  };
  ASSERT_TRUE(bind());
  EXPECT_EQ(directory.regions.size(), 2U);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  EXPECT_TRUE(table.mark_stale({begin, begin + 1, Change::unmapped}));
  EXPECT_TRUE(directory.regions.empty());
  ASSERT_TRUE(bind());
  table.change(key, region);
  EXPECT_TRUE(directory.regions.empty());
  table.renew(key, region);
  EXPECT_TRUE(directory.regions.contains(key));
}

}  // namespace
}  // namespace softrdma::memory
