#include "softrdma/fabric/neighbours.hpp"

#include "platform/clock.hpp"
#include "platform/process.hpp"

namespace softrdma::fabric {
namespace {

/// How long a process that lived is taken to live: its number may be another's afterwards, but not
/// at once, as the kernel gives all other numbers first.
constexpr std::uint64_t lives_on_ns = 1'000'000;

}  // namespace

void Neighbours::wait_for_visitors() const {
  for (std::uint16_t seat = 0; seat < host_.seats_end(); ++seat) {
    if (seat == host_.seat()) continue;
    const SeatMemory& other = host_.seat_memory(seat);
    while (other.visits.load() == host_.seat() + 1U && host_.is_alive(seat))
      hawser::platform::yield_cpu();
  }
}

bool Neighbours::lives(std::uint16_t seat, std::uint64_t now_ns) {
  std::uint64_t& lived_ns = lived_ns_[seat];
  if (lived_ns != 0 && now_ns - lived_ns < lives_on_ns) return true;
  const bool is_alive = host_.is_alive(seat);
  lived_ns = is_alive ? now_ns : 0;
  return is_alive;
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
