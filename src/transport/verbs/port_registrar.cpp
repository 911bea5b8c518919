#include "transport/verbs/port_registrar.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace hawser::transport::verbs {

Result<memory::RegistrationHandle> PortRegistrar::add(std::uintptr_t address, std::size_t bytes) {
  constexpr int remote = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  const int access = IBV_ACCESS_LOCAL_WRITE | (reach_ == Reach::remote ? remote : 0);
  MemoryRegion region(
      ibv_reg_mr(port_.protection_domain.get(), reinterpret_cast<void*>(address), bytes, access));
  if (region) return reinterpret_cast<memory::RegistrationHandle>(region.release());
  const bool is_full = errno == ENOMEM || errno == EAGAIN;
  return Error(
      is_full ? ErrorClass::no_mem : ErrorClass::other,
      fmt::format("{} refuses to register {} bytes: {}; the limit of locked memory (ulimit "
                  "-l) may be too low",
                  port_.device, bytes, std::strerror(errno)));
}

void PortRegistrar::remove(memory::RegistrationHandle handle) {
  MemoryRegion(reinterpret_cast<ibv_mr*>(handle)).reset();
}

}  // namespace hawser::transport::verbs
