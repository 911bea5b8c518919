// The UDP sockets of a host, RoCEv2's port on IPv4 and IPv6: packets out and in, many a call.
//
// The sockets are unconnected and forbid fragments, so that the kernel writes the IP headers that
// the ICRC is computed over. Ownership: descriptors are borrowed. Threads: one for each object.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "platform/file.hpp"
#include "softrdma/fabric/host.hpp"
#include "softrdma/qp/context.hpp"
#include "softrdma/udp/addresses.hpp"

namespace softrdma::udp {

/// Two sockets, of IPv4 and IPv6 (or the first alone, on hosts without IPv6), on roce_port of ONLY
/// if that is not empty, else of all addresses. Errors: a sentence.
hawser::base::Result<std::vector<hawser::platform::FileDescriptor>> open_sockets(
    std::span<const fabric::NetworkAddress> only);

/// Sockets for packets to the multicast address GROUP that come by INTERFACES, as the system
/// numbers them: one, or one of each if GROUP means another group on each link. Errors: a sentence.
hawser::base::Result<std::vector<hawser::platform::FileDescriptor>> open_group_sockets(
    const wire::Address& group, std::span<const std::uint32_t> interfaces);

/// Packets that go out together.
class Sender {
 public:
  struct Counters {
    std::uint64_t packets = 0;
    std::uint64_t refused = 0;  // by the system; they count as lost
  };

  explicit Sender(std::span<const hawser::platform::FileDescriptor> sockets)
      : sockets_(sockets), batch_(sockets.empty() ? 0 : batch_packets) {}

  /// The payload has to stay until flush().
  void add(const qp::Outgoing& packet, const Way& way);
  /// Acknowledgements go last: a program may wait for the others, and their order is their own.
  void flush();
  /// Packets that wait for flush(), and whether any of them has a payload.
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool has_payloads() const { return has_payloads_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  static constexpr std::size_t batch_packets = 32;
  struct Entry {
    sockaddr_storage to;
    alignas(cmsghdr)
        std::array<std::byte, CMSG_SPACE(sizeof(in6_pktinfo)) + CMSG_SPACE(sizeof(int))> control;
    std::array<std::byte, wire::headers_bytes_max> headers;
    std::array<std::byte, wire::padding_bytes_max + wire::icrc_bytes> trailer;
    std::array<iovec, memory::entries_max + 2> parts;
    msghdr header;
    bool is_ipv4;
    bool is_acknowledgement;
  };
  void send_run(std::span<mmsghdr> messages, int fd);

  std::span<const hawser::platform::FileDescriptor> sockets_;
  std::vector<Entry> batch_;
  std::size_t count_ = 0;
  bool has_payloads_ = false;
  Counters counters_;
};

/// Where a packet came from, and what it is from the base header to the padding.
struct Datagram {
  wire::UdpPath path;
  std::span<const std::byte> bytes;
  bool is_marked = false;  // "congestion experienced", as RFC 3168 has it
};

class Receiver {
 public:
  /// Whoever reads them may be another thread than the one that receives.
  struct Counters {
    std::atomic<std::uint64_t> packets = 0;
    std::atomic<std::uint64_t> wrong_checksum = 0;
  };

  explicit Receiver(std::span<const hawser::platform::FileDescriptor> sockets)
      : sockets_(sockets) {}

  /// Gives some of what has come to socket WHICH, at most 32 packets, to TAKE, if their checksum is
  /// right. Returns how many came.
  std::size_t receive(std::size_t which, const std::function<void(const Datagram&)>& take);
  /// The same, from the socket FD.
  std::size_t receive_from(int fd, const std::function<void(const Datagram&)>& take);
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  static constexpr std::size_t batch_packets = 32;
  static constexpr std::size_t packet_bytes_max = 4096 + 128;
  struct Entry {
    sockaddr_storage from;
    alignas(cmsghdr) std::array<std::byte, 128> control;
    std::array<std::byte, packet_bytes_max> bytes;
    iovec part;
  };
  void prepare(std::size_t first, std::size_t count);
  void take_one(std::size_t i, const std::function<void(const Datagram&)>& take);

  std::span<const hawser::platform::FileDescriptor> sockets_;
  std::vector<Entry> batch_;
  std::vector<mmsghdr> messages_;  // of each entry; prepared for the next to come
  std::size_t wanted_ = 1;         // packets, of the next call
  Counters counters_;
};

}  // namespace softrdma::udp
