// Trace: what happened in a simulation, in order, as a hash that two runs of one seed must share,
// and as text when somebody wants to see it.
//
// Only what follows from the seed may be noted: never an address in memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace hawser::sim {

class Trace {
 public:
  explicit Trace(bool verbose) : verbose_(verbose) {}
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// FORMAT as in fmt::format, for NUMBERS.
  void note(std::uint64_t now_ns, std::string_view format,
            std::initializer_list<std::uint64_t> numbers);
  /// A line for the reader; not hashed.
  void remark(std::uint64_t now_ns, std::string_view text) const;

  [[nodiscard]] bool is_verbose() const { return verbose_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  const bool verbose_;
  std::uint64_t hash_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace hawser::sim
