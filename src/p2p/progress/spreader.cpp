#include "p2p/progress/spreader.hpp"

#include "platform/process.hpp"
#include "platform/thread.hpp"

namespace hawser::p2p {

// One who waits is not taken for one who computes because it tells a little late.
static_assert(hostmem::Crowds::silent_ns_max >= 3 * Spreading::interval_min_ns);

Spreader::Spreader(hostmem::WakeWord& own, std::span<const hostmem::WakeWord> words,
                   std::uint32_t cores)
    : own_(own),
      crowds_(words, platform::usable_core_set()),
      spreading_(static_cast<std::uint32_t>(words.size()), cores) {}

void Spreader::take(Spreading::Step step) {
  if (step == Spreading::Step::go_back) {
    move_to(spreading_.origin());
    return;
  }
  const int core = platform::current_core();
  if (core < 0) return;
  const std::uint64_t now_ns = platform::monotonic_ns();
  hostmem::Crowds::tell(own_, core, now_ns);
  if (step == Spreading::Step::look) look(core, now_ns);
}

void Spreader::look(int core, std::uint64_t now_ns) {
  const std::optional<int> better = crowds_.better_core(core, now_ns);
  if (better && move_to(*better)) spreading_.note_move(core, platform::monotonic_ns());
}

bool Spreader::move_to(int core) {
  if (!platform::move_this_thread(core)) return false;
  hostmem::Crowds::tell(own_, core, platform::monotonic_ns());
  moves_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace hawser::p2p
