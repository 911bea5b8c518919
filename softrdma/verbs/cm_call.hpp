// The commands of the connection manager, by what they are about; cm_commands.cpp chooses among
// them.
//
// Each returns 0 or an errno. Threads: under the service's mutex.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "softrdma/verbs/cm_service.hpp"

namespace softrdma::verbs::command {

inline constexpr std::uint8_t rate_of_port = IBV_RATE_100_GBPS;
inline constexpr std::uint8_t exponent_max = 31;  // of times: 4.096 us times 2^this

/// A command on its way: from whom, and its bytes.
struct Call {
  ConnectionService& service;
  EventChannel& channel;
  std::span<const std::byte> input;
  std::size_t output_bytes;

  /// The command, filled up with zeros.
  template <class Command>
  [[nodiscard]] Command as() const {
    Command command{};
    std::memcpy(&command, input.data(), std::min(input.size(), sizeof(command)));
    return command;
  }
  /// ENOSPC if the program has less room than LEAST bytes of the answer.
  template <class Answer>
  [[nodiscard]] int answer(std::uint64_t address, const Answer& given,
                           std::size_t least = sizeof(Answer)) const {
    if (output_bytes < least) return ENOSPC;
    std::memcpy(reinterpret_cast<void*>(address), &given, std::min(output_bytes, sizeof(given)));
    return 0;
  }
  /// The identifier of this channel; null if there is none.
  [[nodiscard]] Identifier* identifier(std::uint32_t handle) const {
    Identifier* const found = service.find(handle);
    return found == nullptr || found->channel != &channel ? nullptr : found;
  }
};

inline std::uint64_t now_of(const Identifier& identifier) {
  return identifier.agent->adapter().now_ns();
}

template <class Address>
std::span<const std::byte> bytes_of(const Address& address, std::size_t bytes = sizeof(Address)) {
  return std::as_bytes(std::span(&address, 1)).first(std::min(bytes, sizeof(address)));
}

/// The consumer's part of a command's private data. Nothing if there is more than MOST bytes.
template <class Parameters>
std::optional<std::span<const std::byte>> private_data_of(const Parameters& parameters,
                                                          std::size_t most) {
  if (parameters.private_data_len > most) return std::nullopt;
  return std::as_bytes(std::span(parameters.private_data)).first(parameters.private_data_len);
}

/// IDENTIFIER has port WANTED, or any if that is 0, from now on.
int take_port(ConnectionService& service, Identifier& identifier, std::uint16_t wanted);

// Addresses
int bind_ip(const Call& call);
int bind_any(const Call& call);
int resolve_ip(const Call& call);
int resolve_any(const Call& call);
int resolve_route(const Call& call);
int query_route(const Call& call);
// Queue pairs and connections
int queue_pair_attributes(const Call& call);
int connect(const Call& call);
int listen(const Call& call);
int accept(const Call& call);
int reject(const Call& call);
int disconnect(const Call& call);
int notify(const Call& call);
// Multicast groups
int join_ip(const Call& call);
int join_any(const Call& call);
int leave(const Call& call);

}  // namespace softrdma::verbs::command
