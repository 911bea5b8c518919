// PmixAnswer: what the library's thread tells of one request.
//
// Ownership: shared by who asks and the library, which may tell when nobody waits any more.
// Threads:   the library's and one that asks.
#pragma once

#include <pmix.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace hawser::bootstrap {

class PmixAnswer {
 public:
  /// A request that the launcher has not answered by then has failed.
  static constexpr std::chrono::seconds limit{30};

  void tell(pmix_status_t status, std::string text = {}) {
    {
      const std::lock_guard lock(mutex_);
      status_ = status;
      text_ = std::move(text);
    }
    changed_.notify_all();
  }
  /// The answer; PMIX_ERR_TIMEOUT after the limit.
  pmix_status_t wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] { return status_.has_value(); });
    return status_.value_or(PMIX_ERR_TIMEOUT);
  }
  [[nodiscard]] std::optional<pmix_status_t> status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

  /// For the library, until take().
  static void* give(const std::shared_ptr<PmixAnswer>& answer) {
    return new std::shared_ptr<PmixAnswer>(answer);  // NOLINT: taken by the callback
  }
  static std::shared_ptr<PmixAnswer> take(void* given) {
    const std::unique_ptr<std::shared_ptr<PmixAnswer>> held(
        static_cast<std::shared_ptr<PmixAnswer>*>(given));
    return *held;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<pmix_status_t> status_;
  std::string text_;
};

}  // namespace hawser::bootstrap
