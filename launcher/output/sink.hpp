// Sink: bytes on their way to one of our own descriptors, which may be slow, and which we must
// not make nonblocking because the shell shares it.
//
// Ownership: borrows the descriptor. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hawser::launcher {

class Sink {
 public:
  /// Beyond this, the ranks that feed the sink have to wait.
  static constexpr std::size_t congested_bytes = 1 << 20;

  explicit Sink(int fd);

  /// Where to append.
  std::string* pending() { return &pending_; }
  /// Writes what can be written without blocking.
  void pump();
  [[nodiscard]] bool is_empty() const { return written_ == pending_.size(); }
  [[nodiscard]] bool is_congested() const { return pending_.size() - written_ > congested_bytes; }
  /// The reader has gone; everything more is dropped.
  [[nodiscard]] bool is_broken() const { return broken_; }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  const int fd_;
  std::size_t write_bytes_max_;
  std::string pending_;
  std::size_t written_ = 0;
  bool broken_ = false;
};

/// Whether both descriptors lead to the same file, pipe or terminal.
bool lead_to_the_same(int fd, int other);

}  // namespace hawser::launcher
