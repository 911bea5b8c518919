#include "softrdma/device/mishaps.hpp"

#include <cmath>

namespace softrdma::device {
namespace {

/// Of flaps that nobody saw so much is caught up with; before that nobody can tell.
constexpr std::uint64_t unseen_ns_max = 1'000'000'000;

}  // namespace

/// Exponentially distributed: mishaps know nothing of each other.
std::uint64_t Mishaps::draw_gap_ns(double per_second) {
  constexpr double second_ns = 1e9;
  constexpr unsigned mantissa_bits = 53;
  constexpr unsigned unused_bits = 64 - mantissa_bits;
  // More than 0, and at most 1.
  const double share = std::ldexp(static_cast<double>((random_() >> unused_bits) + 1),
                                  -static_cast<int>(mantissa_bits));
  return static_cast<std::uint64_t>(-std::log(share) / per_second * second_ns);
}

bool Mishaps::is_error_due(std::uint64_t now_ns) {
  if (errors_per_second_ <= 0) return false;
  const bool is_now = next_error_ns_ && *next_error_ns_ <= now_ns;
  if (is_now || !next_error_ns_) next_error_ns_ = now_ns + draw_gap_ns(errors_per_second_);
  return is_now;
}

Mishaps::Flap Mishaps::draw_flap(std::uint64_t since_ns) {
  return {.port = static_cast<std::uint8_t>(choose(ports_) + 1),
          .begins_ns = since_ns + draw_gap_ns(flaps_per_second_)};
}

std::optional<PortChange> Mishaps::port_change(std::uint64_t now_ns) {
  if (flaps_per_second_ <= 0) return std::nullopt;
  const bool begins_anew = !flap_ || flap_->ends_ns() + unseen_ns_max < now_ns;
  if (!is_down_ && begins_anew) flap_ = draw_flap(now_ns);
  if (is_down_) {
    if (now_ns < flap_->ends_ns()) return std::nullopt;
    is_down_ = false;
    const std::uint8_t port = flap_->port;
    flap_ = draw_flap(flap_->ends_ns());
    return PortChange{port, true};
  }
  while (flap_->ends_ns() <= now_ns) flap_ = draw_flap(flap_->ends_ns());
  if (now_ns < flap_->begins_ns) return std::nullopt;
  is_down_ = true;
  return PortChange{flap_->port, false};
}

}  // namespace softrdma::device
