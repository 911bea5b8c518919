#include "collective/team/team.hpp"

#include <utility>

namespace hawser::collective {

Team::Team(p2p::Engine& engine, platform::Mapping memory, hostmem::Board board, int rank,
           const Upkeep& upkeep)
    : engine_(engine),
      memory_(std::move(memory)),
      board_(std::move(board)),
      rank_(rank),
      upkeep_(upkeep) {
  upkeep_.ledger->charge(upkeep_.account, memory_.bytes());
}

Team::~Team() {
  upkeep_.ledger->refund(upkeep_.account, memory_.bytes());
  upkeep_.teams->fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace hawser::collective
