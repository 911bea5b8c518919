// For tests: ends of the shared-memory transport, in one process or in several.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "transport/recording_sink.hpp"
#include "transport/shm/shm_transport.hpp"

namespace hawser::transport::shm {

inline constexpr std::uint64_t test_job = 0x7465737400000000ULL;

inline std::array<std::byte, 32> test_key() {
  std::array<std::byte, 32> key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i + 1);
  return key;
}

inline Identity test_identity(std::uint32_t rank) { return {test_job, rank, 0}; }

/// One process's end, with a sink that records.
template <class SinkType = RecordingSink>
struct ShmEnd {
  ShmEnd(std::uint32_t rank, std::span<hostmem::WakeWord> wake_words, const Settings& settings,
         hostmem::FencePayer payer = hostmem::FencePayer::waker)
      : key(test_key()),
        transport(std::move(*ShmTransport::open(
            {test_identity(rank), key, rank, wake_words, payer, &ledger, &sink}, settings))) {}

  [[nodiscard]] std::vector<std::byte> address() {
    const auto bytes = *transport->address();
    return {bytes.begin(), bytes.end()};
  }
  Link& connect(std::uint32_t rank, std::span<const std::byte> address) {
    return **transport->connect(test_identity(rank), address);
  }

  std::array<std::byte, 32> key;
  memory::Ledger ledger;
  SinkType sink;
  std::unique_ptr<ShmTransport> transport;
};

/// Polls all ENDS until none of them moves any more.
template <class... Ends>
void settle(Ends&... ends) {
  for (int quiet = 0; quiet < 3;) {
    const bool moved = (static_cast<int>(ends.transport->progress()) + ...) > 0;
    quiet = moved ? 0 : quiet + 1;
  }
}

}  // namespace hawser::transport::shm
