#include "launcher/end_notices.hpp"

#include <span>
#include <utility>

#include "hostmem/wake.hpp"
#include "platform/process.hpp"

namespace hawser::launcher {

void EndNotices::rank_ended(std::uint32_t rank, pid_t pid) {
  const pid_t program = segment_.entry(rank).pid.load(std::memory_order_acquire);
  const bool lives_on = program != 0 && program != pid && platform::start_time(program) != 0;
  if (lives_on) {
    left_.emplace(program, rank);
  } else {
    tell(rank);
  }
}

void EndNotices::orphan_ended(pid_t pid) {
  if (const auto found = left_.find(pid); found != left_.end()) {
    tell(found->second);
    left_.erase(found);
  }
}

void EndNotices::tell(std::uint32_t rank) {
  segment_.record_end(rank);
  wake_all();
}

void EndNotices::wake_all() {
  const bootstrap::JobSegment::Facts& facts = segment_.facts();
  if (!words_) {
    auto words = platform::Mapping::shared(segment_.fd(), facts.host_offset,
                                           hostmem::wake_area_bytes(facts.size));
    if (!words) return;  // they see it when something else wakes them
    words_ = std::move(*words);
  }
  const hostmem::Waker waker(hostmem::FencePayer::waker);
  const std::span words(reinterpret_cast<hostmem::WakeWord*>(words_->data()), facts.size);
  for (hostmem::WakeWord& word : words) waker.wake(word);
}

}  // namespace hawser::launcher
