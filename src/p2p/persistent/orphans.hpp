// Orphans: requests whose handle is gone, but which own memory that their operations still use.
//
// Ownership: one per Process; holds a reference to each until it is complete. The backend must be
//            drained before this goes.
// Threads:   all calls are thread-safe.
#pragma once

#include <mutex>
#include <vector>

#include "core/request/request.hpp"

namespace hawser::p2p {

class Orphans {
 public:
  /// Takes REQUEST in, and lets go of those that have completed.
  void keep(base::Ref<core::Request> request) {
    std::vector<base::Ref<core::Request>> complete;  // destroyed after the lock was released
    const std::lock_guard lock(mutex_);
    std::erase_if(requests_, [&](auto& orphan) {
      if (!orphan->is_complete()) return false;
      complete.push_back(std::move(orphan));
      return true;
    });
    requests_.push_back(std::move(request));
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<base::Ref<core::Request>> requests_;
};

}  // namespace hawser::p2p
