// Bell: how a process is woken that sleeps on descriptors, not on a word of memory. Whoever knows
// its number, which nobody can guess, can ring it.
//
// A datagram socket of the abstract Unix name space: no file, gone with its owner.
#pragma once

#include <cstdint>

#include "platform/file.hpp"

namespace hawser::platform {

class Bell {
 public:
  static Result<Bell> make();

  /// Never 0.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// Becomes readable when somebody rings.
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  /// Forgets all ringing so far.
  void silence();

 private:
  Bell(std::uint64_t number, FileDescriptor socket) : number_(number), socket_(std::move(socket)) {}
  std::uint64_t number_;
  FileDescriptor socket_;
};

/// Rings the bell of this NUMBER; without effect if its owner has ended.
void ring_bell(std::uint64_t number);

/// Sleeps until one of DESCRIPTORS (at most 16) is readable, at most TIMEOUT_NS (never_ns: no
/// limit). Returns early on signals.
void wait_for_any(std::span<const int> descriptors, std::uint64_t timeout_ns);

}  // namespace hawser::platform
