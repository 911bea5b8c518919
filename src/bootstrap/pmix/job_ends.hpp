// PmixJobEnds: jobs that have ended, by their names.
//
// Threads: the library's tells, others ask.
#pragma once

#include <pmix.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace hawser::bootstrap {

class PmixJobEnds {
 public:
  void tell(const std::string& job, pmix_status_t status) {
    const std::lock_guard lock(mutex_);
    ended_.emplace(job, status);
  }
  /// How JOB has ended; nothing as long as it has not.
  [[nodiscard]] std::optional<pmix_status_t> of(const std::string& job) const {
    const std::lock_guard lock(mutex_);
    const auto found = ended_.find(job);
    return found == ended_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, pmix_status_t> ended_;
};

}  // namespace hawser::bootstrap
