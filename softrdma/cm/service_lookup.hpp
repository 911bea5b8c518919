// ServiceLookup: one end of a question for the queue pair that offers a service of datagrams
// (InfiniBand Architecture Specification, volume 1, §12.11). It owns no clock: time is an argument.
//
//   asking     asked ── SIDR_REP, timeout ──► over
//   asked for  wanted ── answer (SIDR_REP) ──► answered ──► over
//
// Ownership: borrows its host. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "softrdma/cm/connection.hpp"

namespace softrdma::cm {

class ServiceLookup {
 public:
  enum class State : std::uint8_t { idle, asked, wanted, answered, over };

  /// ID: ours, of a question of ours; else the peer's.
  ServiceLookup(std::uint32_t id, ConnectionHost& host) : id_(id), host_(host) {}

  /// Asks; REQUEST: all but its id.
  void ask(ServiceRequest request, std::uint64_t wait_ns, std::uint8_t repeats,
           std::uint64_t now_ns);
  /// A question that came for the first time.
  void begin(const ServiceRequest& request);
  /// REPLY: all but id and service. False: there is nothing to answer.
  bool answer(ServiceReply reply, std::uint64_t now_ns);
  /// The consumer has no interest any more.
  void abandon(std::uint64_t now_ns);

  void on_message(const Message& message);
  void on_time(std::uint64_t now_ns);
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const;
  [[nodiscard]] State state() const { return state_; }

 private:
  const std::uint32_t id_;
  ConnectionHost& host_;
  State state_ = State::idle;
  std::uint64_t service_ = 0;
  ServiceReply reply_;
  RepeatedMessage waiting_;
  std::uint64_t ends_ns_ = 0;  // of answered
};

}  // namespace softrdma::cm
