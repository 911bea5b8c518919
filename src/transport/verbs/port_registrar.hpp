// PortRegistrar: memory registered with a port's adapter, for buffers and for the program's memory.
//
// A handle is the address of the memory region. Ownership: borrows the port. Threads: the lane
// lock.
#pragma once

#include "memory/registration/registrar.hpp"
#include "transport/verbs/port.hpp"

namespace hawser::transport::verbs {

class PortRegistrar final : public memory::Registrar {
 public:
  /// Who may use the memory: our own work requests alone, or a connected peer's operations, too.
  enum class Reach : std::uint8_t { local, remote };

  PortRegistrar(const Port& port, Reach reach) : port_(port), reach_(reach) {}

  Result<memory::RegistrationHandle> add(std::uintptr_t address, std::size_t bytes) override;
  void remove(memory::RegistrationHandle handle) override;

  static std::uint32_t local_key(memory::RegistrationHandle handle) {
    return reinterpret_cast<const ibv_mr*>(handle)->lkey;
  }
  static std::uint32_t remote_key(memory::RegistrationHandle handle) {
    return reinterpret_cast<const ibv_mr*>(handle)->rkey;
  }

 private:
  const Port& port_;
  const Reach reach_;
};

}  // namespace hawser::transport::verbs
