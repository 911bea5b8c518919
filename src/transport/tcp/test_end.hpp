// Ends of the transport for its tests: several in one process, over the loopback interface.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "platform/bell.hpp"
#include "platform/clock.hpp"
#include "transport/recording_sink.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace hawser::transport::tcp {

inline JobKey test_key(std::byte secret = std::byte{1}) {
  JobKey key{};
  key[0] = secret;
  return key;
}

/// Loopback alone, so that tests need no network.
inline Settings test_settings(bool encrypts = false, std::int64_t timeout_s = 15) {
  return {.include = "lo", .exclude = "", .encrypt = encrypts, .timeout_s = timeout_s};
}

template <class SinkType = RecordingSink>
struct End {
  explicit End(std::uint32_t index, const Settings& settings = test_settings(),
               const JobKey& key = test_key(), const std::vector<InterfaceAddress>& interfaces = {})
      : self{1, index, 0} {
    auto opened = TcpTransport::open(
        {self, key, nullptr, &ledger, &sink, platform::monotonic_ns, interfaces}, settings);
    if (!opened) throw std::runtime_error(opened.error().sentence());
    transport = std::move(*opened);
  }
  template <class Peer>
  TcpLink& connect(Peer& to) {
    return static_cast<TcpLink&>(**transport->connect(to.self, *to.transport->address()));
  }
  /// By all interfaces.
  [[nodiscard]] std::uint64_t bytes_sent() const {
    std::uint64_t sum = 0;
    for (const Transport::Traffic& each : transport->traffic()) sum += each.bytes_sent;
    return sum;
  }

  const Identity self;
  memory::Ledger ledger;
  SinkType sink;
  std::unique_ptr<TcpTransport> transport;
};

/// Polls all TRANSPORTS as processes that are about to sleep, until nothing has come for a time.
template <class... Transports>
void settle_all(Transports&... transports) {
  constexpr std::uint64_t quiet_ns = 5'000'000;
  constexpr int quiet_times = 3;
  const std::array descriptors = {transports.descriptor()...};
  const auto poll = [](auto& transport) {
    transport.arm();
    return static_cast<int>(transport.progress());
  };
  for (int quiet = 0; quiet < quiet_times;) {
    if ((poll(transports) + ...) > 0) {
      quiet = 0;
    } else {
      platform::wait_for_any(descriptors, quiet_ns);
      ++quiet;
    }
  }
}

template <class... Ends>
void settle(Ends&... ends) {
  settle_all(*ends.transport...);
}

/// Polls ENDS until DONE, at most for a time.
template <class Done, class... Ends>
bool poll_until(Done&& done, Ends&... ends) {
  constexpr std::uint64_t patience_ns = 20'000'000'000;
  const std::uint64_t until_ns = platform::monotonic_ns() + patience_ns;
  const std::array descriptors = {ends.transport->descriptor()...};
  constexpr std::uint64_t look_ns = 1'000'000;
  while (!done()) {
    if (platform::monotonic_ns() >= until_ns) return false;
    (ends.transport->arm(), ...);
    if ((static_cast<int>(ends.transport->progress()) + ...) == 0)
      platform::wait_for_any(descriptors, look_ns);
  }
  return true;
}

}  // namespace hawser::transport::tcp
