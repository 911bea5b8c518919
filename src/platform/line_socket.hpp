// LineSocket: a connected stream socket that carries lines of text, inherited from whoever started
// us.
//
// Ownership: owns the descriptor and what it has read ahead. Threads: one at a time.
// Errors:    MPI_ERR_OTHER: the other side has closed it, or sends a line without an end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "platform/file.hpp"

namespace hawser::platform {

class LineSocket {
 public:
  /// Lines longer than LINE_BYTES_MAX are refused.
  LineSocket(FileDescriptor socket, std::size_t line_bytes_max)
      : socket_(std::move(socket)), line_bytes_max_(line_bytes_max) {}

  /// Sends LINE and a new line; waits for room.
  Result<void> send(std::string_view line);
  /// The other side, a process of this host, has not read all of it yet.
  [[nodiscard]] bool has_unread() const;
  /// The next line, without its end; waits for it.
  Result<std::string> receive();
  /// The same, or nothing if it has not come yet.
  Result<std::optional<std::string>> try_receive();

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  /// Keeps it from the programs that this process starts.
  void close_on_exec() { platform::close_on_exec(socket_); }
  /// Gives the descriptor back, unclosed.
  int release() { return socket_.release(); }

 private:
  std::optional<std::string> take_line();
  /// Reads what is there; false if that is nothing and WAITS is not set.
  Result<bool> read_some(bool waits);

  FileDescriptor socket_;
  std::size_t line_bytes_max_;
  std::string read_ahead_;
};

/// DESCRIPTOR is open and a socket.
bool is_socket(int descriptor);

}  // namespace hawser::platform
