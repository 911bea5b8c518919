// TcpSocket: a listening socket of TCP, or one end of a connection. Nothing here waits.
//
// Ownership: of its descriptor; move-only. Threads: one at a time.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "platform/file.hpp"
#include "platform/ip_address.hpp"

namespace hawser::platform {

class TcpSocket {
 public:
  TcpSocket() = default;

  /// Accepts on all addresses, of version 4 alone where the kernel has no other; at a port that the
  /// kernel chooses.
  static Result<TcpSocket> listen();
  /// Begins to connect to PORT of ADDRESS; see error(). MPI_ERR_NO_MEM: this process, or its host,
  /// may have no more descriptors now.
  static Result<TcpSocket> connect(const IpAddress& address, std::uint16_t port);
  /// The same from the address FROM of INTERFACE, by that alone where this process may say so.
  static Result<TcpSocket> connect_from(const IpAddress& from, const std::string& interface,
                                        const IpAddress& address, std::uint16_t port);
  /// The next connection that waits, if any. MPI_ERR_NO_MEM: as above; it goes on waiting.
  Result<std::optional<TcpSocket>> accept();

  /// Of this end.
  [[nodiscard]] Result<std::uint16_t> port() const;
  /// Of both ends of a connection; nothing of one that is none.
  [[nodiscard]] std::optional<IpAddress> local_address() const;
  [[nodiscard]] std::optional<IpAddress> remote_address() const;
  /// Why connecting, or the connection, has failed: an error number, or 0.
  [[nodiscard]] int error() const;

  enum class Outcome : std::uint8_t {
    some,    // `bytes` have moved
    none,    // now
    closed,  // by the peer, in order
    failed   // see `error`
  };
  struct Moved {
    Outcome outcome = Outcome::none;
    std::size_t bytes = 0;
    int error = 0;
  };
  Moved send(std::span<const iovec> pieces);
  Moved receive(std::span<std::byte> to);
  /// To PLACES, one after another.
  Moved receive(std::span<const iovec> places);

  /// Short messages leave at once (TCP_NODELAY), and a peer whose host answers nothing for
  /// TIMEOUT_S while nothing is on its way is noticed by the kernel (SO_KEEPALIVE).
  void prepare(std::uint32_t timeout_s);
  /// Something is on its way, was sent again, and the peer's host has answered nothing for
  /// TIMEOUT_S. A host whose process reads nothing answers all the same.
  [[nodiscard]] bool is_silent(std::uint32_t timeout_s) const;

  /// Ends the connection in both directions; the socket stays.
  void shut_down();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool is_open() const { return fd_.is_open(); }
  void close() { fd_.close(); }

 private:
  explicit TcpSocket(FileDescriptor fd) : fd_(std::move(fd)) {}
  static Result<TcpSocket> open_to_connect(bool is_v6);
  Result<void> begin_to_connect(const IpAddress& address, std::uint16_t port);
  FileDescriptor fd_;
};

/// What error number ERROR means.
std::string error_text(int error);

}  // namespace hawser::platform
