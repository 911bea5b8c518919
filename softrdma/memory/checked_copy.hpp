// Copies from memory that the program may have given back: an adapter has pinned it, and would
// reach it still; a device that works on addresses finds nothing there.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <span>

namespace softrdma::memory {

/// Copies FROM to TO, of the same size, by the kernel (process_vm_readv). False: some of FROM is
/// not mapped; TO holds anything. Where the system does not let processes copy in this way, FROM is
/// trusted.
bool copy_if_mapped(std::span<std::byte> to, std::span<const std::byte> from);

}  // namespace softrdma::memory
