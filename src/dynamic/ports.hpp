// Ports: where processes of other jobs call this one (MPI-5.0 §11.9.1), and its own calls at
// theirs.
//
// A call is an active message, so that it is refused also where nobody accepts: at a port that is
// closed, or where too many wait. Who accepts it answers by a conversation (connections.hpp).
// Ownership: borrows the engine and what is outside.
// Threads:   thread-safe; takes the lane lock. What the engine calls runs under it already.
// Bounds:    calls_max calls wait at a port.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dynamic/outside.hpp"
#include "dynamic/port.hpp"
#include "p2p/engine.hpp"

namespace hawser::dynamic {

class Ports {
 public:
  static constexpr std::size_t calls_max = 1024;

  Ports(p2p::Engine& engine, Outside& outside);
  ~Ports();
  Ports(const Ports&) = delete;
  Ports& operator=(const Ports&) = delete;

  /// The name of a new port of this process.
  Result<std::string> open();
  /// Who has called there and was not accepted is refused. MPI_ERR_PORT if NAME is no open port of
  /// this process.
  Result<void> close(std::string_view name);
  /// A call, and the port that it was made at.
  struct Incoming {
    Port port;
    Call call;
  };
  /// Who has called at NAME and was not taken yet, the first of them; nothing if nobody has.
  /// MPI_ERR_PORT as close().
  Result<std::optional<Incoming>> next_call(std::string_view name);

  /// Who waits at any port of this process.
  [[nodiscard]] std::vector<Identity> callers();

  /// CALL at SERVER, which this process has been told of. To be ended by hang_up().
  Result<void> ring(const Identity& server, const Call& call);
  [[nodiscard]] bool was_refused(const Call& call);
  void hang_up(const Call& call);

 private:
  struct Open {
    Port port;
    std::deque<Call> calls;
  };

  // Under the lane lock:
  void on_call(const Identity& from, std::span<const std::byte> message);
  void on_refusal(std::span<const std::byte> message);
  void refuse(const Call& call);
  Open* find_open(std::uint64_t admission);

  p2p::Engine& engine_;
  Outside& outside_;
  std::map<std::string, Open, std::less<>> open_;  // by name
  std::map<Nonce, bool> own_calls_;                // whether they were refused
};

}  // namespace hawser::dynamic
