// How a sender that finds a channel full is woken when there is room again. It may sleep meanwhile,
// and the receiver, who frees the room, would have no reason to wake it.
//
// The sender raises `wanted`, looks for room once more, and may sleep later. The receiver, after it
// freed room, takes the wish back and wakes those of the peers that may have made it who sleep.
// Ordering: the wish must not pass the sender's last look for room, nor the look at the wish pass
//           the receiver's freeing. The sender is the sleeper of hostmem/wake.hpp and the receiver
//           its waker, with the same side paying. A sender that is awake pays nothing here: who
//           announces its sleep pays then, and looks for room behind that. A wish that is made
//           between announcement and sleep is fenced by itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "hostmem/wake.hpp"
#include "transport/shm/layout.hpp"

namespace hawser::transport::shm {

/// The sender, whose own word is OWN, found no room. True if it is worth to look again: the wish is
/// new.
inline bool want_room(RoomWanted& wanted, const hostmem::WakeWord& own, hostmem::FencePayer payer) {
  if (wanted.word.load(std::memory_order_relaxed) != 0) return false;
  wanted.word.store(1, std::memory_order_seq_cst);
  if (own.is_asleep(std::memory_order_seq_cst)) hostmem::sleeper_fence(payer);
  return true;
}

/// The receiver freed room. True if somebody waits for it.
inline bool take_wish(RoomWanted& wanted, hostmem::FencePayer payer) {
  hostmem::waker_fence(payer);
  if (wanted.word.load(std::memory_order_relaxed) == 0) [[likely]]
    return false;
  return wanted.word.exchange(0, std::memory_order_seq_cst) != 0;
}

}  // namespace hawser::transport::shm
