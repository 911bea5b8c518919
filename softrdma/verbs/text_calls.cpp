// Names and rates: functions without a device.
#include <algorithm>
#include <array>
#include <cstddef>

#include "softrdma/verbs/calls.hpp"

namespace softrdma::verbs {
namespace {

template <std::size_t count>
const char* name_of(const std::array<const char*, count>& names, int number, const char* unknown) {
  return number >= 0 && static_cast<std::size_t>(number) < count
             ? names[static_cast<std::size_t>(number)]
             : unknown;
}

struct Rate {
  ibv_rate rate;
  int mult;  // of 2.5 Gbit/s; 0: no whole multiple
  int mbps;
};

// IBA §9.11 and the rates of the faster lanes, without their coding.
constexpr std::array rates{
    Rate{IBV_RATE_2_5_GBPS, 1, 2500},     Rate{IBV_RATE_5_GBPS, 2, 5000},
    Rate{IBV_RATE_10_GBPS, 4, 10000},     Rate{IBV_RATE_20_GBPS, 8, 20000},
    Rate{IBV_RATE_30_GBPS, 12, 30000},    Rate{IBV_RATE_40_GBPS, 16, 40000},
    Rate{IBV_RATE_60_GBPS, 24, 60000},    Rate{IBV_RATE_80_GBPS, 32, 80000},
    Rate{IBV_RATE_120_GBPS, 48, 120000},  Rate{IBV_RATE_14_GBPS, 0, 14062},
    Rate{IBV_RATE_56_GBPS, 0, 56250},     Rate{IBV_RATE_112_GBPS, 0, 112500},
    Rate{IBV_RATE_168_GBPS, 0, 168750},   Rate{IBV_RATE_25_GBPS, 0, 25781},
    Rate{IBV_RATE_100_GBPS, 0, 103125},   Rate{IBV_RATE_200_GBPS, 0, 206250},
    Rate{IBV_RATE_300_GBPS, 0, 309375},   Rate{IBV_RATE_28_GBPS, 0, 28125},
    Rate{IBV_RATE_50_GBPS, 0, 53125},     Rate{IBV_RATE_400_GBPS, 0, 425000},
    Rate{IBV_RATE_600_GBPS, 0, 637500},   Rate{IBV_RATE_800_GBPS, 0, 850000},
    Rate{IBV_RATE_1200_GBPS, 0, 1275000},
};

const Rate* find(ibv_rate rate) {
  const auto* const found = std::ranges::find(rates, rate, &Rate::rate);
  return found == rates.end() ? nullptr : found;
}

}  // namespace

SOFTRDMA_EXPORT int ibv_rate_to_mult(ibv_rate rate) {
  const Rate* const found = find(rate);
  return found == nullptr || found->mult == 0 ? -1 : found->mult;
}
SOFTRDMA_EXPORT ibv_rate mult_to_ibv_rate(int mult) {
  const auto* const found = mult == 0 ? rates.end() : std::ranges::find(rates, mult, &Rate::mult);
  return found == rates.end() ? IBV_RATE_MAX : found->rate;
}
SOFTRDMA_EXPORT int ibv_rate_to_mbps(ibv_rate rate) {
  const Rate* const found = find(rate);
  return found == nullptr ? -1 : found->mbps;
}
SOFTRDMA_EXPORT ibv_rate mbps_to_ibv_rate(int mbps) {
  const auto* const found = std::ranges::find(rates, mbps, &Rate::mbps);
  return found == rates.end() ? IBV_RATE_MAX : found->rate;
}

SOFTRDMA_EXPORT const char* ibv_wc_status_str(ibv_wc_status status) {
  static constexpr std::array names{"success",
                                    "local length error",
                                    "local QP operation error",
                                    "local EE context operation error",
                                    "local protection error",
                                    "work request flushed",
                                    "memory window bind error",
                                    "bad response error",
                                    "local access error",
                                    "remote invalid request error",
                                    "remote access error",
                                    "remote operation error",
                                    "transport retry counter exceeded",
                                    "RNR retry counter exceeded",
                                    "local RDD violation error",
                                    "remote invalid RD request",
                                    "remote aborted error",
                                    "invalid EE context number",
                                    "invalid EE context state",
                                    "fatal error",
                                    "response timeout error",
                                    "general error",
                                    "tag matching error",
                                    "tag matching: rendezvous is up to the program"};
  return name_of(names, status, "unknown");
}

SOFTRDMA_EXPORT const char* ibv_node_type_str(ibv_node_type type) {
  static constexpr std::array names{"unknown",           "InfiniBand channel adapter",
                                    "InfiniBand switch", "InfiniBand router",
                                    "iWARP NIC",         "usNIC",
                                    "usNIC UDP",         "unspecified"};
  return name_of(names, type, "unknown");
}

SOFTRDMA_EXPORT const char* ibv_port_state_str(ibv_port_state state) {
  static constexpr std::array names{"no change", "down", "init", "armed", "active", "active defer"};
  return name_of(names, state, "unknown");
}

SOFTRDMA_EXPORT const char* ibv_event_type_str(ibv_event_type event) {
  static constexpr std::array names{"CQ error",
                                    "local work queue catastrophic error",
                                    "invalid request local work queue error",
                                    "local access violation work queue error",
                                    "connected",
                                    "send queue drained",
                                    "path migrated",
                                    "path migration request error",
                                    "local catastrophic error",
                                    "port active",
                                    "port error",
                                    "LID change",
                                    "partition key change",
                                    "subnet manager change",
                                    "SRQ catastrophic error",
                                    "SRQ limit reached",
                                    "last WQE reached",
                                    "client reregistration",
                                    "GID table change",
                                    "receive work queue error"};
  return name_of(names, event, "unknown");
}

}  // namespace softrdma::verbs
