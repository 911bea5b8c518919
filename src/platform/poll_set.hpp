// PollSet: descriptors that come and go, of which it tells the ready ones (epoll).
//
// Ownership: of a descriptor of its own; a member is removed before it is closed. Threads: one at a
// time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "platform/file.hpp"

namespace hawser::platform {

class PollSet {
 public:
  /// That one look() tells.
  static constexpr std::size_t events_max = 64;

  struct Event {
    std::uint64_t token;
    bool is_readable;  // or has failed
    bool is_writable;
  };

  static Result<PollSet> make();

  /// DESCRIPTOR is told of under TOKEN when it can be read, and, if FOR_WRITING, written.
  bool add(int descriptor, std::uint64_t token, bool for_writing);
  void change(int descriptor, std::uint64_t token, bool for_writing);
  void remove(int descriptor);

  /// Those that are ready now; valid until the next look.
  std::span<const Event> look();

  /// Readable while one of the members is ready.
  [[nodiscard]] int descriptor() const { return set_.get(); }

 private:
  explicit PollSet(FileDescriptor set) : set_(std::move(set)) {}
  FileDescriptor set_;
  std::array<Event, events_max> events_{};
};

}  // namespace hawser::platform
