// The part of ChannelBackend that deals with processes that are gone and communicators that are
// revoked.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "p2p/protocol/channel_backend.hpp"

namespace hawser::p2p {

using base::Error;
using base::ErrorClass;
using channel::Endpoint;
using wire::FrameClass;

namespace {

Traffic traffic_of(const MatchKey& key) { return static_cast<Traffic>(key.context & 3U); }

std::string name_of(const Comm& comm) {
  return comm.name().empty() ? "the communicator" : comm.name();
}

/// What the sender of a message that was refused is told: who refused it may know more than we.
Error refusal_error(const Envelope& envelope) {
  if (envelope.traffic != Traffic::collective || envelope.comm->is_revoked())
    return core::revoked_error(*envelope.comm);
  return {ErrorClass::proc_failed,
          fmt::format("rank {} of {} has given up, since a member has died", envelope.peer,
                      name_of(*envelope.comm))};
}

}  // namespace

/// A collective among whose members one has died can't be completed by all, and the others must not
/// wait for each other in vain: none of its messages is sent or waited for.
ChannelBackend::Trouble ChannelBackend::find_trouble(const Comm& comm, Traffic traffic) const {
  if (comm.is_revoked()) return core::revoked_error(comm);
  if (traffic != Traffic::collective || !comm.has_failures()) return std::nullopt;
  return Error(ErrorClass::proc_failed,
               fmt::format("{}, so that the members of {} can't do this together; "
                           "MPIX_Comm_shrink makes a communicator of the others",
                           death_in(comm), name_of(comm)));
}

std::string ChannelBackend::death_in(const Comm& comm) const {
  const std::vector<Identity> failed = comm.registry()->failed_members(comm);
  if (failed.empty()) return "a member has died";
  const auto found = std::ranges::find(lost_, failed.front(), &Endpoint::identity);
  return found != lost_.end() ? (*found)->loss()
                              : fmt::format("process {} has died", failed.front().index);
}

ChannelBackend::Trouble ChannelBackend::departure_of(const Comm& comm, int source) const {
  const Identity sender = comm.peer_group().member(source);
  const auto found = std::ranges::find(lost_, sender, &Endpoint::identity);
  if (found != lost_.end()) return Error(ErrorClass::proc_failed, (*found)->loss());
  if (!endpoints_.has_ended(sender)) return std::nullopt;
  return Error(ErrorClass::proc_failed,
               fmt::format("process {} has finalised MPI and ended", sender.index));
}

ChannelBackend::Trouble ChannelBackend::find_hopelessness(const Comm& comm, int source,
                                                          Traffic traffic) const {
  if (Trouble trouble = trouble_of(comm, traffic)) return trouble;
  if (source != any_source) return departure_of(comm, source);
  if (!comm.has_failures()) return std::nullopt;
  const std::vector<Identity> failed = comm.registry()->failed_members(comm);
  if (failed.size() <= comm.acknowledged_failures()) return std::nullopt;
  return Error(
      ErrorClass::proc_failed_pending,
      fmt::format("process {} of {} has died, and it might have been the sender; "
                  "MPIX_Comm_failure_ack lets receives from any source wait for the others",
                  failed[comm.acknowledged_failures()].index, name_of(comm)));
}

/// A receive from any source may still be served by others: it stays, and waits end.
void ChannelBackend::judge(ReceiveRequest& posted) {
  const MatchKey& key = posted.node.key;
  Trouble trouble = hopelessness(*posted.comm_, key.source, traffic_of(key));
  const bool is_pending =
      trouble && trouble->code() == static_cast<int>(ErrorClass::proc_failed_pending);
  if (trouble && !is_pending) {
    give_up(posted, *std::move(trouble));
  } else {
    posted.set_interrupted(is_pending);
  }
}

void ChannelBackend::judge_posted() {
  std::vector<ReceiveRequest*> all;
  match_.for_each_posted(
      [&](PostedReceive& posted) { all.push_back(static_cast<ReceiveRequest*>(&posted)); });
  for (ReceiveRequest* const posted : all) judge(*posted);
}

bool ChannelBackend::for_each_awaited(const std::function<void(Endpoint&)>& visit) {
  bool is_anybody_awaited = probed_for_ == ProbedFor::anybody;
  const auto visit_sender = [&](const Identity& sender) {
    if (Endpoint* const endpoint = endpoints_.find(sender)) visit(*endpoint);
  };
  if (probed_for_ == ProbedFor::one) visit_sender(probed_);
  probed_for_ = ProbedFor::nobody;
  match_.for_each_posted([&](PostedReceive& posted) {
    const auto& request = static_cast<ReceiveRequest&>(posted);
    const std::int32_t source = request.node.key.source;
    if (source == any_source)
      is_anybody_awaited = true;
    else
      visit_sender(request.comm_->peer_group().member(source));
  });
  sends_in_rendezvous_.for_each([&](SendRequest& request) { visit(*request.endpoint); });
  receives_by_frames_.for_each([&](ReceiveRequest& request) { visit(*request.endpoint); });
  transfers_.for_each([&](Transfer& transfer) { visit(*transfer.peer); });
  return is_anybody_awaited;
}

void ChannelBackend::note_probe(const Comm& comm, int source) {
  probed_for_ = source == any_source ? ProbedFor::anybody : ProbedFor::one;
  if (source != any_source) probed_ = comm.peer_group().member(source);
}

void ChannelBackend::note_departure(const Departure& departure) {
  has_departures_ = true;
  std::vector<std::uint32_t> damaged;
  if (!departure.took_leave && comms_ != nullptr) damaged = comms_->note_failure(departure.process);
  refuse(damaged, Refusal::collectives);
  active_.on_departure(departure);
}

void ChannelBackend::on_ended(const Identity& process) { note_departure({process, true}); }

void ChannelBackend::declare_dead(const Identity& process, const Identity& teller) {
  endpoints_.lose(process, fmt::format("process {} says that it has died", teller.index));
}

bool ChannelBackend::is_gone(const Identity& process) const {
  const auto is_it = [&](const Endpoint* lost) { return lost->identity() == process; };
  return endpoints_.has_ended(process) || std::ranges::any_of(lost_, is_it);
}

void ChannelBackend::on_acknowledged(const Comm& /*comm*/) { judge_posted(); }

void ChannelBackend::refuse(std::span<const std::uint32_t> contexts, Refusal what) {
  constexpr std::array everything{Traffic::point_to_point, Traffic::collective,
                                  Traffic::partitioned};
  constexpr std::array collectives{Traffic::collective};
  const std::span<const Traffic> kinds =
      what == Refusal::everything ? std::span<const Traffic>(everything) : collectives;
  for (const std::uint32_t context : contexts)
    for (const Traffic traffic : kinds)
      refused_.push_back((context << 2) | static_cast<std::uint32_t>(traffic));
  std::ranges::sort(refused_);
  const auto repeated = std::ranges::unique(refused_);
  refused_.erase(repeated.begin(), repeated.end());
  if (refused_.size() > refused_max)
    refused_.erase(refused_.begin(), refused_.end() - static_cast<std::ptrdiff_t>(refused_max));
  judge_posted();
  std::vector<StoredMessage*> refused;
  match_.for_each_unexpected([&](UnexpectedMessage& message) {
    if (is_refused(message.node.key)) refused.push_back(static_cast<StoredMessage*>(&message));
  });
  for (StoredMessage* const message : refused) {
    refuse_stored(*message);
    drop_stored(*message);
  }
}

void ChannelBackend::refuse_stored(StoredMessage& message) {
  refuse(*message.from, message.frame_class, message.rendezvous, message.payload().size());
  forget_stream(message);
}

/// Its sender gets the credit back, and learns that nobody will ask for the rest. What follows of a
/// stream is dropped when it comes.
void ChannelBackend::refuse(Endpoint& from, FrameClass frame_class,
                            const wire::RendezvousHeader& rendezvous, std::size_t payload_bytes) {
  const std::size_t credited = frame_class == FrameClass::stream
                                   ? static_cast<std::size_t>(rendezvous.total)
                                   : payload_bytes;
  if (credited > free_payload_bytes) return_credit(from, credited);
  if (frame_class == FrameClass::rendezvous)
    tell(from, FrameClass::refused, wire::Refused{rendezvous.token});
}

void ChannelBackend::on_refused(const Endpoint& from, std::span<const std::byte> body) {
  const auto frame = wire::take<wire::Refused>(body);
  SendRequest* request = frame ? sends_in_rendezvous_.find(frame->sender_token) : nullptr;
  if (request == nullptr || request->endpoint != &from || request->is_over) return;
  std::erase(pipelines_, request);
  if (!request->is_complete()) request->finish_with(refusal_error(request->envelope));
  complete_send(*request);
}

}  // namespace hawser::p2p
