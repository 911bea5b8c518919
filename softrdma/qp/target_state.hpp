// What an XRC target queue pair is between two packets, so that another process can go on with it.
//
// Plain bytes: it lies in memory that processes share.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <type_traits>

#include "softrdma/qp/responder.hpp"

namespace softrdma::qp {

struct TargetState {
  std::uint32_t changes = 0;  // of the two that follow, counted
  ibv_qp_state state = IBV_QPS_RESET;
  ibv_qp_attr attributes{};
  Responder::State responder;
};
static_assert(std::is_trivially_copyable_v<TargetState>);

/// Whose turn it is to use a queue pair.
enum class Turn : std::uint8_t {
  own,     // always ours: no other process has it
  shared,  // ours, until we end it
  none,    // another process's, or the queue pair is no more
};

}  // namespace softrdma::qp
