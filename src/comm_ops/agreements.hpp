// Agreements: those of this process that go on, carried by active messages, and those that were
// decided not long ago, which late coordinators may still ask about.
//
// A message is | id of the communicator (128) | number of the agreement on it (32) | 0 (32) |, and
// then what agreement.hpp says.
//
// Ownership: owned by Mitigation; borrows the engine, whose backend calls it.
// Threads:   the lane lock.
// Bounds:    decided_max decisions are kept, the oldest are forgotten; messages of agreements that
//            this process has not begun: early_bytes_max, the oldest are forgotten, and asked for
//            again by who coordinates.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm_ops/agreement.hpp"
#include "comm_ops/exchange.hpp"
#include "core/comm/comm.hpp"
#include "p2p/engine.hpp"

namespace hawser::comm_ops {

using base::Identity;
using core::Group;
using core::Request;

class Agreements {
 public:
  static constexpr std::size_t decided_max = 256;
  static constexpr std::size_t early_bytes_max = 16 << 20;

  Agreements(p2p::Engine& engine, const Identity& self);

  /// What becomes of a decision; its error is the request's. Called under the lane lock.
  using Conclusion = std::function<Result<void>(const Agreement::Decision&)>;
  /// The members of COMM, of both sides, in an order that all of them agree on.
  static Ref<Group> members_of(const Comm& comm);
  /// This process takes part in the next agreement of MEMBERS, those of COMM.
  Result<Ref<Request>> start(Comm& comm, const Ref<Group>& members,
                             Agreement::Contribution contribution, Conclusion conclude);

  void on_message(const Identity& from, std::span<const std::byte> message);
  /// PROCESS is gone, whether it died or took its leave.
  void on_departure(const Identity& process);

 private:
  struct Key {
    core::GlobalId comm;
    std::uint32_t number;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  class AgreementRequest;
  struct Entry {
    Ref<Group> members;
    Agreement agreement;
    Ref<Request> request;  // an AgreementRequest, until it is decided
    Conclusion conclude;
  };
  struct Early {
    Key key;
    Identity from;
    std::vector<std::byte> bytes;
  };
  void keep_early(const Key& key, const Identity& from, std::span<const std::byte> bytes);
  void take_early(const Key& key, Entry& entry);
  /// Sends what the agreement has to send, and concludes it if it is decided.
  void go_on(const Key& key, Entry& entry);
  void forget_oldest();

  p2p::Engine& engine_;
  const Identity self_;
  std::map<Key, Entry> entries_;
  std::deque<Key> decided_;
  std::deque<Early> early_;
  std::size_t early_bytes_ = 0;
  bool has_dropped_early_ = false;
};

}  // namespace hawser::comm_ops
