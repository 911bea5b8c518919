// The reductions' loops, on buffers that fit in the cache.
#include <benchmark/benchmark.h>

#include <vector>

#include "core/op/op.hpp"

namespace hawser::core {
namespace {

void reduce(benchmark::State& state, OpCode code, std::uint32_t handle) {
  const TypeTable table;
  const Op op(code);
  Datatype& type = *table.find(handle);
  const Count count = 16384 / type.extent();
  std::vector<std::byte> in(16384);
  std::vector<std::byte> inout(16384);
  for (auto _ : state) {
    op.apply(in.data(), inout.data(), count, type);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * count * type.extent());
}

BENCHMARK_CAPTURE(reduce, sum_of_double, OpCode::sum, 0x214);
BENCHMARK_CAPTURE(reduce, max_of_float, OpCode::max, 0x210);
BENCHMARK_CAPTURE(reduce, sum_of_int, OpCode::sum, 0x209);
BENCHMARK_CAPTURE(reduce, product_of_double_complex, OpCode::prod, 0x216);
BENCHMARK_CAPTURE(reduce, minloc_of_double_int, OpCode::minloc, 0x229);

}  // namespace
}  // namespace hawser::core
