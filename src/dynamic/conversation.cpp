#include "dynamic/conversation.hpp"

#include <fmt/format.h>

#include <utility>

#include "collective/algorithm/buffers.hpp"

namespace hawser::dynamic {

namespace {

Result<Bytes> room_for(base::Count bytes) {
  if (bytes <= static_cast<base::Count>(message_bytes_max))
    return Bytes(static_cast<std::size_t>(bytes));
  return Error(ErrorClass::intern,
               fmt::format("another process describes its group in {} bytes; at most {} would be "
                           "right",
                           bytes, message_bytes_max));
}

}  // namespace

Result<void> send(p2p::Engine& engine, const p2p::Envelope& envelope,
                  std::span<const std::byte> bytes) {
  return engine.send(collective::const_byte_buffer(bytes.data(), std::ssize(bytes)), envelope,
                     p2p::SendMode::standard);
}

Result<Bytes> receive(p2p::Engine& engine, const p2p::Envelope& envelope) {
  Result<Ref<p2p::Message>> message = engine.mprobe(envelope);
  if (!message) return message.take_error();
  return receive(engine, std::move(*message));
}

Result<Bytes> receive(p2p::Engine& engine, Ref<p2p::Message> message) {
  Result<Bytes> bytes = room_for(message->status().bytes);
  if (!bytes) return bytes;
  Result<Ref<core::Request>> receiving =
      engine.imrecv(collective::byte_buffer(bytes->data(), std::ssize(*bytes)), std::move(message));
  if (!receiving) return receiving.take_error();
  engine.wait(**receiving);
  if ((*receiving)->error() != nullptr) return Error(*(*receiving)->error());
  return bytes;
}

Conversation::Conversation(p2p::Engine& engine, const Identity& self, const Identity& peer, int tag,
                           Ref<core::Errhandler> errhandler)
    : engine_(engine), tag_(tag) {
  const bool is_first = self < peer;
  peer_ = is_first ? 1 : 0;
  comm_ = comm_ops::make_setup_comm(
      core::Group::of_list(is_first ? std::vector{self, peer} : std::vector{peer, self}), 1 - peer_,
      std::move(errhandler));
}

}  // namespace hawser::dynamic
