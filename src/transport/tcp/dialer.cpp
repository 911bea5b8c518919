#include "transport/tcp/dialer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hawser::transport::tcp {

Dialer::Dialer(const std::vector<platform::IpAddress>& candidates, std::uint16_t port,
               std::uint64_t timeout_ns)
    : port_(port), timeout_ns_(timeout_ns) {
  for (const platform::IpAddress& address : candidates) candidates_.push_back({address});
}

void Dialer::begin(std::uint64_t now_ns) {
  is_dialing_ = true;
  out_of_reach_since_ns_ = now_ns;
  pause_ns_ = pause_ns_initial;
  begin_round(now_ns);
}

void Dialer::begin_round(std::uint64_t at_ns) {
  for (Candidate& each : candidates_) each.state = State::idle;
  next_start_ns_ = at_ns;
}

bool Dialer::any(State state) const {
  return std::ranges::any_of(candidates_, [=](const auto& each) { return each.state == state; });
}

std::optional<std::size_t> Dialer::first_idle() const {
  const auto found = std::ranges::find(candidates_, State::idle, &Candidate::state);
  if (found == candidates_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - candidates_.begin());
}

Dialer::Action Dialer::next(std::uint64_t now_ns) {
  using Kind = Action::Kind;
  if (!is_dialing_) return {};
  if (any(State::reached)) {
    out_of_reach_since_ns_ = now_ns;
  } else if (now_ns >= out_of_reach_since_ns_ + timeout_ns_) {
    is_dialing_ = false;
    return {Kind::give_up};
  }
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& each = candidates_[i];
    if (each.state != State::started || now_ns < each.started_ns + answer_ns) continue;
    on_failed(i, "no answer", now_ns);
    return {Kind::abandon, i};
  }
  const std::optional<std::size_t> idle = first_idle();
  if (!idle || now_ns < next_start_ns_) return {};
  candidates_[*idle].state = State::started;
  candidates_[*idle].started_ns = now_ns;
  next_start_ns_ = now_ns + stagger_ns;
  return {Kind::start, *idle};
}

std::uint64_t Dialer::deadline_ns() const {
  if (!is_dialing_) return never_ns;
  std::uint64_t first = any(State::reached) ? never_ns : out_of_reach_since_ns_ + timeout_ns_;
  if (first_idle()) first = std::min(first, next_start_ns_);
  for (const Candidate& each : candidates_)
    if (each.state == State::started) first = std::min(first, each.started_ns + answer_ns);
  return first;
}

void Dialer::on_reached(std::size_t candidate) { candidates_[candidate].state = State::reached; }

void Dialer::on_failed(std::size_t candidate, std::string why, std::uint64_t now_ns) {
  Candidate& failed = candidates_[candidate];
  if (failed.state == State::reached) out_of_reach_since_ns_ = now_ns;
  failed.state = State::failed;
  failed.why = std::move(why);
  if (first_idle()) {
    next_start_ns_ = std::min(next_start_ns_, now_ns);
  } else if (!any(State::started) && !any(State::reached)) {
    begin_round(now_ns + pause_ns_);
    pause_ns_ = std::min(2 * pause_ns_, pause_ns_max);
  }
}

std::string Dialer::report() const {
  if (candidates_.empty()) return "it has published no address that this host could reach";
  std::string tried;
  for (const Candidate& each : candidates_)
    tried += fmt::format("{}{} port {}: {}", tried.empty() ? "" : "; ", text_of(each.address),
                         port_, each.why.empty() ? "no answer yet" : each.why);
  return "tried " + tried;
}

}  // namespace hawser::transport::tcp
