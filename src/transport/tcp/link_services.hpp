// LinkServices: what all links of a TCP transport work with.
//
// Ownership: borrows; TcpTransport owns it and what it names, but what its own Environment names.
// Threads:   the lane lock.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/slot_map.hpp"
#include "memory/ledger/ledger.hpp"
#include "memory/pool/buffer_pool.hpp"
#include "platform/poll_set.hpp"
#include "platform/tcp_socket.hpp"
#include "transport/tcp/address.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/interfaces.hpp"
#include "transport/tcp/record_reader.hpp"
#include "transport/tcp/send_buffers.hpp"
#include "transport/tcp/settings.hpp"
#include "transport/transport.hpp"

namespace hawser::transport::tcp {

class Connection;
class TcpLink;

/// Something with a socket that is waited for.
class Polled {
 public:
  Polled() = default;
  Polled(const Polled&) = delete;
  Polled& operator=(const Polled&) = delete;
  virtual ~Polled() = default;
  /// From inside progress(). Nothing that is polled ends in it.
  virtual void on_ready(bool is_readable, bool is_writable) = 0;
};

struct LinkServices {
  HandshakeSide side;
  Settings settings;
  Sink& sink;
  memory::Ledger& ledger;
  std::function<std::uint64_t()> clock;
  std::vector<InterfaceAddress> own_addresses;
  std::vector<Interface> interfaces;  // that others may reach us by
  std::uint64_t host_mark;

  platform::PollSet poll;
  base::SlotMap<Polled> polled = {};  // by the tokens of `poll`
  SendBuffers buffers{ledger};
  NoDevice no_device = {};
  /// What comes is read to these; a connection has one while it has a part of a record.
  memory::BufferPool staging{no_device,
                             ledger,
                             {.account = memory::Account::network_buffers,
                              .buffer_bytes = RecordReader::memory_bytes,
                              .slab_buffers = 1,
                              .slabs_max = staging_max}};

  std::vector<TcpLink*> changed = {};    // something has happened to their connections
  std::vector<TcpLink*> timed = {};      // with something to do by themselves at some time
  std::vector<Connection*> unsent = {};  // with something that was not worth a system call alone
  std::vector<Connection*> unread = {};  // with records that were read and not told of
  Connection* recent = nullptr;          // that brought something last,
  std::uint32_t recent_receipts = 0;     // and how often in a row
  std::uint32_t connections_made = 0;
  /// By each of the interfaces; the last: by none of them.
  std::vector<std::uint64_t> bytes_sent = std::vector<std::uint64_t>(interfaces.size() + 1);
  std::uint64_t uses = 0;  // frames that were sent or came: the clock by which links are idle
  Transport::PeerConnections connections = {};
  bool has_visitor_news = false;
  bool lacks_room = false;  // for a descriptor: some link shall do without its own

  static constexpr std::size_t staging_max = 4096;
  /// Why a connection is ended that TcpSocket::is_silent; for people.
  static constexpr std::string_view host_is_silent = "its host does not answer";
  /// How long one of several connections may carry nothing before the others take over; short, as
  /// a mistake costs no more than a new connection.
  static constexpr std::uint32_t rail_timeout_s = 1;
  /// Bytes to and from a peer that earn it further connections: what they cost it is less than a
  /// millisecond, and this much takes one on the fastest networks.
  static constexpr std::uint64_t rail_bytes_min = 1'000'000;

  [[nodiscard]] std::uint32_t timeout_s() const {
    return static_cast<std::uint32_t>(settings.timeout_s);
  }
  [[nodiscard]] std::uint64_t timeout_ns() const { return timeout_s() * base::ns_per_s; }
  /// 0: never.
  [[nodiscard]] std::uint64_t idle_ns() const {
    return static_cast<std::uint64_t>(settings.idle_s) * base::ns_per_s;
  }
  [[nodiscard]] bool has_too_many() const {
    return settings.connections_max > 0 &&
           connections.now > static_cast<std::uint64_t>(settings.connections_max);
  }
  [[nodiscard]] bool has_rails() const { return settings.rails > 1 && interfaces.size() > 1; }
  /// A socket that IT is told of from now on.
  std::uint64_t watch(const platform::TcpSocket& socket, Polled& it, bool for_writing) {
    const std::uint64_t token = polled.insert(&it);
    poll.add(socket.fd(), token, for_writing);
    return token;
  }
  void forget(const platform::TcpSocket& socket, std::uint64_t token) {
    if (polled.find(token) == nullptr) return;
    polled.erase(token);
    poll.remove(socket.fd());
  }
};

}  // namespace hawser::transport::tcp
