// A message over datagrams, both ends in one process: from memory to memory by the adapter, and by
// copies to and from its buffers, as frames go.
#include <benchmark/benchmark.h>

#include "transport/verbs/datagrams.hpp"
#include "transport/verbs/zero_copy_ends.hpp"

namespace hawser::transport::verbs {
namespace {

void set_rate(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void without_copies(benchmark::State& state) {
  ZeroCopyEnds ends;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  RegisteredMemory source(ends.port, bytes);
  RegisteredMemory target(ends.port, bytes);
  for (auto _ : state) {
    if (ends.transfer(source, target, bytes) != ZeroCopyReceiver::Event::Kind::finished)
      return state.SkipWithError("a transfer has failed");
  }
  set_rate(state);
}
BENCHMARK(without_copies)->RangeMultiplier(4)->Range(16 << 10, 4 << 20)->UseRealTime();

/// The two datagram queue pairs of the copying way.
struct CopyingEnds {
  CopyingEnds() {
    auto opened = Datagrams::open({port, nullptr, buffers, ledger}, settings);
    auto opened_too = Datagrams::open({port, nullptr, buffers, ledger}, settings);
    if (!opened || !opened_too) throw std::runtime_error("no datagrams");
    sender = std::move(*opened);
    receiver = std::move(*opened_too);
  }
  /// Copies the next part of SOURCE into a datagram; false if there is no room.
  bool send(std::span<const std::byte> source) {
    if (!sender->has_room()) return false;
    std::byte* frame = buffers.reserve(source.size());
    if (frame == nullptr) {
      sender->reap_sends();
      frame = buffers.reserve(source.size());
    }
    if (frame == nullptr) return false;
    std::ranges::copy(source, frame);
    sender->post(frame, source.size(), to.get(), receiver->number());
    buffers.release(frame);
    return true;
  }

  Port port = port_of_a_test();
  const Settings settings;
  memory::Ledger ledger;
  SendBuffers buffers{port, settings, ledger};
  AddressHandle to = port.make_address_handle(address_of(port));
  std::unique_ptr<Datagrams> sender;
  std::unique_ptr<Datagrams> receiver;
};

void with_copies(benchmark::State& state) {
  CopyingEnds ends;
  // As many as there are buffers to receive: none is lost.
  constexpr std::size_t window = 128;
  const std::size_t piece_bytes = mtu_bytes(ends.port.mtu) - sizeof(DatagramHeader);
  const std::vector<std::byte> source(static_cast<std::size_t>(state.range(0)));
  std::vector<std::byte> target(source.size());
  for (auto _ : state) {
    const Segmentation cut{source.size(), piece_bytes};
    std::uint32_t sent = 0;
    std::uint32_t arrived = 0;
    while (arrived < cut.count()) {
      while (sent < cut.count() && sent < arrived + window &&
             ends.send(std::span(source).subspan(cut.offset_of(sent), cut.bytes_of(sent))))
        ++sent;
      ends.receiver->poll([&](const ReceivedDatagram& datagram) {
        std::ranges::copy(datagram.bytes.subspan(sizeof(DatagramHeader)),
                          target.begin() + static_cast<std::ptrdiff_t>(cut.offset_of(arrived++)));
      });
    }
  }
  set_rate(state);
}
BENCHMARK(with_copies)->RangeMultiplier(4)->Range(16 << 10, 4 << 20)->UseRealTime();

}  // namespace
}  // namespace hawser::transport::verbs
