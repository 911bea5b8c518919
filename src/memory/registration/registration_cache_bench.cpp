// What a message pays for memory that is registered already, with many registrations beside it, and
// for an event in between.
#include <benchmark/benchmark.h>

#include "memory/registration/registration_cache.hpp"

namespace hawser::memory {
namespace {

constexpr std::size_t page = 4096;

class NoDevice final : public Registrar {
 public:
  Result<RegistrationHandle> add(std::uintptr_t /*address*/, std::size_t /*bytes*/) override {
    return RegistrationHandle{1};
  }
  void remove(RegistrationHandle /*handle*/) override {}
};

constexpr std::uintptr_t address_of(std::size_t registration) {
  constexpr std::size_t distance_pages = 64;
  return (1 + registration * distance_pages) * page;
}

class Registered {
 public:
  explicit Registered(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      benchmark::DoNotOptimize(cache.acquire(address_of(i), page));
  }

 private:
  Ledger ledger_;
  NoDevice device_;

 public:
  RegistrationCache cache{
      device_, ledger_, {.pinned_bytes_max = std::size_t{1} << 32, .page_bytes = page}};
};

void hit(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Registered registered(count);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(registered.cache.acquire(address_of(next), page));
    next = (next + 7) % count;
  }
}
BENCHMARK(hit)->Arg(1)->Arg(16)->Arg(256)->Arg(4096);

void hit_after_an_event_elsewhere(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Registered registered(count);
  for (auto _ : state) {
    registered.cache.invalidate(address_of(count), page);
    benchmark::DoNotOptimize(registered.cache.acquire(address_of(0), page));
  }
}
BENCHMARK(hit_after_an_event_elsewhere)->Arg(256);

void miss(benchmark::State& state) {
  Registered registered(1);
  for (auto _ : state) {
    registered.cache.invalidate(address_of(0), page);
    benchmark::DoNotOptimize(registered.cache.acquire(address_of(0), page));
  }
}
BENCHMARK(miss);

}  // namespace
}  // namespace hawser::memory
