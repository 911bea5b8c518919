// HostSurroundings: those of a real process: memory shared with the other local processes, the
// shared-memory transport, and a waiter that sleeps on its wake word.
//
// Ownership: owns the mapping of the host's wake area; borrows the bootstrap.
#pragma once

#include <memory>
#include <span>

#include "bootstrap/bootstrap.hpp"
#include "p2p/progress/host_waiter.hpp"
#include "platform/file.hpp"
#include "session/process.hpp"
#include "transport/shm/shm_transport.hpp"
#include "transport/tcp/settings.hpp"

namespace hawser::session {

class HostSurroundings final : public Surroundings {
 public:
  static Result<std::unique_ptr<HostSurroundings>> create(bootstrap::Bootstrap& bootstrap,
                                                          const Settings& settings);

  bootstrap::Bootstrap& bootstrap() override { return bootstrap_; }
  p2p::Waiter& waiter() override { return waiter_; }
  Result<Transports> make_transports(transport::Sink& sink, memory::Ledger& ledger,
                                     const bootstrap::Keyring& keys) override;
  Result<Transports> make_outward_transports(transport::Sink& sink, memory::Ledger& ledger,
                                             const bootstrap::Keyring& keys) override;
  Result<void> watch(int descriptor) override {
    return waiter_.add_descriptor(descriptor, p2p::WakeBy::anything);
  }
  void unwatch(int descriptor) override { waiter_.remove_descriptor(descriptor); }
  void wake_all() override;
  [[nodiscard]] std::optional<collective::TeamHost> team_host() override;
  [[nodiscard]] std::uint64_t sleeps() const override { return waiter_.sleeps(); }
  [[nodiscard]] std::uint64_t core_moves() const override { return waiter_.core_moves(); }
  [[nodiscard]] std::uint64_t wakes() const override {
    return transport_ == nullptr ? 0 : transport_->wakes();
  }

 private:
  HostSurroundings(bootstrap::Bootstrap& bootstrap, const Settings& settings,
                   platform::Mapping memory, hostmem::FencePayer payer,
                   const p2p::WaitPolicy& policy);

  bootstrap::Bootstrap& bootstrap_;
  Result<void> add_shm(Transports& transports, transport::Sink& sink, memory::Ledger& ledger);
  Result<void> add_tcp(Transports& transports, transport::Sink& sink, memory::Ledger& ledger,
                       const bootstrap::Keyring& keys);
  /// Some process of the job is beyond shared memory.
  [[nodiscard]] bool needs_tcp() const;
  Result<void> add_descriptors(const transport::Transport& transport);
  Result<void> add_verbs(Transports& transports, transport::Sink& sink, memory::Ledger& ledger);

  const std::string transport_names_;
  const transport::shm::Settings shm_;
  const transport::tcp::Settings tcp_;
  const transport::verbs::Settings verbs_;
  const platform::Mapping memory_;
  const std::span<hostmem::WakeWord> wake_words_;
  const hostmem::FencePayer payer_;
  p2p::HostWaiter waiter_;
  const transport::shm::ShmTransport* transport_ = nullptr;  // the Process owns it
};

}  // namespace hawser::session
