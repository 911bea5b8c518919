// How reliable queue pairs wait for answers, as the verbs number it.
#pragma once

#include <cstdint>

namespace hawser::transport::verbs::reliable {

/// Of the timer of the verbs: 4.096 us * 2^14, 67 ms, after which a packet is sent again, seven
/// times.
inline constexpr std::uint8_t timeout = 14;
inline constexpr std::uint8_t retries = 7;
/// Without end: a receiver that computes answers that it is not ready.
inline constexpr std::uint8_t not_ready_retries = 7;
/// 0.01 ms.
inline constexpr std::uint8_t not_ready_timer = 1;

}  // namespace hawser::transport::verbs::reliable
