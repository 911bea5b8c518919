#include "sim/simulation.hpp"

#include <set>
#include <utility>

#include "sim/bootstrap.hpp"
#include "sim/sim_transport.hpp"

namespace hawser::sim {

namespace {

class SimSurroundings final : public session::Surroundings {
 public:
  /// BESIDE: a second network, or null.
  SimSurroundings(Directory& directory, Network& network, Network* beside, std::uint32_t index,
                  bool oversubscribed, const channel::PolicySettings& limits)
      : network_(network),
        beside_(beside),
        limits_(limits),
        bootstrap_(directory, index),
        waiter_(network.scheduler(), index, oversubscribed) {}

  bootstrap::Bootstrap& bootstrap() override { return bootstrap_; }
  p2p::Waiter& waiter() override { return waiter_; }
  Result<std::vector<std::unique_ptr<transport::Transport>>> make_transports(
      transport::Sink& sink, memory::Ledger&, const bootstrap::Keyring&) override {
    std::vector<std::unique_ptr<transport::Transport>> transports;
    if (bootstrap_.placement().size == 1) return transports;
    for (std::uint8_t rail = 0; rail < network_.settings().rails; ++rail)
      transports.push_back(std::make_unique<SimTransport>(network_, bootstrap_.placement().self,
                                                          rail, sink, limits_));
    if (beside_ != nullptr)
      transports.push_back(
          std::make_unique<SimTransport>(*beside_, bootstrap_.placement().self, 0, sink, limits_));
    return transports;
  }

 private:
  Network& network_;
  Network* const beside_;
  const channel::PolicySettings& limits_;
  SimBootstrap bootstrap_;
  SimWaiter waiter_;
};

/// Times are short: a workload that polls has few rounds a simulated second.
channel::AssuranceSettings draw_delivery(Random& random) {
  channel::AssuranceSettings delivery;
  delivery.window_frames = std::uint32_t{1} << random.below(8);
  delivery.window = {.frames_initial = std::uint32_t{1} << random.below(5),
                     .timeout_ns_initial = std::uint64_t{10'000} << random.below(5),
                     .timeout_ns_min = std::uint64_t{1'000} << random.below(8),
                     .timeout_ns_max = std::uint64_t{200'000} << random.below(4)};
  delivery.acknowledger = {.frames = std::uint32_t{1} << random.below(5),
                           .delay_ns = std::uint64_t{100} << random.below(8)};
  if (random.one_in(3)) {
    constexpr std::array<std::string_view, 4> checked = {"on", "on", "ring,single_copy,ud_send",
                                                         "shared_queue,rc_send,rc_fast_path"};
    delivery.crc = random.pick(checked);
    // Seldom enough that one of a few attempts to part arrives: nobody tells here who has left.
    delivery.flip_one_in = std::uint64_t{1} << random.between(4, 8);
  }
  // Seldom: as long as somebody looks after others, a deadlock is not known for one.
  delivery.watch_ns = random.one_in(8) ? std::uint64_t{200'000} << random.below(5) : 0;
  if (random.one_in(8)) delivery.acknowledged = random.one_in(2) ? "on" : "ring,rc_send";
  return delivery;
}

/// For a network with connections, instead of the default's. What is sent though nobody receives it
/// yet (workload flood) is short, and goes by frames in each of them.
constexpr std::array<std::string_view, 10> connected_rules = {
    "size <= 400 -> rc_send; true -> rc_rdma; true -> ud_send",
    "size <= 100 -> rc_fast_path; size <= 400 -> rc_send; true -> rc_rdma; true -> ud_send",
    "size <= 400 -> ud_send; true -> rc_rdma; true -> ud_send",
    "true -> rc_send; true -> ud_send",
    "size <= 600 -> rc_fast_path; true -> rc_send; true -> ud_send",
    "size <= 100 -> ud_send; size <= 2K -> rc_fast_path; true -> rc_send; true -> ud_send",
    "size > 1K -> ud_zero_copy; true -> ud_send",
    "size > 1K -> ud_zero_copy; size <= 400 -> rc_fast_path; true -> rc_send; true -> ud_send",
    "size > 4K -> copy; size <= 1K -> rc_send; true -> ud_send",
    "size > 1K -> copy; size <= ud_max -> rc_fast_path; size <= 100 -> rc_send; true -> ud_send"};

constexpr std::string_view last_of_shared_memory = "true -> shared_queue; ";

/// Messages that are copied once only where that pays, and else go by a ring.
void draw_copies_that_pay(Random& random, channel::PolicySettings& settings) {
  std::string& rules = settings.send_rules;
  const std::size_t begin = rules.find("one_copy_pays");
  const std::size_t end = rules.find(last_of_shared_memory) + last_of_shared_memory.size();
  rules.replace(begin, end - begin,
                fmt::format("one_copy_pays and size >= {} -> single_copy; true -> ring; {}",
                            64 << random.below(8), last_of_shared_memory));
}

void draw_connected_channels(Random& random, channel::PolicySettings& settings) {
  if (!random.one_in(4)) {
    std::string& rules = settings.send_rules;
    rules.resize(rules.find(last_of_shared_memory) + last_of_shared_memory.size());
    rules += random.pick(connected_rules);
  }
  settings.connections_max = random.between<std::int64_t>(0, random.one_in(2) ? 3 : 16);
  settings.fast_paths_max = random.between<std::int64_t>(0, random.one_in(2) ? 2 : 8);
}

/// How long messages cross a connection.
void draw_operations(Random& random, p2p::ProtocolSettings& settings) {
  constexpr std::array<std::string_view, 3> ways = {"get", "put", "pipeline"};
  settings.rdma = random.pick(ways);
  settings.rdma_chained = !random.one_in(3);
  settings.rendezvous_inline = random.one_in(3);
  settings.pipeline_block_bytes = std::int64_t{32} << random.below(8);
  settings.pipeline_depth = random.between<std::int64_t>(1, 4);
  settings.pipeline_eager_bytes = random.one_in(3) ? 0 : std::int64_t{16} << random.below(9);
  settings.pipeline_cache = random.one_in(2);
  settings.stripe_bytes_min = std::int64_t{64} << random.below(10);
  settings.stripe_networks = !random.one_in(4);
}

/// Settings far from the defaults too, so that every limit is met.
session::Settings draw_settings(Random& random) {
  session::Settings settings;
  if (random.one_in(2)) {
    constexpr std::uint64_t earned_at_max = 16;
    settings.channel.earn_rules = fmt::format(
        "messages >= {} -> ring; messages >= {} -> rc_send; messages >= {} -> "
        "rc_fast_path",
        random.below(20), random.between<std::uint64_t>(1, earned_at_max),
        random.between<std::uint64_t>(1, earned_at_max));
    settings.channel.rings_asked_max = random.between<std::int64_t>(0, random.one_in(2) ? 2 : 8);
    settings.channel.rings_granted_max = random.between<std::int64_t>(0, random.one_in(2) ? 2 : 8);
  }
  draw_connected_channels(random, settings.channel);
  if (random.one_in(2)) settings.p2p.credit_bytes = std::int64_t{256} << random.below(10);
  if (random.one_in(2)) settings.p2p.single_copy_chunk_bytes = std::int64_t{64} << random.below(8);
  draw_operations(random, settings.p2p);
  settings.delivery = draw_delivery(random);
  return settings;
}

struct Simulation {
  explicit Simulation(const Plan& plan)
      : seed(plan.seed),
        random(plan.seed, 0),
        random_of_copies(plan.seed, 6),
        ranks(plan.ranks > 0 ? plan.ranks : random.between(2, 12)),
        settings(make_settings(plan)),
        oversubscribed(random.one_in(2)),
        trace(plan.verbose),
        scheduler(plan.seed, trace),
        directory(scheduler, plan.seed, static_cast<std::uint32_t>(ranks)),
        network(scheduler, network_settings(plan), plan.seed, static_cast<std::uint32_t>(ranks)),
        beside(make_beside()),
        workload(plan.workload->make(random, ranks, types)),
        is_tolerant(plan.workload->tolerates_deaths),
        comes_to_rest(random.one_in(2) && !network.settings().fails_for_good()) {
    if (!network.settings().death) return;
    scheduler.expect_kill(network.settings().death->process);
    plan_death(*network.settings().death);
  }

  session::Settings make_settings(const Plan& plan) {
    session::Settings drawn = draw_settings(random);
    if (random_of_copies.one_in(2)) draw_copies_that_pay(random_of_copies, drawn.channel);
    if (plan.adjust_settings) plan.adjust_settings(drawn);
    return drawn;
  }

  NetworkSettings network_settings(const Plan& plan) {
    NetworkSettings drawn = NetworkSettings::draw(random);
    const Death death{random.between<std::uint32_t>(0, static_cast<std::uint32_t>(ranks) - 1),
                      random.below(std::uint64_t{1000} << random.below(12))};
    if (plan.workload->tolerates_deaths && !random.one_in(4)) drawn.death = death;
    drawn.draw_copies(random_of_copies);
    drawn.draw_failures(random, static_cast<std::uint32_t>(ranks));
    if (plan.adjust_network) plan.adjust_network(drawn);
    if (!drawn.has_datagrams) drawn.rails = 1;
    if (drawn.has_datagrams) drawn.is_alone = !random.one_in(3);
    std::erase_if(drawn.port_failures,
                  [&](const PortFailure& failure) { return failure.rail >= drawn.rails; });
    return drawn;
  }

  /// Where the network is not alone: another one, which copies memory.
  std::unique_ptr<Network> make_beside() {
    if (network.settings().is_alone) return nullptr;
    constexpr std::uint64_t other_seed = 0x9e3779b97f4a7c15;
    NetworkSettings drawn = NetworkSettings::draw(random);
    drawn.draw_copies(random_of_copies);
    drawn.name = "beside";
    drawn.is_alone = false;
    drawn.has_datagrams = false;
    drawn.rails = 1;
    drawn.single_copy_one_in = 1;
    return std::make_unique<Network>(scheduler, drawn, seed ^ other_seed,
                                     static_cast<std::uint32_t>(ranks));
  }

  void plan_death(const Death& death) {
    scheduler.after(death.at_ns, [this, death] {
      // Before it could be reached nobody would miss it.
      constexpr std::uint64_t again_ns = 1000;
      if (!directory.is_visible(death.process)) {
        plan_death({death.process, again_ns});
      } else if (!network.is_closed(death.process)) {
        ++network.probes().deaths;
        network.bury(death.process);
        if (beside) beside->bury(death.process);
        scheduler.kill(death.process);
        note_finished(death.process);
      }
    });
  }

  void run_rank(int rank) {
    constexpr std::uint64_t first_stream = 100;
    const auto index = static_cast<std::uint32_t>(rank);
    auto process = session::Process::create(
        std::make_unique<SimSurroundings>(directory, network, beside.get(), index, oversubscribed,
                                          settings.channel),
        settings, types);
    if (!process.ok()) scheduler.fail(process.error().sentence());
    Rank self{rank,
              ranks,
              **process,
              scheduler,
              Random(seed, first_stream + index),
              (*process)->comms().make_world(
                  ranks, base::make_ref<core::Errhandler>(core::ErrhandlerKind::errors_return))};
    workload->run(self);
    self.doing("finalize");
    self.check((*process)->finalize(!is_tolerant));
    self.world = nullptr;
    note_finished(index);
    if (comes_to_rest) come_to_rest(self);
    check_ledger(self);
    add_probes((*process)->backend());
    add_probes(**process);
  }

  /// Or dead.
  void note_finished(std::uint32_t index) {
    finished.insert(index);
    if (have_all_finished()) wake_all();
  }
  void wake_all() {
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) scheduler.wake(rank);
  }
  [[nodiscard]] bool have_all_finished() const {
    return finished.size() == static_cast<std::size_t>(ranks);
  }

  /// Nobody leaves before all handshakes are at an end, and both sides of each must then agree.
  void come_to_rest(Rank& self) {
    self.doing("wait until all handshakes are at an end");
    self.engine().wait_until([this] {
      return has_rested || (have_all_finished() && network.restless_handshakes() == 0);
    });
    if (std::exchange(has_rested, true)) return;
    wake_all();
    const std::string disagreement = network.connections().disagreement();
    self.check(disagreement.empty(), "{}", disagreement);
  }

  /// Nothing that was received may be kept, unless a peer has left before it sent what comes first;
  /// and nothing that is to be sent, unless to a peer that has left.
  void check_ledger(Rank& self) const {
    check_is_empty(self, memory::Account::unexpected);
    if (!comes_to_rest) return;
    if (!has_death()) check_is_empty(self, memory::Account::reorder);
    if (!has_silent_peer(self)) check_is_empty(self, memory::Account::sender_fifo);
  }
  /// Then its news, which nobody waits for, may come after what the teller sent last.
  [[nodiscard]] bool has_death() const {
    const std::optional<Death>& death = network.settings().death;
    return death && scheduler.was_killed(death->process);
  }
  /// Some peer has said good-bye and answered nothing since, or is not waited for.
  static bool has_silent_peer(const Rank& self) {
    bool is_found = false;
    self.process.endpoints().for_each(
        [&](const channel::Endpoint& endpoint) { is_found |= endpoint.is_not_waited_for(); });
    return is_found;
  }
  static void check_is_empty(Rank& self, memory::Account account) {
    const std::int64_t bytes = self.process.ledger().current_bytes(account);
    self.check(bytes == 0, "the ledger has {} bytes of {} at the end", bytes,
               memory::account_name(account));
  }

  void add_probes(const p2p::ChannelBackend& backend) {
    for (const p2p::SendEntry& entry : p2p::send_protocols)
      probes.sends[static_cast<std::size_t>(entry.protocol)] += backend.sends_by(entry.protocol);
    for (const p2p::FetchEntry& entry : p2p::fetch_protocols)
      probes.fetches[static_cast<std::size_t>(entry.protocol)] +=
          backend.fetches_by(entry.protocol);
    probes.unexpected += backend.unexpected_messages();
  }

  void add_probes(session::Process& process) {
    process.endpoints().for_each([&](const channel::Endpoint& endpoint) {
      network.probes().failed_checksum += endpoint.failed_checksum();
    });
    if (process.ledger().peak_bytes(memory::Account::kept_frames) > 0)
      ++network.probes().copies_kept;
  }

  const std::uint64_t seed;
  Random random;
  Random random_of_copies;
  const int ranks;
  const session::Settings settings;
  const bool oversubscribed;
  const core::TypeTable types;
  Trace trace;
  Scheduler scheduler;
  Directory directory;
  Network network;
  const std::unique_ptr<Network> beside;  // or null
  const std::unique_ptr<Workload> workload;
  const bool is_tolerant;              // of deaths
  const bool comes_to_rest;            // before the first process ends
  std::set<std::uint32_t> finished{};  // or dead
  bool has_rested = false;
  ProcessProbes probes;
};

}  // namespace

Outcome simulate(const Plan& plan) {
  Simulation simulation(plan);
  for (int rank = 0; rank < simulation.ranks; ++rank)
    simulation.scheduler.spawn([&simulation, rank] { simulation.run_rank(rank); });
  Outcome outcome;
  outcome.failure = simulation.scheduler.run();
  outcome.ranks = simulation.ranks;
  outcome.trace_hash = simulation.trace.hash();
  outcome.events = simulation.trace.events();
  outcome.simulated_ns = simulation.scheduler.now_ns();
  outcome.network = simulation.network.probes();
  if (simulation.beside) {
    outcome.network += simulation.beside->probes();
    outcome.network.side_copies += simulation.beside->probes().copies;
  }
  outcome.processes = simulation.probes;
  return outcome;
}

}  // namespace hawser::sim
