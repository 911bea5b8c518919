// Sleeping on a word of memory that may be shared between processes, and the barriers that let a
// sleeper pay for ordering instead of its wakers.
#pragma once

#include <atomic>
#include <cstdint>

namespace hawser::platform {

/// Sleeps while WORD holds EXPECTED, at most TIMEOUT_NS (0: no limit). Returns early on signals.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::uint64_t timeout_ns = 0);
/// Wakes every sleeper on WORD.
void futex_wake_all(std::atomic<std::uint32_t>& word);

/// membarrier(2), GLOBAL_EXPEDITED: once every process of a job has registered, global_barrier()
/// in one is a full fence in all threads that run in the others.
bool register_global_barrier();
void global_barrier();

}  // namespace hawser::platform
