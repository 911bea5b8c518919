#include "p2p/protocol/active_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hawser::p2p {

Result<void> ActiveMessages::post(const Identity& peer, ActiveClass message_class,
                                  std::span<const std::byte> message) {
  if (message.size() > active_bytes_max)
    return base::Error(base::ErrorClass::intern,
                       fmt::format("an active message of {} bytes is longer than {}; the "
                                   "communicator has too many members for this operation",
                                   message.size(), active_bytes_max));
  channel::Endpoint& endpoint = endpoints_.find_or_make(peer);
  wire::ActiveHeader header{static_cast<std::uint32_t>(message_class), next_number_++,
                            static_cast<std::uint32_t>(message.size()), 0};
  do {
    const auto part = message.subspan(header.offset)
                          .first(std::min(part_bytes_max, message.size() - header.offset));
    send_part(endpoint, header, part);
    header.offset += static_cast<std::uint32_t>(part.size());
  } while (header.offset < header.total);
  if (is_courtesy(message_class)) endpoint.note_courtesy_sent();
  endpoints_.note_waiting(endpoint);
  return {};
}

void ActiveMessages::send_part(channel::Endpoint& to, const wire::ActiveHeader& header,
                               std::span<const std::byte> payload) {
  to.send(wire::class_byte(wire::FrameClass::active),
          sizeof(channel::FramePrefix) + sizeof(header) + payload.size(),
          [&](std::byte* body) { std::ranges::copy(payload, wire::put(body, header)); });
}

void ActiveMessages::on_frame(channel::Endpoint& from, std::span<const std::byte> body) {
  const std::optional<wire::ActivePart> part = wire::parse_active(body);
  if (!part || part->header.message_class >= active_class_count) return;
  if (is_courtesy(static_cast<ActiveClass>(part->header.message_class)))
    from.note_courtesy_received();
  Message* const message = find_or_begin(from.identity(), part->header);
  if (message == nullptr || message->bytes.size() != part->header.total) return;
  std::ranges::copy(part->payload, message->bytes.begin() + part->header.offset);
  message->received += static_cast<std::uint32_t>(part->payload.size());
  if (message->received < part->header.total) return;
  complete_.push_back(std::move(*message));
  incomplete_.erase(incomplete_.begin() + (message - incomplete_.data()));
  has_come_ = true;
}

ActiveMessages::Message* ActiveMessages::find_or_begin(const Identity& from,
                                                       const wire::ActiveHeader& header) {
  std::size_t begun = 0;
  for (Message& message : incomplete_) {
    if (message.from != from) continue;
    if (message.number == header.number) return &message;
    ++begun;
  }
  if (begun == incomplete_max) return nullptr;
  return &incomplete_.emplace_back(
      Message{from, header.message_class, header.number, 0, std::vector<std::byte>(header.total)});
}

void ActiveMessages::on_departure(const Departure& departure) {
  std::erase_if(incomplete_,
                [&](const Message& message) { return message.from == departure.process; });
  departures_.push_back(departure);
  has_come_ = true;
}

bool ActiveMessages::hand_over_now() {
  has_come_ = false;
  // What a process has sent comes before its departure. Handlers may bring more of both.
  for (const Message& message : std::exchange(complete_, {}))
    if (const auto& handler = handlers_[message.message_class])
      handler(message.from, message.bytes);
  for (const Departure& departure : std::exchange(departures_, {}))
    if (departure_handler_) departure_handler_(departure);
  return true;
}

}  // namespace hawser::p2p
