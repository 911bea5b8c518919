// Both ends of transfers without copies in one process, for tests and measurements.
//
// Ownership: of all that is needed; memory of transfers is the caller's, and outlives it. Threads:
// one. The time is what the caller sets.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "transport/verbs/zero_copy_receiver.hpp"
#include "transport/verbs/zero_copy_sender.hpp"

namespace hawser::transport::verbs {

/// A port, or an exception with the sentence.
inline Port port_of_a_test() {
  Result<Port> port = Port::open({});
  if (!port) throw std::runtime_error(port.error().sentence());
  return std::move(*port);
}

inline PortAddress address_of(const Port& port) {
  PortAddress address{.mtu = port.mtu, .lid = port.lid};
  std::memcpy(address.gid, port.gid.raw, sizeof(address.gid));
  return address;
}

/// Memory that an adapter may read and write.
class RegisteredMemory {
 public:
  RegisteredMemory(const Port& port, std::size_t size, std::byte fill = std::byte{0})
      : bytes(size, fill),
        region_(ibv_reg_mr(port.protection_domain.get(), bytes.data(), size, access)) {
    if (!region_) throw std::runtime_error("the adapter registers no memory");
  }

  [[nodiscard]] std::uint32_t key() const { return region_->lkey; }

  std::vector<std::byte> bytes;

 private:
  static constexpr int access = IBV_ACCESS_LOCAL_WRITE;  // an int, as ibv_reg_mr() takes it
  MemoryRegion region_;
};

struct ZeroCopyEnds {
  explicit ZeroCopyEnds(const ZeroCopySettings& settings = {}, ibv_comp_channel* channel = nullptr)
      : segment_bytes(mtu_bytes(port.mtu)), to(port.make_address_handle(address_of(port))) {
    receiver.emplace(port, settings, ledger, channel);
    sender.emplace(port, settings, channel);
  }

  Result<ClearToSend> begin(std::uint64_t owner, std::span<std::byte> memory, std::uint32_t key) {
    return receiver->begin(owner, {memory, key}, segment_bytes, now_ns);
  }
  Result<void> send(const ClearToSend& clear, std::span<const std::byte> message, std::uint32_t key,
                    std::uint64_t owner = 0) {
    return sender->send({owner, clear, to.get(), message, key});
  }

  /// Lets both ends go on once; true if anything has moved. What they report is in the lists.
  bool progress() {
    const bool has_sent = sender->poll();
    sent.insert(sent.end(), sender->events().begin(), sender->events().end());
    const bool has_received = receiver->poll(now_ns);
    received.insert(received.end(), receiver->events().begin(), receiver->events().end());
    return has_sent || has_received;
  }
  /// Until nothing happens any more.
  void settle() {
    constexpr int quiet_polls = 1000;
    for (int quiet = 0; quiet < quiet_polls;) quiet = progress() ? 0 : quiet + 1;
  }

  using Received = ZeroCopyReceiver::Event;
  using Sent = ZeroCopySender::Event;

  /// A whole transfer from SOURCE to TARGET, batch by batch, until it has finished or failed;
  /// nothing if it has done neither when all is quiet.
  std::optional<Received::Kind> transfer(RegisteredMemory& source, RegisteredMemory& target,
                                         std::size_t bytes) {
    received.clear();
    Result<ClearToSend> clear = begin(1, std::span(target.bytes).first(bytes), target.key());
    if (!clear) return std::nullopt;
    const std::span<const std::byte> message = std::span(source.bytes).first(bytes);
    if (!send(*clear, message, source.key()).ok()) return std::nullopt;
    for (int quiet = 0; quiet < 1000;) {
      quiet = progress() ? 0 : quiet + 1;
      sent.clear();
      for (const Received& event : std::exchange(received, {})) {
        if (event.kind != Received::Kind::next_batch) return event.kind;
        ++batches;
        if (!send(event.clear, message, source.key()).ok()) return std::nullopt;
      }
    }
    return std::nullopt;
  }

  Port port = port_of_a_test();
  const std::size_t segment_bytes;
  AddressHandle to;
  memory::Ledger ledger;
  std::uint64_t now_ns = 1;
  std::optional<ZeroCopyReceiver> receiver;
  std::optional<ZeroCopySender> sender;
  std::vector<Received> received;
  std::vector<Sent> sent;
  int batches = 0;  // after the first ones of transfers
};

}  // namespace hawser::transport::verbs
