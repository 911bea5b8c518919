// The adapters of this process, as the environment asks for them: the one place of global state,
// which functions of C without a handle need.
//
//   SOFTRDMA_DEVICES   how many (1)
//   SOFTRDMA_PORTS     of each (1)
//   SOFTRDMA_LINK      ib or roce (ib)
//   SOFTRDMA_FABRIC    what processes share that name it (default); empty: this process alone
//   SOFTRDMA_ADDRESS   by which other hosts find this one, several with commas (all that it has)
//   SOFTRDMA_MAX_QP    queue pairs of a process (8388608)
//   SOFTRDMA_CONTEXTS  queue pairs in the cache that an adapter would have (1024): counted, not
//   felt
//   SOFTRDMA_LOSS, SOFTRDMA_DUPLICATE, SOFTRDMA_REORDER, SOFTRDMA_FLIP
//                      shares of packets, from 0 to 1, that are lost, sent twice, late, spoilt (0)
//   SOFTRDMA_DELAY     microseconds by which every packet is late (0)
//   SOFTRDMA_QP_ERRORS, SOFTRDMA_PORT_FLAPS
//                      how many a second, on average (0)
//   SOFTRDMA_SEED      of what happens to which (0)
//   SOFTRDMA_STRICT    1: memory that has changed since it was registered is not accessed (0)
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "platform/memory_watch.hpp"
#include "softrdma/verbs/listed_device.hpp"

namespace softrdma::verbs {

/// Made at the first call. Null, and errno, if the environment asks for what can't be; a sentence
/// goes to standard error.
const std::vector<std::unique_ptr<ListedDevice>>* devices();

/// Whether PATH is where the device node of one of them would be. Makes none.
bool is_device_node(std::string_view path);

// Devices of the program's own, which no list shows.

/// For the next of them: beyond those of the list.
int next_own_index();
/// When the process forks or ends, DEVICE is looked after, until forget().
void remember(ListedDevice& device);
void forget(ListedDevice& device);

/// For strict mode; made at the first call. Null, and a sentence on standard error, if the kernel
/// refuses.
hawser::platform::MemoryWatch* memory_watch();

/// In a child of fork() the adapters are gone: their threads are.
bool is_lost();

}  // namespace softrdma::verbs
