// Conversation: messages between this process and one that it need not have a communicator in
// common with, or between it and members of its group: whole byte strings of any length.
//
// They travel as Traffic::setup, which nothing of the user matches.
// Ownership: borrows the engine. Threads: one per conversation.
// Errors:    those of the messages: the other process is gone.
#pragma once

#include "comm_ops/bridge.hpp"
#include "comm_ops/setup.hpp"
#include "core/comm/comm.hpp"
#include "dynamic/wire.hpp"
#include "p2p/engine.hpp"

namespace hawser::dynamic {

using base::Ref;
using core::Comm;

Result<void> send(p2p::Engine& engine, const p2p::Envelope& envelope,
                  std::span<const std::byte> bytes);
/// At most message_bytes_max.
Result<Bytes> receive(p2p::Engine& engine, const p2p::Envelope& envelope);
Result<Bytes> receive(p2p::Engine& engine, Ref<p2p::Message> message);

class Conversation {
 public:
  /// SELF talks with PEER under TAG, and so does PEER.
  Conversation(p2p::Engine& engine, const Identity& self, const Identity& peer, int tag,
               Ref<core::Errhandler> errhandler);

  Result<void> send(std::span<const std::byte> bytes) {
    return dynamic::send(engine_, envelope(), bytes);
  }
  Result<Bytes> receive() { return dynamic::receive(engine_, envelope()); }
  /// What has come; null if nothing has.
  Result<Ref<p2p::Message>> look() { return engine_.improbe(envelope()); }
  /// For comm_ops, which goes on talking by it.
  [[nodiscard]] comm_ops::Bridge bridge() const {
    return {.comm = comm_.get(), .peer = peer_, .tag = tag_};
  }

 private:
  [[nodiscard]] p2p::Envelope envelope() const {
    return {comm_.get(), peer_, tag_, core::Traffic::setup};
  }

  p2p::Engine& engine_;
  int tag_;
  int peer_;
  Ref<Comm> comm_;
};

}  // namespace hawser::dynamic
