#include "tool/performance_session.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hawser::tool {

using base::Error;
using base::ErrorClass;
using base::Result;

PerformanceHandle::PerformanceHandle(const PerformanceVariable& variable,
                                     PerformanceSession& session)
    : variable_(variable), session_(&session), kept_(variable.length), since_(variable.length) {
  session.handles_.push_back(this);
}

PerformanceHandle::~PerformanceHandle() { leave(); }

void PerformanceHandle::leave() {
  if (session_ != nullptr) std::erase(session_->handles_, this);
  session_ = nullptr;
}

Error PerformanceHandle::refusal(ErrorClass error_class, const char* what) const {
  return {error_class,
          fmt::format("'{}' is no sum of events: it cannot be {}", variable_.name, what)};
}

Result<void> PerformanceHandle::start(Reading now) {
  if (!variable_.is_sum()) return refusal(ErrorClass::t_pvar_no_startstop, "started or stopped");
  if (started_) return {};
  std::ranges::copy(now, since_.begin());
  started_ = true;
  return {};
}

Result<void> PerformanceHandle::stop(Reading now) {
  if (!variable_.is_sum()) return refusal(ErrorClass::t_pvar_no_startstop, "started or stopped");
  read(now, kept_);
  started_ = false;
  return {};
}

void PerformanceHandle::read(Reading now, std::span<std::uint64_t> value) const {
  for (std::size_t i = 0; i < variable_.length; ++i) {
    if (!variable_.is_sum()) {
      value[i] = now[i];
    } else {
      value[i] = kept_[i] + (started_ ? now[i] - since_[i] : 0);
    }
  }
}

Result<void> PerformanceHandle::write(Reading now, Reading value) {
  if (!variable_.is_sum()) return refusal(ErrorClass::t_pvar_no_write, "written or reset");
  std::ranges::copy(value, kept_.begin());
  std::ranges::copy(now, since_.begin());
  return {};
}

Result<void> PerformanceHandle::reset(Reading now) {
  const std::vector<std::uint64_t> zeros(variable_.length);
  return write(now, zeros);
}

Result<void> PerformanceHandle::read_and_reset(Reading now, std::span<std::uint64_t> value) {
  if (!variable_.is_sum())
    return refusal(ErrorClass::t_pvar_no_atomic, "read and reset in one step");
  read(now, value);
  return reset(now);
}

}  // namespace hawser::tool
