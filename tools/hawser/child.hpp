// Child: a forked process of a check. SharedPage: a value that it shares with us.
//
// Ownership: the destructor of a Child ends and reaps it; it ends with us if we are killed.
// Threads:   fork only while this process has one thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <utility>

#include "base/result.hpp"
#include "platform/file.hpp"

namespace hawser::tools {

class Child {
 public:
  /// Runs BODY in a child, which exits with its result.
  static base::Result<Child> start(const std::function<int()>& body);
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// The exit code; nothing if it has not exited within TIMEOUT_NS, or was killed.
  std::optional<int> wait(std::uint64_t timeout_ns);

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

/// How long a check waits for its child.
inline constexpr std::uint64_t child_timeout_ns = 2'000'000'000;

/// A T in memory that children share with us.
template <class T>
class SharedPage {
 public:
  static base::Result<SharedPage> make() {
    const std::size_t bytes = platform::round_to_pages(sizeof(T));
    auto file = platform::create_anonymous_file("hawser doctor", bytes);
    if (!file.ok()) return file.take_error();
    auto mapping = platform::Mapping::shared(*file, 0, bytes);
    if (!mapping.ok()) return mapping.take_error();
    return SharedPage(std::move(*mapping));
  }
  T* operator->() const { return value_; }

 private:
  explicit SharedPage(platform::Mapping mapping)
      : mapping_(std::move(mapping)), value_(new(mapping_.data()) T{}) {}

  platform::Mapping mapping_;
  T* value_;
};

/// Sleeps until WORD is not OLD; false if that took longer than child_timeout_ns.
bool wait_while(std::atomic<std::uint32_t>& word, std::uint32_t old);
/// Stores VALUE and wakes who waits for it.
void publish(std::atomic<std::uint32_t>& word, std::uint32_t value);

}  // namespace hawser::tools
