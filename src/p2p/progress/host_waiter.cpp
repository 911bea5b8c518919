#include "p2p/progress/host_waiter.hpp"

namespace hawser::p2p {

base::Result<void> HostWaiter::add_descriptor(int descriptor, WakeBy told) {
  const std::lock_guard lock(listening_);
  if (!bell_) {
    base::Result<platform::Bell> bell = platform::Bell::make();
    if (!bell) return bell.take_error();
    bell_ = std::move(*bell);
    for (auto& descriptors : descriptors_) descriptors.push_back(bell_->descriptor());
    word_.bell.store(bell_->number(), std::memory_order_release);
    sleeps_on_descriptors_.store(true, std::memory_order_release);
  }
  if (told == WakeBy::departures) tells_departures_ = true;
  // Who sleeps until something arrives is to know of what is not told apart, too.
  descriptors(told == WakeBy::departures ? told : WakeBy::arrivals).push_back(descriptor);
  descriptors(WakeBy::anything).push_back(descriptor);
  return {};
}

void HostWaiter::remove_descriptor(int descriptor) {
  const std::lock_guard lock(listening_);
  for (auto& descriptors : descriptors_) std::erase(descriptors, descriptor);
}

void HostWaiter::sleep_on_descriptors(std::uint32_t ticket, std::uint64_t deadline_ns, WakeBy by) {
  // 0 where it does not matter: then the limit stays none.
  const std::uint64_t now = deadline_ns == never_ns ? 0 : now_ns();
  if (now >= deadline_ns) return;
  std::vector<int> watched;
  {
    // A wake-up after this look rings the bell, and nobody silences it before we have heard it.
    const std::lock_guard lock(listening_);
    if (!sleeper_.is_current(ticket)) return;
    ++listeners_;
    watched = descriptors(by);
  }
  platform::wait_for_any(watched, deadline_ns - now);
  const std::lock_guard lock(listening_);
  if (--listeners_ == 0) bell_->silence();
}

}  // namespace hawser::p2p
