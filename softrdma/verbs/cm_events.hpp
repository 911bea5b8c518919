// Events of the connection manager, as <rdma/rdma_cma.h> numbers them. That header belongs to the
// library that programs use, and is not needed here but for these numbers.
#pragma once

#include <cstdint>

namespace softrdma::verbs::cm_event {

inline constexpr std::uint32_t address_resolved = 0;
inline constexpr std::uint32_t address_error = 1;
inline constexpr std::uint32_t route_resolved = 2;
inline constexpr std::uint32_t connect_request = 4;
inline constexpr std::uint32_t connect_response = 5;
inline constexpr std::uint32_t unreachable = 7;
inline constexpr std::uint32_t rejected = 8;
inline constexpr std::uint32_t established = 9;
inline constexpr std::uint32_t disconnected = 10;
inline constexpr std::uint32_t multicast_join = 12;
inline constexpr std::uint32_t time_wait_exit = 15;

}  // namespace softrdma::verbs::cm_event
