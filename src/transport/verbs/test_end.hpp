// Ends of the transport for its tests: several in one process, over softrdma.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "platform/clock.hpp"
#include "platform/file.hpp"
#include "transport/recording_sink.hpp"
#include "transport/verbs/verbs_transport.hpp"

namespace hawser::transport::verbs {

/// A fabric of this process's own, with four ports: its tests meet nobody else's.
inline const bool has_own_fabric = [] {
  ::setenv("SOFTRDMA_FABRIC", ("verbs-test-" + std::to_string(::getpid())).c_str(), 1);
  ::setenv("SOFTRDMA_DEVICES", "2", 1);
  ::setenv("SOFTRDMA_PORTS", "2", 1);
  return true;
}();

/// A file that the processes of one host have in common.
struct HostFile {
  platform::FileDescriptor file =
      std::move(*platform::create_anonymous_file("host", platform::page_bytes()));
};

struct End {
  explicit End(std::uint32_t index, const Settings& settings = {}, std::byte secret = std::byte{1},
               int host_file = -1)
      : self{1, index, 0} {
    JobKey key{};
    key[0] = secret;
    auto opened = VerbsTransport::open(
        {self, key, &ledger, &sink, platform::monotonic_ns, host_file}, settings);
    if (!opened) throw std::runtime_error(opened.error().sentence());
    transport = std::move(*opened);
  }
  Link& connect(End& to) { return **transport->connect(to.self, *to.transport->address()); }

  const Identity self;
  memory::Ledger ledger;
  RecordingSink sink;
  std::unique_ptr<VerbsTransport> transport;
};

inline void settle(End& a, End& b) {
  for (int quiet = 0; quiet < 1000;)
    quiet = a.transport->progress() || b.transport->progress() ? 0 : quiet + 1;
}

/// Sends frame NUMBER by KIND; the frame, which is to be released, or null if there is no room.
inline std::byte* send(Link& link, ChannelKind kind, std::size_t bytes, std::uint64_t number) {
  std::byte* const frame = link.reserve(kind, bytes);
  if (frame == nullptr) return nullptr;
  make_frame({frame, bytes}, number);
  link.commit(kind);
  return frame;
}
inline std::byte* send_datagram(Link& link, std::size_t bytes, std::uint64_t number) {
  return send(link, ChannelKind::ud_send, bytes, number);
}

inline constexpr ChannelKind rc = ChannelKind::rc_send;
inline constexpr ChannelKind fast = ChannelKind::rc_fast_path;

/// Two ends that know each other.
struct Pair {
  explicit Pair(const Settings& settings = {}) : a(0, settings), b(1, settings) {
    there = &a.connect(b);
    there->release(ChannelKind::ud_send, send_datagram(*there, 8, 0));
    settle(a, b);
    back = b.sink.links.at(0);
    b.sink.arrivals.clear();
  }
  void connect() {
    EXPECT_TRUE(there->ask(rc));
    settle(a, b);
    ASSERT_TRUE(there->channels().has(rc));
    ASSERT_TRUE(back->channels().has(rc));
  }
  void make_fast_path() {
    EXPECT_TRUE(there->ask(fast));
    settle(a, b);
    ASSERT_TRUE(there->channels().has(fast));
  }
  End a;
  End b;
  Link* there = nullptr;
  Link* back = nullptr;
};

inline bool is_readable(int descriptor, int timeout_ms) {
  pollfd polled{descriptor, POLLIN, 0};
  return ::poll(&polled, 1, timeout_ms) == 1;
}

inline std::int64_t buffers_of(const End& end) {
  return end.ledger.current_bytes(memory::Account::network_buffers) +
         end.ledger.current_bytes(memory::Account::connection_buffers);
}

}  // namespace hawser::transport::verbs
