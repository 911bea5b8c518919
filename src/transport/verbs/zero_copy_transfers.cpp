#include "transport/verbs/zero_copy_transfers.hpp"

namespace hawser::transport::verbs {

namespace {

ZeroCopySettings zero_copy_settings(const Settings& settings) {
  return {.queue_pairs_max = static_cast<std::uint32_t>(settings.zero_copy_queue_pairs),
          .receive_depth = static_cast<std::uint32_t>(settings.zero_copy_receive_depth),
          .send_depth = static_cast<std::uint32_t>(settings.zero_copy_send_depth),
          .first_timeout_ns = static_cast<std::uint64_t>(settings.zero_copy_first_timeout_ns),
          .next_timeout_ns = static_cast<std::uint64_t>(settings.zero_copy_timeout_ns)};
}

std::byte* memory_of(const DirectMessage& message) {
  return reinterpret_cast<std::byte*>(message.address);
}

}  // namespace

ZeroCopyTransfers::ZeroCopyTransfers(const Port& port, const Settings& settings,
                                     memory::Ledger& ledger, ibv_comp_channel* channel, Sink& sink)
    : sink_(sink),
      receiver_(port, zero_copy_settings(settings), ledger, channel),
      sender_(port, zero_copy_settings(settings), channel) {}

Result<Clearance> ZeroCopyTransfers::expect(Link& link, const DirectMessage& message,
                                            std::size_t segment_bytes, std::uint64_t now_ns) {
  const Result<ClearToSend> clear =
      receiver_.begin(message.token, {{memory_of(message), message.bytes}, message.local_key},
                      segment_bytes, now_ns);
  if (!clear) return Error(clear.error());
  incoming_.emplace(message.token, &link);
  return Clearance::of(*clear);
}

void ZeroCopyTransfers::stop_expecting(const Link& link, std::uint64_t token) {
  const auto found = incoming_.find(token);
  if (found == incoming_.end() || found->second != &link) return;
  receiver_.cancel(token);
  incoming_.erase(found);
}

bool ZeroCopyTransfers::send(Link& link, const DirectMessage& message,
                             std::span<const std::byte> clearance, ibv_ah* to) {
  const auto clear = read<ClearToSend>(clearance);
  if (!clear || !sender_
                     .send({.owner = message.token,
                            .clear = *clear,
                            .to = to,
                            .message = {memory_of(message), message.bytes},
                            .local_key = message.local_key})
                     .ok())
    return false;
  outgoing_.emplace(message.token, &link);
  return true;
}

bool ZeroCopyTransfers::poll(std::uint64_t now_ns) {
  const bool has_sent = sender_.poll();
  for (const ZeroCopySender::Event& event : sender_.events()) report(event);
  const bool has_received = receiver_.poll(now_ns);
  for (const ZeroCopyReceiver::Event& event : receiver_.events()) report(event);
  return has_sent || has_received;
}

void ZeroCopyTransfers::report(const ZeroCopySender::Event& event) {
  const auto part = outgoing_.extract(event.owner);
  if (!part.empty())
    sink_.on_operation_done(*part.mapped(), event.owner,
                            event.kind == ZeroCopySender::Event::Kind::left);
}

/// The sink may have abandoned it meanwhile.
void ZeroCopyTransfers::report(const ZeroCopyReceiver::Event& event) {
  const auto found = incoming_.find(event.owner);
  if (found == incoming_.end()) return;
  Link& link = *found->second;
  if (event.kind == ZeroCopyReceiver::Event::Kind::next_batch) {
    sink_.on_clearance(link, event.owner, Clearance::of(event.clear));
    return;
  }
  incoming_.erase(found);
  sink_.on_operation_done(link, event.owner, event.kind == ZeroCopyReceiver::Event::Kind::finished);
}

void ZeroCopyTransfers::arm() {
  receiver_.arm();
  sender_.arm();
}

}  // namespace hawser::transport::verbs
