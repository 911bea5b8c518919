// Process: everything that one MPI process is made of, put together and torn down in order. There
// is no state of it anywhere else, so that a simulation runs thousands of them in one OS process.
//
// Surroundings: what differs between a real host and a simulation; host.hpp makes those of a real
//               host.
// Ownership:    owns all layers from the ledger to the communicators of the world model.
// Threads:      create and finalize: one thread. In between see p2p::Engine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bootstrap/address_book.hpp"
#include "bootstrap/keyring.hpp"
#include "channel/endpoint/endpoint_table.hpp"
#include "channel/policy/policy.hpp"
#include "collective/executor/direct.hpp"
#include "collective/executor/plan_runner.hpp"
#include "comm_ops/comm_factory.hpp"
#include "comm_ops/mitigation.hpp"
#include "dynamic/connections.hpp"
#include "memory/ledger/ledger.hpp"
#include "p2p/buffered/buffered_sends.hpp"
#include "p2p/engine.hpp"
#include "p2p/partitioned/partitioner.hpp"
#include "p2p/persistent/orphans.hpp"
#include "p2p/progress/progress_thread.hpp"
#include "p2p/protocol/channel_backend.hpp"
#include "session/settings.hpp"
#include "transport/self/self_transport.hpp"

namespace hawser::session {

using base::Result;

/// What a process is put into.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual bootstrap::Bootstrap& bootstrap() = 0;
  virtual p2p::Waiter& waiter() = 0;
  using Transports = std::vector<std::unique_ptr<transport::Transport>>;
  /// The transports to other processes, in order of preference, delivering to SINK. Those that
  /// reach other jobs prove themselves to these by KEYS.
  virtual Result<Transports> make_transports(transport::Sink& sink, memory::Ledger& ledger,
                                             const bootstrap::Keyring& keys) = 0;
  /// The transports that reach processes of other jobs, if the others do not.
  virtual Result<Transports> make_outward_transports(transport::Sink& sink, memory::Ledger& ledger,
                                                     const bootstrap::Keyring& keys);
  /// From now on waiting ends when DESCRIPTOR is readable, too, until unwatch().
  virtual Result<void> watch(int /*descriptor*/) { return {}; }
  virtual void unwatch(int /*descriptor*/) {}
  /// We told the bootstrap what others may sleep until: they are to look again.
  virtual void wake_all() {}
  /// What its processes bring into teams; nothing where they share no memory.
  [[nodiscard]] virtual std::optional<collective::TeamHost> team_host() { return std::nullopt; }
  /// Times that this process went to sleep while waiting.
  [[nodiscard]] virtual std::uint64_t sleeps() const { return 0; }
  /// Times that one of its threads moved to a less crowded core.
  [[nodiscard]] virtual std::uint64_t core_moves() const { return 0; }
  /// Times that one of its messages woke a sleeping process.
  [[nodiscard]] virtual std::uint64_t wakes() const { return 0; }
};

class Process final : private comm_ops::Locality, private dynamic::Outside {
 public:
  /// A process that others can reach, with the communicators of the world model.
  /// TYPES: the predefined datatypes; borrowed.
  static Result<std::unique_ptr<Process>> create(std::unique_ptr<Surroundings> surroundings,
                                                 const Settings& settings,
                                                 const core::TypeTable& types);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Whether several threads of the program may use this at a time.
  void set_threaded(bool threaded);

  /// Takes over the rules of CHANNEL for what is sent from now on, or none if one of them is wrong.
  /// Under the lane lock.
  Result<void> change_rules(const channel::PolicySettings& channel);

  /// The program got BYTES of memory at ADDRESS for its messages, until note_freed(ADDRESS), which
  /// comes before the memory goes.
  void note_allocated(const void* address, std::size_t bytes);
  void note_freed(const void* address);

  /// Sends what is still to be sent. With WORLD, meets all processes of the job first, as
  /// MPI_Finalize does.
  Result<void> finalize(bool world);
  /// From here to come_back(), nobody makes progress in this process.
  void leave();
  void come_back();

  [[nodiscard]] const bootstrap::Placement& placement() { return bootstrap().placement(); }
  [[nodiscard]] bootstrap::Bootstrap& bootstrap() { return surroundings_->bootstrap(); }
  [[nodiscard]] Surroundings& surroundings() { return *surroundings_; }
  [[nodiscard]] p2p::Engine& engine() { return engine_; }
  [[nodiscard]] const collective::DirectRunner& blocking() const { return blocking_; }
  [[nodiscard]] collective::PlanRunner& plans() { return plans_; }
  [[nodiscard]] comm_ops::CommFactory& comms() { return comms_; }
  [[nodiscard]] dynamic::Connections& connections() { return connections_; }
  [[nodiscard]] dynamic::Outside& outside() { return *this; }
  [[nodiscard]] comm_ops::Mitigation& mitigation() { return mitigation_; }
  [[nodiscard]] p2p::BufferedSends& buffered_sends() { return buffered_sends_; }
  [[nodiscard]] p2p::Orphans& orphans() { return orphans_; }
  [[nodiscard]] p2p::Partitioner& partitioner() { return partitioner_; }
  /// MPI_BYTE.
  [[nodiscard]] core::Datatype& byte_type() { return byte_type_; }
  [[nodiscard]] const channel::EndpointTable& endpoints() const { return endpoints_; }
  [[nodiscard]] const p2p::ChannelBackend& backend() const { return backend_; }
  [[nodiscard]] const std::vector<std::unique_ptr<transport::Transport>>& transports() const {
    return transports_;
  }
  [[nodiscard]] const memory::Ledger& ledger() const { return ledger_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const channel::Policy& policy() const { return policy_; }

 private:
  Process(std::unique_ptr<Surroundings> surroundings, const Settings& settings,
          channel::Policy policy, const channel::DeliveryChannels& delivery,
          core::Datatype& byte_type);
  Result<void> open_transports();
  Result<void> open_outward_transports();
  void connect_to_all();
  /// By the bootstrap, so that nobody needs a peer for it. False: some have died instead.
  bool meet_all();
  void start_progress_threads();
  void end_progress_threads();
  void set_locks(bool threaded);
  [[nodiscard]] bool is_same_host(const base::Identity& process) const override;

  // Outside:
  [[nodiscard]] const base::Identity& self() const override {
    return surroundings_->bootstrap().placement().self;
  }
  [[nodiscard]] const bootstrap::JobKey& job_key() const override {
    return surroundings_->bootstrap().placement().key;
  }
  Result<bootstrap::Addresses> open() override;
  bootstrap::AddressBook& addresses() override { return addresses_; }
  bootstrap::Keyring& keys() override { return keys_; }
  [[nodiscard]] std::unordered_set<base::Identity> members() const override {
    return registry_->members_beyond(self().job);
  }
  [[nodiscard]] bool is_talked_to(const base::Identity& process) const override {
    return endpoints_.find(process) != nullptr;
  }
  void forget_ended(const std::function<bool(const base::Identity&)>& is_needed) override {
    endpoints_.forget_ended(is_needed);
  }
  Result<std::unique_ptr<bootstrap::Spawning>> spawn(
      const bootstrap::SpawnRequest& request) override {
    return bootstrap().spawn(request);
  }
  Result<void> watch(int descriptor) override { return surroundings_->watch(descriptor); }
  void unwatch(int descriptor) override { surroundings_->unwatch(descriptor); }

  const std::unique_ptr<Surroundings> surroundings_;
  const Settings settings_;
  memory::Ledger ledger_;
  channel::Policy policy_;
  bootstrap::AddressBook addresses_;
  bootstrap::Keyring keys_;
  channel::EndpointTable endpoints_;
  transport::self::SelfTransport self_transport_;
  std::vector<std::unique_ptr<transport::Transport>> transports_;
  const std::shared_ptr<core::CommRegistry> registry_ = std::make_shared<core::CommRegistry>();
  p2p::ChannelBackend backend_;
  p2p::Engine engine_;
  collective::Teams teams_;
  collective::DirectRunner blocking_;
  collective::PlanRunner plans_;
  comm_ops::CommFactory comms_;
  comm_ops::Mitigation mitigation_;
  dynamic::Connections connections_;
  core::Datatype& byte_type_;
  p2p::Orphans orphans_;
  p2p::BufferedSends buffered_sends_;
  p2p::Partitioner partitioner_;
  bool threaded_ = false;                                               // the program is
  std::vector<std::unique_ptr<p2p::ProgressThread>> progress_threads_;  // end first
};

}  // namespace hawser::session
