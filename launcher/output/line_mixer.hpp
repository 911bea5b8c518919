// LineMixer: merges the output of many ranks into one stream without mixing their lines.
//
// A stream's bytes are passed on up to its last complete line; the rest waits for its end of line,
// for the end of the stream, or until it is line_bytes_max long. If another stream has its turn
// while a line is still open, a line feed is put in between: what one rank wrote never continues
// what another one wrote. A single stream passes through unchanged.
// Ownership: owns the waiting bytes. Threads: one. Pure: reads and writes no descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hawser::launcher {

class LineMixer {
 public:
  static constexpr std::size_t line_bytes_max = 65536;

  enum class Waiting : std::uint8_t {
    for_lines,
    never,  // pass on at once: for a prompt that a person shall answer
  };

  /// Adds a stream whose lines begin with PREFIX; returns its number (0, 1, …).
  std::size_t add_stream(std::string prefix, Waiting waiting);
  /// Appends to *out what can be passed on now that STREAM has brought BYTES.
  void feed(std::size_t stream, std::string_view bytes, std::string* out);
  /// STREAM has ended: passes on what waits. A prefixed last line is completed.
  void close(std::size_t stream, std::string* out);

 private:
  struct Stream {
    std::string prefix;
    Waiting waiting;
    std::string partial;
  };
  void emit(std::size_t stream, std::string_view bytes, std::string* out);

  std::vector<Stream> streams_;
  std::optional<std::size_t> open_line_of_;  // the stream whose unfinished line was passed on last
};

}  // namespace hawser::launcher
