// NameBoard: names that a process publishes for the other programs of its user on this host: each
// is an abstract Unix socket, which answers who connects with what stands behind the name, and is
// gone with the process.
//
// Ownership: owns its sockets and the thread that answers.
// Threads:   any; a thread of its own answers while the program computes.
// Bounds:    an answer is one packet; who connects and is of another user gets none.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.hpp"
#include "platform/event.hpp"
#include "platform/local_socket.hpp"

namespace hawser::bootstrap {

class NameBoard {
 public:
  NameBoard() = default;
  ~NameBoard();
  NameBoard(const NameBoard&) = delete;
  NameBoard& operator=(const NameBoard&) = delete;

  /// What is behind a name; longer ones are MPI_ERR_ARG.
  static constexpr std::size_t text_bytes_max = 1023;
  /// MPI_ERR_SERVICE if some process of this user has published NAME.
  base::Result<void> publish(std::string_view name, std::string_view text);
  /// MPI_ERR_SERVICE if it is not on this board.
  base::Result<void> unpublish(std::string_view name);

  /// On the board of any process of this user. MPI_ERR_NAME.
  static base::Result<std::string> look_up(std::string_view name);

 private:
  struct Entry {
    platform::LocalSocket socket;
    std::string text;
  };

  base::Result<void> start_answering();
  void answer_until_end();
  void answer_all();

  std::mutex mutex_;  // guards what follows
  std::map<std::string, Entry, std::less<>> entries_;
  platform::FileDescriptor changed_;  // an event for the thread
  bool ends_ = false;
  std::thread thread_;  // while there is an entry, or was one
};

}  // namespace hawser::bootstrap
