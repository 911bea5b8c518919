#include "session/process.hpp"

#include <algorithm>
#include <utility>

namespace hawser::session {

using base::Error;
using base::ErrorClass;

Result<Surroundings::Transports> Surroundings::make_outward_transports(transport::Sink&,
                                                                       memory::Ledger&,
                                                                       const bootstrap::Keyring&) {
  return Error(ErrorClass::unsupported_operation,
               "no transport of this process reaches processes of other jobs");
}

namespace {

/// A process has died, as far as this one knows, of which the launcher may know nothing: it waits
/// for all, and so must nobody who waits for it.
bool has_untold_death(Process& process) {
  if (process.bootstrap().hears_of_deaths()) return false;
  bool found = false;
  const p2p::LaneLock lock(process.engine());
  process.endpoints().for_each([&](const channel::Endpoint& endpoint) {
    const base::Identity& peer = endpoint.identity();
    found |=
        endpoint.is_lost() && !endpoint.took_leave() && peer.job == process.placement().self.job;
  });
  return found;
}

}  // namespace

Result<std::unique_ptr<Process>> Process::create(std::unique_ptr<Surroundings> surroundings,
                                                 const Settings& settings,
                                                 const core::TypeTable& types) {
  constexpr std::uint32_t byte_handle = 0x247;
  Result<channel::Policy> policy = channel::Policy::parse(
      settings.channel, {.ranks = surroundings->bootstrap().placement().size,
                         .oversubscribed = surroundings->waiter().policy().oversubscribed,
                         .progress_threads = settings.wait.progress_threads() > 0});
  if (!policy) return policy.take_error();
  const Result<channel::DeliveryChannels> delivery =
      channel::DeliveryChannels::parse(settings.delivery);
  if (!delivery) return delivery.error();
  std::unique_ptr<Process> process(new Process(
      std::move(surroundings), settings, std::move(*policy), *delivery, *types.find(byte_handle)));
  HAWSER_TRY(process->open_transports());
  if (settings.channel.connects_at_start()) process->connect_to_all();
  return process;
}

Process::Process(std::unique_ptr<Surroundings> surroundings, const Settings& settings,
                 channel::Policy policy, const channel::DeliveryChannels& delivery,
                 core::Datatype& byte_type)
    : surroundings_(std::move(surroundings)),
      settings_(settings),
      policy_(std::move(policy)),
      addresses_(bootstrap()),
      endpoints_({placement().self, &addresses_, &bootstrap(), &ledger_, &policy_, settings.channel,
                  settings.p2p.credit_bytes, settings.delivery, delivery,
                  [this] { return surroundings_->waiter().now_ns(); }}),
      self_transport_(endpoints_, ledger_),
      backend_(endpoints_, ledger_, settings.p2p),
      engine_(backend_, surroundings_->waiter()),
      teams_(engine_, ledger_, surroundings_->team_host(), settings.teams),
      blocking_(engine_, &teams_),
      plans_(engine_),
      comms_(engine_, plans_, placement().self, *this, registry_),
      mitigation_(engine_, comms_, registry_, placement().self,
                  bootstrap().hears_of_deaths() ? 1 : placement().size),
      connections_(engine_, comms_, *this),
      byte_type_(byte_type),
      buffered_sends_(engine_, byte_type),
      partitioner_(engine_, byte_type) {
  endpoints_.set_self_transport(self_transport_);
  backend_.set_comms(*registry_);
}

Process::~Process() {
  end_progress_threads();
  endpoints_.give_frames_back();
}

Result<void> Process::open_transports() {
  auto transports = surroundings_->make_transports(endpoints_, ledger_, keys_);
  if (!transports) return transports.take_error();
  transports_ = std::move(*transports);
  for (const auto& transport : transports_) {
    const Result<std::span<const std::byte>> address = transport->address();
    if (!address) return address.error();
    HAWSER_TRY(bootstrap().publish(transport->name(), *address));
    endpoints_.add_transport(*transport);
    if (const std::size_t frame = transport->datagram_bytes_max(); frame > 0)
      HAWSER_TRY(policy_.set_ud_max(frame - p2p::wire::eager_overhead));
  }
  HAWSER_TRY(bootstrap().commit());
  surroundings_->wake_all();
  // Where frames may be lost, each peer has buffers and timers of its own, and earns connections.
  engine_.set_distance([this](const base::Identity& process) {
    if (process.job != placement().self.job) return core::Reach::jobs;
    return addresses_.is_same_host(process) ? core::Reach::host : core::Reach::job;
  });
  engine_.set_peers_cost(!transports_.empty() && transports_.front()->datagram_bytes_max() > 0);
  return {};
}

Result<bootstrap::Addresses> Process::open() {
  HAWSER_TRY(open_outward_transports());
  const p2p::LaneLock lock(engine_);
  bootstrap::Addresses addresses;
  for (const auto& transport : transports_) {
    if (!transport->reaches_other_jobs()) continue;
    const Result<std::span<const std::byte>> address = transport->address();
    if (!address) return address.error();
    addresses.emplace(transport->name(), std::vector(address->begin(), address->end()));
  }
  return addresses;
}

Result<void> Process::open_outward_transports() {
  {
    const p2p::LaneLock lock(engine_);
    if (std::ranges::any_of(transports_, &transport::Transport::reaches_other_jobs)) return {};
    auto outward = surroundings_->make_outward_transports(endpoints_, ledger_, keys_);
    if (!outward) return outward.take_error();
    for (auto& transport : *outward) {
      endpoints_.add_transport(*transport);
      transports_.push_back(std::move(transport));
    }
  }
  // Who sleeps already sleeps on what there was; who was alone had nothing to make progress with.
  surroundings_->waiter().wake();
  start_progress_threads();
  return {};
}

/// As clients and servers, each waits for one connection before it asks for the next; as peers, all
/// ask all others at once (the two ways to start of MPI over VIA).
void Process::connect_to_all() {
  const std::uint32_t self = placement().self.index;
  const auto connect_to = [&](std::uint32_t index) {
    const p2p::LaneLock lock(engine_);
    if (index != self) endpoints_.connect_to(index);
  };
  const auto wait_for = [&](std::uint32_t index) {
    engine_.wait_until([&] {
      const p2p::LaneLock lock(engine_);
      return index == self || endpoints_.is_connected_to(index);
    });
  };
  if (settings_.channel.connect == "client_server")
    for (std::uint32_t server = 0; server < self; ++server) {
      connect_to(server);
      wait_for(server);
    }
  for (std::uint32_t index = 0; index < placement().size; ++index) connect_to(index);
  for (std::uint32_t index = 0; index < placement().size; ++index) wait_for(index);
}

bool Process::is_same_host(const base::Identity& process) const {
  return addresses_.is_same_host(process);
}

void Process::set_threaded(bool threaded) {
  threaded_ = threaded;
  // With progress threads the locks are there already.
  if (progress_threads_.empty()) set_locks(threaded);
}

void Process::set_locks(bool threaded) {
  engine_.set_threaded(threaded);
  backend_.set_threaded(threaded);
}

void Process::start_progress_threads() {
  const std::string& mode = settings_.wait.progress;
  const bool is_alone = transports_.empty();
  if (!progress_threads_.empty() || is_alone || (mode != "thread" && mode != "two_threads")) return;
  set_locks(true);
  engine_.attendance().set_attended(true);
  const bool are_two = mode == "two_threads" && surroundings_->waiter().tells_departures();
  const auto start = [this](p2p::WakeBy by) {
    progress_threads_.push_back(std::make_unique<p2p::ProgressThread>(engine_, by));
  };
  start(are_two ? p2p::WakeBy::arrivals : p2p::WakeBy::anything);
  if (are_two) start(p2p::WakeBy::departures);
}

void Process::end_progress_threads() {
  if (progress_threads_.empty()) return;
  progress_threads_.clear();
  engine_.attendance().set_attended(false);
  set_locks(threaded_);
}

Result<void> Process::change_rules(const channel::PolicySettings& channel) {
  HAWSER_TRY(policy_.change(channel));
  endpoints_.on_policy_changed();
  return {};
}

void Process::note_allocated(const void* address, std::size_t bytes) {
  const p2p::LaneLock lock(engine_);
  for (const auto& transport : transports_)
    transport->on_memory_allocated(reinterpret_cast<std::uint64_t>(address), bytes);
}

void Process::note_freed(const void* address) {
  const p2p::LaneLock lock(engine_);
  for (const auto& transport : transports_)
    transport->on_memory_freed(reinterpret_cast<std::uint64_t>(address));
}

Result<void> Process::finalize(bool world) {
  {
    const p2p::LaneLock lock(engine_);
    endpoints_.stop_earning();
  }
  const bool is_job_at_end = world && meet_all();
  {
    const p2p::LaneLock lock(engine_);
    endpoints_.part(is_job_at_end);
  }
  engine_.wait_until([&] {
    const p2p::LaneLock lock(engine_);
    return backend_.is_drained();
  });
  return {};
}

bool Process::meet_all() {
  bootstrap().arrive_at_end();
  const auto have_all_arrived = [this] { return bootstrap().have_all_arrived_at_end(); };
  if (have_all_arrived()) surroundings_->wake_all();
  engine_.wait_until([&] { return have_all_arrived() || has_untold_death(*this); });
  return have_all_arrived();
}

void Process::leave() {
  end_progress_threads();
  const p2p::LaneLock lock(engine_);
  endpoints_.leave();
}

void Process::come_back() {
  {
    const p2p::LaneLock lock(engine_);
    endpoints_.come_back();
  }
  start_progress_threads();
}

}  // namespace hawser::session
