#include "softrdma/fabric/neighbours.hpp"

#include "platform/clock.hpp"
#include "platform/process.hpp"

namespace softrdma::fabric {

void Neighbours::wait_for_visitors() const {
  for (std::uint16_t seat = 0; seat < host_.seats_end(); ++seat) {
    if (seat == host_.seat()) continue;
    const SeatMemory& other = host_.seat_memory(seat);
    while (other.visits.load() == host_.seat() + 1U && host_.is_alive(seat))
      hawser::platform::yield_cpu();
  }
}

bool Neighbours::may_visit(std::uint16_t seat) {
  const SeatMemory& theirs = host_.seat_memory(seat);
  const std::uint64_t cookie = theirs.cookie.load();
  const auto known = known_.find(seat);
  if (known != known_.end() && known->second == cookie) return true;
  const bool lets_us =
      hawser::platform::holds_word(process_of(seat), theirs.cookie_address.load(), cookie);
  if (lets_us) known_[seat] = cookie;
  return lets_us;
}

}  // namespace softrdma::fabric
