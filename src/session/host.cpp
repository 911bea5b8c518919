#include "session/host.hpp"

#include "transport/shm/shm_transport.hpp"

namespace hawser::session {

using base::Error;
using base::ErrorClass;

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

  const bool oversubscribed =
      placement.local_size > static_cast<std::uint32_t>(placement.host_cores);
  const p2p::WaitPolicy policy{
      .oversubscribed = oversubscribed,
      .spin_ns = static_cast<std::uint64_t>(settings.wait.spin_us) * 1000,
      .yields = static_cast<std::uint32_t>(settings.wait.yields),
      .yield_ns = static_cast<std::uint64_t>(settings.wait.yield_us) * 1000};
  // Job-wide: it follows from numbers that all local processes share, and each of them registers.
  // A kernel without membarrier lacks it for all of them.
  const bool sleeper_pays =
      !oversubscribed && settings.wait.sleeper_fences && platform::register_global_barrier();
  return std::unique_ptr<HostSurroundings>(new HostSurroundings(
      bootstrap, settings, std::move(*memory),
      sleeper_pays ? hostmem::FencePayer::sleeper : hostmem::FencePayer::waker, policy));
}

HostSurroundings::HostSurroundings(bootstrap::Bootstrap& bootstrap, const Settings& settings,
                                   platform::Mapping memory, hostmem::FencePayer payer,
                                   const p2p::WaitPolicy& policy)
    : bootstrap_(bootstrap),
      shm_(settings.shm),
      memory_(std::move(memory)),
      wake_words_(reinterpret_cast<hostmem::WakeWord*>(memory_.data()),
                  bootstrap.placement().local_size),
      payer_(payer),
      waiter_(wake_words_[bootstrap.placement().local_rank], payer, policy) {}

Result<std::vector<std::unique_ptr<transport::Transport>>> HostSurroundings::make_transports(
    transport::Sink& sink, memory::Ledger& ledger) {
  const bootstrap::Placement& placement = bootstrap_.placement();
  std::vector<std::unique_ptr<transport::Transport>> transports;
  if (placement.size == 1) return transports;
  auto shm = transport::shm::ShmTransport::open(
      {placement.self, placement.key, placement.local_rank, wake_words_, payer_, &ledger, &sink},
      shm_);
  if (!shm) return shm.take_error();
  transport_ = shm->get();
  transports.push_back(std::move(*shm));
  return transports;
}

std::optional<collective::TeamHost> HostSurroundings::team_host() {
  return collective::TeamHost{&bootstrap_, wake_words_, payer_, shm_.single_copy};
}

void HostSurroundings::on_published() {
  const hostmem::Waker waker(hostmem::FencePayer::waker);
  for (hostmem::WakeWord& word : wake_words_) waker.wake(word);
}

}  // namespace hawser::session
