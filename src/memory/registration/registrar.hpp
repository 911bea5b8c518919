// Registrar: what the registration cache asks the transports for.
//
// Ownership: the implementation owns what stands behind a handle until remove(). Threads: the
// cache calls it under the lock of the lane alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"

namespace hawser::memory {

using base::Error;
using base::ErrorClass;
using base::Result;

/// What a transport made of registered memory: a pointer or a number of its own.
using RegistrationHandle = std::uint64_t;

class Registrar {
 public:
  virtual ~Registrar() = default;
  /// Registers BYTES of memory from ADDRESS on, whole pages, with all devices at once.
  /// MPI_ERR_NO_MEM: more can't be registered now; any other error: not this memory.
  virtual Result<RegistrationHandle> add(std::uintptr_t address, std::size_t bytes) = 0;
  /// The memory may be gone already. No operation of a device uses the handle any more.
  virtual void remove(RegistrationHandle handle) = 0;
};

}  // namespace hawser::memory
