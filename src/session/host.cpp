#include "session/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string_view>
#include <vector>

#include "session/adapter.hpp"
#include "transport/shm/shm_transport.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace hawser::session {

using base::Error;
using base::ErrorClass;

namespace {

/// Polling of a waiting rank where its progress thread, or another rank's, may want the core:
/// longer than a short message takes to be answered.
constexpr std::uint64_t spin_beside_threads_ns = 10'000;

/// About 2 us, as long as a turn on a core that ranks share.
constexpr std::uint32_t looks_alone = 128;

std::vector<std::string_view> transports_named(std::string_view list) {
  std::vector<std::string_view> names;
  for (const auto part : std::views::split(list, ',')) names.emplace_back(part.begin(), part.end());
  return names;
}

transport::verbs::Settings verbs_settings(const Settings& settings) {
  transport::verbs::Settings verbs = settings.verbs;
  verbs.tells_departures = settings.wait.progress == "two_threads";
  return verbs;
}

}  // namespace

Result<std::unique_ptr<HostSurroundings>> HostSurroundings::create(bootstrap::Bootstrap& bootstrap,
                                                                   const Settings& settings) {
  const bootstrap::Placement& placement = bootstrap.placement();
  const auto area = bootstrap.host_memory();
  if (!area)
    return Error(ErrorClass::other,
                 "the launcher gave no memory that the processes of this host share");
  if (area->bytes < hostmem::wake_area_bytes(placement.local_size))
    return Error(ErrorClass::other, "the memory that the launcher shares is too small");
  Result<platform::Mapping> memory =
      platform::Mapping::shared(*area->fd, area->offset, area->bytes);
  if (!memory) return memory.take_error();

  const auto cores = static_cast<std::uint32_t>(placement.host_cores);
  const bool oversubscribed = placement.local_size > cores;
  const bool threads_have_cores = placement.local_size * settings.wait.busy_threads() <= cores;
  const auto spin_ns = static_cast<std::uint64_t>(settings.wait.spin_us) * 1000;
  const p2p::WaitPolicy policy{
      .oversubscribed = oversubscribed,
      .spin_ns = threads_have_cores ? spin_ns : std::min(spin_ns, spin_beside_threads_ns),
      .shares_cores = !threads_have_cores,
      .brief_spin_ns = static_cast<std::uint64_t>(settings.wait.brief_spin_us) * 1000,
      .yields = static_cast<std::uint32_t>(settings.wait.yields),
      .yield_ns = static_cast<std::uint64_t>(settings.wait.yield_us) * 1000,
      .sleeps_at_once = settings.wait.progress == "blocking",
      .looks_alone = settings.wait.progress == "blocking" ? 0 : looks_alone};
  // Job-wide: it follows from numbers that all local processes share, and each of them registers.
  // A kernel without membarrier lacks it for all of them. Only who polls sleeps rarely.
  const bool sleeper_pays = !oversubscribed && settings.wait.progress == "polling" &&
                            settings.wait.sleeper_fences && platform::register_global_barrier();
  return std::unique_ptr<HostSurroundings>(new HostSurroundings(
      bootstrap, settings, std::move(*memory),
      sleeper_pays ? hostmem::FencePayer::sleeper : hostmem::FencePayer::waker, policy));
}

HostSurroundings::HostSurroundings(bootstrap::Bootstrap& bootstrap, const Settings& settings,
                                   platform::Mapping memory, hostmem::FencePayer payer,
                                   const p2p::WaitPolicy& policy)
    : bootstrap_(bootstrap),
      transport_names_(settings.transport),
      shm_(settings.shm),
      tcp_(settings.tcp),
      verbs_(verbs_settings(settings)),
      memory_(std::move(memory)),
      wake_words_(reinterpret_cast<hostmem::WakeWord*>(memory_.data()),
                  bootstrap.placement().local_size),
      payer_(payer),
      waiter_(wake_words_[bootstrap.placement().local_rank], payer, policy) {
  if (policy.oversubscribed && settings.wait.spread)
    waiter_.spread_among(wake_words_, static_cast<std::uint32_t>(bootstrap.placement().host_cores));
}

Result<Surroundings::Transports> HostSurroundings::make_transports(transport::Sink& sink,
                                                                   memory::Ledger& ledger,
                                                                   const bootstrap::Keyring& keys) {
  Transports transports;
  if (const int descriptor = bootstrap_.descriptor(); descriptor >= 0)
    HAWSER_TRY(waiter_.add_descriptor(descriptor, p2p::WakeBy::anything));
  const bool is_alone = bootstrap_.placement().size == 1;
  for (const std::string_view name : transports_named(transport_names_)) {
    if (name != "shm" && name != "tcp" && name != "verbs")
      return Error(ErrorClass::arg,
                   fmt::format("transport={}: there is no transport '{}'; known: shm, tcp, verbs",
                               transport_names_, name));
    if (is_alone || (name == "tcp" && !needs_tcp())) continue;
    HAWSER_TRY(name == "shm"   ? add_shm(transports, sink, ledger)
               : name == "tcp" ? add_tcp(transports, sink, ledger, keys)
                               : add_verbs(transports, sink, ledger));
  }
  return transports;
}

Result<void> HostSurroundings::add_shm(Transports& transports, transport::Sink& sink,
                                       memory::Ledger& ledger) {
  const bootstrap::Placement& placement = bootstrap_.placement();
  auto shm = transport::shm::ShmTransport::open(
      {placement.self, placement.key, placement.local_rank, wake_words_, payer_, &ledger, &sink},
      shm_);
  if (!shm) return shm.take_error();
  transport_ = shm->get();
  transports.push_back(std::move(*shm));
  return {};
}

bool HostSurroundings::needs_tcp() const {
  const bootstrap::Placement& placement = bootstrap_.placement();
  return placement.local_size < placement.size ||
         !std::ranges::count(transports_named(transport_names_), "shm");
}

Result<Surroundings::Transports> HostSurroundings::make_outward_transports(
    transport::Sink& sink, memory::Ledger& ledger, const bootstrap::Keyring& keys) {
  if (!std::ranges::count(transports_named(transport_names_), "tcp"))
    return Error(ErrorClass::unsupported_operation,
                 fmt::format("transport={0} leaves out what reaches processes of other jobs; "
                             "transport={0},tcp would be right",
                             transport_names_));
  Transports transports;
  HAWSER_TRY(add_tcp(transports, sink, ledger, keys));
  return transports;
}

Result<void> HostSurroundings::add_tcp(Transports& transports, transport::Sink& sink,
                                       memory::Ledger& ledger, const bootstrap::Keyring& keys) {
  const bootstrap::Placement& placement = bootstrap_.placement();
  auto tcp = transport::tcp::TcpTransport::open(
      {placement.self, placement.key, &keys, &ledger, &sink, [this] { return waiter_.now_ns(); }},
      tcp_);
  if (!tcp) return tcp.take_error();
  HAWSER_TRY(add_descriptors(**tcp));
  transports.push_back(std::move(*tcp));
  return {};
}

Result<void> HostSurroundings::add_verbs(Transports& transports, transport::Sink& sink,
                                         memory::Ledger& ledger) {
  const bootstrap::Placement& placement = bootstrap_.placement();
  const Result<const VerbsComponent*> component = open_verbs_component(verbs_);
  if (!component) return component.error();
  const auto host_memory = bootstrap_.host_memory();
  const int host_file = host_memory ? host_memory->fd->get() : -1;
  auto rails = (*component)
                   ->open({placement.self, placement.key, &ledger, &sink,
                           [this] { return waiter_.now_ns(); }, host_file},
                          verbs_);
  if (!rails) return rails.take_error();
  for (auto& rail : *rails) {
    HAWSER_TRY(add_descriptors(*rail));
    transports.push_back(std::move(rail));
  }
  return {};
}

Result<void> HostSurroundings::add_descriptors(const transport::Transport& transport) {
  const int departures = transport.departures_descriptor();
  if (departures < 0) return waiter_.add_descriptor(transport.descriptor(), p2p::WakeBy::anything);
  HAWSER_TRY(waiter_.add_descriptor(transport.descriptor(), p2p::WakeBy::arrivals));
  return waiter_.add_descriptor(departures, p2p::WakeBy::departures);
}

/// Who asks for other transports alone asks for collectives by messages, too.
std::optional<collective::TeamHost> HostSurroundings::team_host() {
  if (!std::ranges::count(transports_named(transport_names_), "shm")) return std::nullopt;
  return collective::TeamHost{&bootstrap_, wake_words_, payer_, shm_.single_copy};
}

void HostSurroundings::wake_all() {
  const hostmem::Waker waker(hostmem::FencePayer::waker);
  for (hostmem::WakeWord& word : wake_words_) waker.wake(word);
}

}  // namespace hawser::session
