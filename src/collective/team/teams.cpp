#include "collective/team/teams.hpp"

#include <algorithm>

#include "platform/file.hpp"

namespace hawser::collective {

hostmem::BoardShape Teams::shape_for(int members) const {
  constexpr std::int64_t bulk_bytes_max = 64 << 10, long_bytes_max = 512 << 10,
                         exchange_bytes_max = 256 << 10, block_bytes_max = 16 << 10;
  const auto pages = [](std::int64_t bytes) {
    return static_cast<std::uint32_t>(platform::round_to_pages(static_cast<std::size_t>(bytes)));
  };
  const std::int64_t each =
      std::clamp(settings_.shared_bytes / members, std::int64_t{1}, long_bytes_max);
  // All of them together as much as all members show in one step.
  const std::int64_t block = std::min(each / hostmem::block_steps, block_bytes_max);
  const bool counted = engine_.is_oversubscribed() || members > uncounted_max;
  return {
      .members = static_cast<std::uint32_t>(members),
      .bulk_bytes = pages(std::clamp(each / 4, std::int64_t{1}, bulk_bytes_max)),
      .counted = counted,
      .long_bytes = pages(each),
      .exchange_bytes = members == 2 && !counted ? pages(std::min(each, exchange_bytes_max)) : 0,
      .block_bytes = block < static_cast<std::int64_t>(platform::page_bytes()) ? 0 : pages(block)};
}

Team* Teams::look_at(core::Comm& comm, int tag) {
  if (comm.companion() == nullptr) comm.set_companion(std::make_unique<Seat>());
  auto& seat = static_cast<Seat&>(*comm.companion());
  const std::int64_t more = ++seat.calls - settings_.shared_after;
  if (settings_.shared_after > 0 && more >= 0 && more % calls_between_attempts == 0 &&
      can_be_team(comm))
    seat.team = earn(comm, tag);
  return seat.team.get();
}

bool Teams::can_be_team(const core::Comm& comm) const {
  if (comm.size() < 2 || comm.size() > members_max) return false;
  for (int member = 0; member < comm.size(); ++member) {
    const auto local = bootstrap::local_rank_of(*host_->bootstrap, comm.group().member(member));
    if (!local || *local >= host_->wake_words.size()) return false;
  }
  return true;
}

std::unique_ptr<Team> Teams::earn(core::Comm& comm, int tag) {
  // The place is reserved before asking, so that the limit is never passed.
  const bool willing = teams_.fetch_add(1, std::memory_order_relaxed) < settings_.shared_max;
  std::unique_ptr<Team> team =
      assemble({engine_, ledger_, *host_, comm, tag, shape_for(comm.size()), settings_.shared_after,
                teams_, willing});
  if (team != nullptr) {
    team->learn_to_read(host_->reads_memory);
  } else {
    teams_.fetch_sub(1, std::memory_order_relaxed);
  }
  return team;
}

}  // namespace hawser::collective
