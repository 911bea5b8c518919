// Relay: carries what the ranks print to mpirun's own standard output and error.
//
// Ownership: owns the reading ends of the pipes; the caller gives the writing ends to the ranks.
// Threads:   one.
// Invariant: memory is bounded: a rank that prints faster than we can write finds its pipe full.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "launcher/output/line_mixer.hpp"
#include "launcher/output/sink.hpp"
#include "platform/file.hpp"

namespace hawser::launcher {

using base::Error;
using base::ErrorClass;
using base::Result;

class Relay {
 public:
  enum class Source : std::uint8_t { output, error };

  /// OUTPUT and ERROR are the descriptors to write to.
  Relay(int output, int error);

  /// A pipe for SOURCE of a rank, whose lines shall begin with PREFIX; returns its writing end.
  Result<platform::FileDescriptor> add_stream(Source source, std::string prefix,
                                              LineMixer::Waiting waiting);
  /// A line of mpirun itself, on standard error.
  void say(std::string_view sentence);

  /// To be polled for reading: some stream has news. -1 while the sinks are congested.
  [[nodiscard]] int readable_fd() const;
  /// To be polled for writing; -1 if there is nothing to write.
  [[nodiscard]] std::array<int, 2> writable_fds() const;
  /// Moves on whatever can be moved on without blocking.
  void move();
  /// Reads everything that the pipes hold, and closes them: no rank is left.
  void finish();

  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] bool is_broken() const;

 private:
  struct Channel {
    explicit Channel(int fd) : sink(fd) {}
    Sink sink;
    LineMixer mixer;
  };
  struct Stream {
    platform::FileDescriptor fd;
    Channel* channel;
    std::size_t number;  // in the channel's mixer
  };
  enum class Progress : std::uint8_t { some, none, closed };

  Channel& channel_of(Source source);
  Progress read_once(Stream& stream);
  void pump();

  std::vector<std::unique_ptr<Channel>> channels_;  // one if both descriptors are the same, or two
  std::size_t own_stream_;
  platform::FileDescriptor epoll_;
  std::vector<Stream> streams_;
  std::vector<char> buffer_;
};

}  // namespace hawser::launcher
