// How far an adapter is from the CPU that calls, as the kernel's table of memory nodes says.
#pragma once

#include "transport/verbs/handles.hpp"

namespace hawser::transport::verbs {

/// What the kernel calls the distance from a node to itself; also where nobody knows.
inline constexpr unsigned local_distance = 10;

unsigned distance_to(const ibv_device& device);

}  // namespace hawser::transport::verbs
