// Handles of requests are made and ended for every nonblocking operation.
#include <benchmark/benchmark.h>

#include "binding/handle_table.hpp"

namespace hawser::binding {
namespace {

class Thing : public core::Object {};

void insert_and_erase(benchmark::State& state) {
  HandleTable table(HandleKind::request);
  auto thing = Ref<core::Object>(base::make_ref<Thing>());
  for (auto _ : state) {
    const std::uint64_t handle = table.insert(std::move(thing));
    thing = table.erase(handle);
  }
}
BENCHMARK(insert_and_erase);

void find(benchmark::State& state) {
  HandleTable table(HandleKind::request);
  const std::uint64_t handle = table.insert(base::make_ref<Thing>());
  for (auto _ : state) benchmark::DoNotOptimize(table.find(handle));
}
BENCHMARK(find);

}  // namespace
}  // namespace hawser::binding
