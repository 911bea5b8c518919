// Sockets of the abstract Unix name space: no file, gone with the last descriptor. Packets keep
// their bounds (SOCK_SEQPACKET) and can carry one file descriptor.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "platform/file.hpp"

namespace hawser::platform {

class LocalSocket {
 public:
  LocalSocket() = default;

  /// A nonblocking socket that accepts connections under NAME.
  static Result<LocalSocket> listen(std::string_view name);
  /// A nonblocking connection to NAME.
  static Result<LocalSocket> connect(std::string_view name);
  /// The next waiting connection, if any.
  std::optional<LocalSocket> accept();

  /// Sends one packet, with FD (>= 0) attached. False if the peer is gone or the socket is full.
  bool send(std::span<const std::byte> packet, int fd = -1);
  enum class Received { packet, nothing, closed };
  /// Takes one packet of at most PACKET.size() bytes; *bytes is its length (longer ones are cut),
  /// *fd the descriptor that came along, if any.
  Received receive(std::span<std::byte> packet, std::size_t* bytes, FileDescriptor* fd);

  struct Peer {
    pid_t pid;
    uid_t uid;
  };
  /// Who is at the other end, vouched for by the kernel (SO_PEERCRED).
  [[nodiscard]] Result<Peer> peer() const;
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool is_open() const { return fd_.is_open(); }
  void close() { fd_.close(); }

 private:
  explicit LocalSocket(FileDescriptor fd) : fd_(std::move(fd)) {}
  FileDescriptor fd_;
};

}  // namespace hawser::platform
