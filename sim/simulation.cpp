#include "sim/simulation.hpp"

#include <utility>

#include "sim/bootstrap.hpp"
#include "sim/sim_transport.hpp"

namespace hawser::sim {

namespace {

class SimSurroundings final : public session::Surroundings {
 public:
  SimSurroundings(Directory& directory, Network& network, std::uint32_t index, bool oversubscribed)
      : network_(network),
        bootstrap_(directory, index),
        waiter_(network.scheduler(), index, oversubscribed) {}

  bootstrap::Bootstrap& bootstrap() override { return bootstrap_; }
  p2p::Waiter& waiter() override { return waiter_; }
  Result<std::vector<std::unique_ptr<transport::Transport>>> make_transports(
      transport::Sink& sink, memory::Ledger&) override {
    std::vector<std::unique_ptr<transport::Transport>> transports;
    if (bootstrap_.placement().size > 1)
      transports.push_back(
          std::make_unique<SimTransport>(network_, bootstrap_.placement().self, sink));
    return transports;
  }

 private:
  Network& network_;
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
  return delivery;
}

/// Settings far from the defaults too, so that every limit is met.
session::Settings draw_settings(Random& random) {
  session::Settings settings;
  if (random.one_in(2)) {
    settings.channel.earn_rules = fmt::format("messages >= {} -> ring", random.below(20));
    settings.channel.rings_asked_max = random.between<std::int64_t>(0, random.one_in(2) ? 2 : 8);
    settings.channel.rings_granted_max = random.between<std::int64_t>(0, random.one_in(2) ? 2 : 8);
  }
  if (random.one_in(2)) settings.p2p.credit_bytes = std::int64_t{256} << random.below(10);
  if (random.one_in(2)) settings.p2p.single_copy_chunk_bytes = std::int64_t{64} << random.below(8);
  settings.delivery = draw_delivery(random);
  return settings;
}

struct Simulation {
  explicit Simulation(const Plan& plan)
      : seed(plan.seed),
        random(plan.seed, 0),
        ranks(plan.ranks > 0 ? plan.ranks : random.between(2, 12)),
        settings(draw_settings(random)),
        oversubscribed(random.one_in(2)),
        trace(plan.verbose),
        scheduler(plan.seed, trace),
        directory(scheduler, plan.seed, static_cast<std::uint32_t>(ranks)),
        network(scheduler, network_settings(plan), plan.seed, static_cast<std::uint32_t>(ranks)),
        workload(plan.workload->make(random, ranks, types)) {}

  NetworkSettings network_settings(const Plan& plan) {
    NetworkSettings drawn = NetworkSettings::draw(random);
    if (plan.adjust_network) plan.adjust_network(drawn);
    return drawn;
  }

  void run_rank(int rank) {
    constexpr std::uint64_t first_stream = 100;
    const auto index = static_cast<std::uint32_t>(rank);
    auto process = session::Process::create(
        std::make_unique<SimSurroundings>(directory, network, index, oversubscribed), settings,
        types);
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
    self.check((*process)->finalize(true));
    self.world = nullptr;
    add_probes((*process)->backend());
  }

  void add_probes(const p2p::ChannelBackend& backend) {
    for (const p2p::SendEntry& entry : p2p::send_protocols)
      probes.sends[static_cast<std::size_t>(entry.protocol)] += backend.sends_by(entry.protocol);
    for (const p2p::FetchEntry& entry : p2p::fetch_protocols)
      probes.fetches[static_cast<std::size_t>(entry.protocol)] +=
          backend.fetches_by(entry.protocol);
    probes.unexpected += backend.unexpected_messages();
  }

  const std::uint64_t seed;
  Random random;
  const int ranks;
  const session::Settings settings;
  const bool oversubscribed;
  const core::TypeTable types;
  Trace trace;
  Scheduler scheduler;
  Directory directory;
  Network network;
  const std::unique_ptr<Workload> workload;
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
  outcome.processes = simulation.probes;
  return outcome;
}

}  // namespace hawser::sim
