#include "p2p/progress/host_waiter.hpp"

namespace hawser::p2p {

base::Result<void> HostWaiter::add_descriptor(int descriptor) {
  if (!bell_) {
    base::Result<platform::Bell> bell = platform::Bell::make();
    if (!bell) return bell.take_error();
    bell_ = std::move(*bell);
    descriptors_.push_back(bell_->descriptor());
    word_.bell.store(bell_->number(), std::memory_order_release);
  }
  descriptors_.push_back(descriptor);
  return {};
}

void HostWaiter::sleep_on_descriptors(std::uint32_t ticket, std::uint64_t deadline_ns) {
  // 0 where it does not matter: then the limit stays none.
  const std::uint64_t now = deadline_ns == never_ns ? 0 : now_ns();
  // A wake-up after this look has rung the bell.
  if (!sleeper_.is_current(ticket) || now >= deadline_ns) return;
  platform::wait_for_any(descriptors_, deadline_ns - now);
  bell_->silence();
}

}  // namespace hawser::p2p
