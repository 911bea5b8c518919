// What one process of a fabric asks another one to suffer: a word in the seat of that one, which
// its device reads whenever it is driven, and answers.
//
//  63       56 55       48 47               32 31                            0
// +-----------+-----------+-------------------+-------------------------------+
// | state     | kind      | 1 + asker's seat  | number                        |
// +-----------+-----------+-------------------+-------------------------------+
// 0: nobody asks. An answer stays until its asker has seen it, or is dead.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>

#include "softrdma/fabric/host.hpp"

namespace softrdma::fabric {

enum class FaultKind : std::uint8_t {
  queue_pair_error = 1,
  port_down = 2,
  port_up = 3,
};

struct FaultRequest {
  FaultKind kind;
  std::uint32_t number;  // of the queue pair, or of the port
  bool operator==(const FaultRequest&) const = default;
};

enum class FaultAnswer : std::uint8_t {
  done,
  unknown_number,
  silence,  // its device is not driven: nobody has opened it, or the process is stopped
  busy,     // somebody else asks it just now
};

/// What the process of SEAT, who calls this, is asked for. One load if that is nothing.
std::optional<FaultRequest> pending_fault(const SeatMemory& seat);
void answer_fault(SeatMemory& seat, bool was_done);

/// Asks the process on SEAT, from that of HOST, and waits for the answer, a second at most.
FaultAnswer ask_for_fault(const Host& host, std::uint16_t seat, const FaultRequest& request);

}  // namespace softrdma::fabric
