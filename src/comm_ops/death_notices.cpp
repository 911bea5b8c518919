#include "comm_ops/death_notices.hpp"

#include <algorithm>
#include <cstring>

namespace hawser::comm_ops {

std::vector<std::uint32_t> DeathNotices::neighbours_of(std::uint32_t index,
                                                       std::uint32_t processes) {
  std::vector<std::uint32_t> neighbours;
  for (std::uint64_t step = 1; step < processes; step *= 2)
    for (const std::uint64_t other : {index + step, index + processes - step})
      neighbours.push_back(static_cast<std::uint32_t>(other % processes));
  std::ranges::sort(neighbours);
  const auto repeated = std::ranges::unique(neighbours);
  neighbours.erase(repeated.begin(), repeated.end());
  return neighbours;
}

void DeathNotices::on_departure(const p2p::Departure& departure) {
  if (departure.took_leave || departure.process.job != self_.job) return;
  const auto message = std::as_bytes(std::span(&departure.process.index, 1));
  Identity neighbour = self_;
  for (const std::uint32_t index : neighbours_of(self_.index, processes_)) {
    neighbour.index = index;
    if (!engine_.backend().is_gone(neighbour))
      static_cast<void>(engine_.post(neighbour, p2p::ActiveClass::death, message));
  }
}

void DeathNotices::on_message(const Identity& from, std::span<const std::byte> message) {
  Identity dead = self_;
  if (from.job != self_.job || message.size() != sizeof(dead.index)) return;
  std::memcpy(&dead.index, message.data(), sizeof(dead.index));
  if (dead.index < processes_ && dead != self_) engine_.backend().declare_dead(dead, from);
}

}  // namespace hawser::comm_ops
