// The cache against a model of the address space in which every page has a life: what is handed out
// must have been registered within the lives of the pages that were asked for.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "memory/registration/address_range.hpp"
#include "memory/registration/registration_cache.hpp"

namespace hawser::memory {
namespace {

constexpr std::size_t model_page = 4096;
constexpr std::size_t model_pages = 64;
constexpr std::size_t model_budget_pages = 24;
constexpr std::uintptr_t model_begin = 1000 * model_page;

/// Pages and a device. A page that goes and comes back has another life.
class ModelDevice final : public Registrar {
 public:
  struct Registration {
    std::size_t first;
    std::vector<std::uint64_t> lives;
  };

  Result<RegistrationHandle> add(std::uintptr_t address, std::size_t bytes) override {
    if (random() % 16 == 0) return Error(ErrorClass::no_mem, "no room just now");
    const std::size_t first = (address - model_begin) / model_page;
    Registration made{first, {}};
    for (std::size_t i = 0; i < bytes / model_page; ++i) made.lives.push_back(lives[first + i]);
    pages_registered += made.lives.size();
    registrations.emplace(++last_handle, made);
    return last_handle;
  }
  void remove(RegistrationHandle handle) override {
    const auto found = registrations.find(handle);
    ASSERT_NE(found, registrations.end());
    pages_registered -= found->second.lives.size();
    registrations.erase(found);
  }
  /// Is what HANDLE reaches at these pages what the program has there?
  [[nodiscard]] bool is_right(RegistrationHandle handle, std::size_t first,
                              std::size_t count) const {
    const Registration& made = registrations.at(handle);
    if (first < made.first || first + count > made.first + made.lives.size()) return false;
    for (std::size_t i = first; i < first + count; ++i)
      if (made.lives[i - made.first] != lives[i]) return false;
    return true;
  }

  std::mt19937_64 random;
  std::vector<std::uint64_t> lives = std::vector<std::uint64_t>(model_pages);
  std::map<RegistrationHandle, Registration> registrations;
  std::size_t pages_registered = 0;
  RegistrationHandle last_handle = 0;
};

struct HeldLease {
  RegistrationCache::Lease lease;
  std::size_t first;
  std::size_t count;
};

class ModelRun {
 public:
  ModelRun(std::uint64_t seed, bool keep)
      : cache_(device_, ledger_,
               {.pinned_bytes_max = model_budget_pages * model_page,
                .page_bytes = model_page,
                .keep = keep}) {
    device_.random.seed(seed);
  }

  void step() {
    switch (pick(8)) {
      case 0:
      case 1:
        unmap();
        break;
      case 2:
      case 3:
        give_back();
        break;
      case 4:
        if (pick(20) == 0) cache_.release_unused();
        break;
      default:
        acquire();
    }
    check();
  }
  void end() {
    held_.clear();
    cache_.release_unused();
    EXPECT_TRUE(device_.registrations.empty());
    EXPECT_EQ(ledger_.current_bytes(Account::registered), 0);
  }
  [[nodiscard]] const RegistrationCounters& counters() const { return cache_.counters(); }

 private:
  std::size_t pick(std::size_t below) { return device_.random() % below; }

  void acquire() {
    const std::size_t first = pick(model_pages);
    const std::size_t count = 1 + pick(std::min<std::size_t>(10, model_pages - first));
    const std::size_t in_use = pages_in_use();
    auto lease = cache_.acquire(model_begin + first * model_page + pick(model_page),
                                (count - 1) * model_page + 1);
    // Bytes that begin within a page may reach into one more.
    if (lease.ok()) {
      held_.push_back({std::move(*lease), first, count});
    } else if (in_use + count <= model_budget_pages) {
      EXPECT_EQ(lease.error().sentence(), "no room just now");
    }
  }
  void give_back() {
    if (held_.empty()) return;
    std::swap(held_[pick(held_.size())], held_.back());
    held_.pop_back();
  }
  /// Pages that the program does not use for communication go, and others come.
  void unmap() {
    const std::size_t first = pick(model_pages);
    const std::size_t count = 1 + pick(std::min<std::size_t>(8, model_pages - first));
    for (const HeldLease& each : held_)
      if (each.first < first + count && first < each.first + each.count) return;
    cache_.invalidate(model_begin + first * model_page, count * model_page);
    for (std::size_t i = first; i < first + count; ++i) ++device_.lives[i];
  }
  [[nodiscard]] std::size_t pages_in_use() const {
    std::map<RegistrationHandle, std::size_t> used;
    for (const HeldLease& each : held_)
      used[each.lease.handle()] = device_.registrations.at(each.lease.handle()).lives.size();
    std::size_t pages = 0;
    for (const auto& [handle, count] : used) pages += count;
    return pages;
  }
  void check() {
    for (const HeldLease& each : held_)
      ASSERT_TRUE(device_.is_right(each.lease.handle(), each.first, each.count));
    ASSERT_LE(device_.pages_registered, model_budget_pages);
    ASSERT_EQ(cache_.counters().registered_bytes, device_.pages_registered * model_page);
    ASSERT_EQ(ledger_.current_bytes(Account::registered), device_.pages_registered * model_page);
  }

  Ledger ledger_;
  ModelDevice device_;
  RegistrationCache cache_;
  std::vector<HeldLease> held_;
};

void run_model(bool keep) {
  constexpr std::uint64_t seeds = 20;
  constexpr int steps = 3000;
  std::uint64_t hits = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ModelRun run(seed, keep);
    for (int i = 0; i < steps; ++i) {
      run.step();
      if (testing::Test::HasFatalFailure()) return;
    }
    run.end();
    hits += run.counters().hits;
  }
  // The run is worth something only if it has found registrations again.
  EXPECT_EQ(hits > seeds * 50, keep);
}

TEST(RegistrationCacheModel, HandsOutNothingStale) { run_model(true); }
TEST(RegistrationCacheModel, NorWithoutEvents) { run_model(false); }

}  // namespace
}  // namespace hawser::memory
