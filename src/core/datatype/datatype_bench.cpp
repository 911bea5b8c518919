// Packing a strided vector, against a loop written by hand for that one layout.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>

#include "core/datatype/datatype.hpp"

namespace hawser::core {
namespace {

constexpr Count kDataBytes = 1 << 20;
constexpr std::uint32_t kByte = 0x247;

struct Buffers {
  std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(2 * kDataBytes);
  std::unique_ptr<std::byte[]> stream = std::make_unique<std::byte[]>(kDataBytes);
};

void report(benchmark::State& state) { state.SetBytesProcessed(state.iterations() * kDataBytes); }

/// Every second block of BLOCK bytes.
Ref<Datatype> strided(const TypeTable& table, Count block) {
  Ref<Datatype> type =
      std::move(make_vector(kDataBytes / block, block, 2 * block, *table.find(kByte), false))
          .value();
  type->commit();
  return type;
}

void pack_strided(benchmark::State& state) {
  const TypeTable table;
  const Ref<Datatype> type = strided(table, state.range(0));
  Buffers buffers;
  for (auto _ : state) {
    type->pack(buffers.memory.get(), 1, 0, buffers.stream.get(), kDataBytes);
    benchmark::ClobberMemory();
  }
  report(state);
}

void unpack_strided(benchmark::State& state) {
  const TypeTable table;
  const Ref<Datatype> type = strided(table, state.range(0));
  Buffers buffers;
  for (auto _ : state) {
    type->unpack(buffers.memory.get(), 1, 0, buffers.stream.get(), kDataBytes);
    benchmark::ClobberMemory();
  }
  report(state);
}

/// In fragments of 8 KiB, as a pipeline does.
void pack_strided_in_fragments(benchmark::State& state) {
  const TypeTable table;
  const Ref<Datatype> type = strided(table, state.range(0));
  Buffers buffers;
  constexpr Count fragment = 8192;
  for (auto _ : state) {
    for (Count skip = 0; skip < kDataBytes; skip += fragment)
      type->pack(buffers.memory.get(), 1, skip, buffers.stream.get() + skip, fragment);
    benchmark::ClobberMemory();
  }
  report(state);
}

template <std::size_t block>
void by_hand_strided(benchmark::State& state) {
  Buffers buffers;
  for (auto _ : state) {
    const std::byte* from = buffers.memory.get();
    std::byte* to = buffers.stream.get();
    for (std::size_t i = 0; i < kDataBytes / block; ++i)
      std::memcpy(to + i * block, from + i * 2 * block, block);
    benchmark::ClobberMemory();
  }
  report(state);
}

template <std::size_t block>
void by_hand_unpack(benchmark::State& state) {
  Buffers buffers;
  for (auto _ : state) {
    std::byte* to = buffers.memory.get();
    const std::byte* from = buffers.stream.get();
    for (std::size_t i = 0; i < kDataBytes / block; ++i)
      std::memcpy(to + i * 2 * block, from + i * block, block);
    benchmark::ClobberMemory();
  }
  report(state);
}

void pack_contiguous(benchmark::State& state) {
  const TypeTable table;
  Ref<Datatype> type = std::move(make_contiguous(kDataBytes, *table.find(kByte), false)).value();
  type->commit();
  Buffers buffers;
  for (auto _ : state) {
    type->pack(buffers.memory.get(), 1, 0, buffers.stream.get(), kDataBytes);
    benchmark::ClobberMemory();
  }
  report(state);
}

void by_hand_contiguous(benchmark::State& state) {
  Buffers buffers;
  for (auto _ : state) {
    std::memcpy(buffers.stream.get(), buffers.memory.get(), kDataBytes);
    benchmark::ClobberMemory();
  }
  report(state);
}

struct Particle {
  std::int32_t kind;
  double position;
};

/// An array of structs with a hole: many items of a small type.
void pack_structs(benchmark::State& state) {
  const TypeTable table;
  const Count lengths[] = {1, 1};
  const Count at[] = {offsetof(Particle, kind), offsetof(Particle, position)};
  Datatype* const types[] = {table.find(0x209), table.find(0x214)};  // MPI_INT, MPI_DOUBLE
  Ref<Datatype> type = std::move(make_struct(lengths, at, types, false)).value();
  type->commit();
  Buffers buffers;
  const Count count = kDataBytes / 12;
  for (auto _ : state) {
    type->pack(buffers.memory.get(), count, 0, buffers.stream.get(), count * 12);
    benchmark::ClobberMemory();
  }
  report(state);
}

void by_hand_structs(benchmark::State& state) {
  Buffers buffers;
  for (auto _ : state) {
    const std::byte* from = buffers.memory.get();
    std::byte* to = buffers.stream.get();
    for (Count i = 0; i < kDataBytes / 12; ++i, from += sizeof(Particle), to += 12) {
      std::memcpy(to, from + offsetof(Particle, kind), 4);
      std::memcpy(to + 4, from + offsetof(Particle, position), 8);
    }
    benchmark::ClobberMemory();
  }
  report(state);
}

BENCHMARK(pack_contiguous);
BENCHMARK(by_hand_contiguous);
BENCHMARK(pack_strided)->Arg(4)->Arg(8)->Arg(16)->Arg(64)->Arg(1024);
BENCHMARK(by_hand_strided<4>);
BENCHMARK(by_hand_strided<8>);
BENCHMARK(by_hand_strided<16>);
BENCHMARK(by_hand_strided<64>);
BENCHMARK(by_hand_strided<1024>);
BENCHMARK(unpack_strided)->Arg(4)->Arg(8)->Arg(16)->Arg(64)->Arg(1024);
BENCHMARK(by_hand_unpack<4>);
BENCHMARK(by_hand_unpack<8>);
BENCHMARK(by_hand_unpack<16>);
BENCHMARK(by_hand_unpack<64>);
BENCHMARK(by_hand_unpack<1024>);
BENCHMARK(pack_strided_in_fragments)->Arg(8)->Arg(64);
BENCHMARK(pack_structs);
BENCHMARK(by_hand_structs);

}  // namespace
}  // namespace hawser::core
