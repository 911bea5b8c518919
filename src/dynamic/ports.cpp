#include "dynamic/ports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dynamic/secret.hpp"

namespace hawser::dynamic {

namespace {

using p2p::ActiveClass;

Error not_open(std::string_view name) {
  return Error(ErrorClass::port,
               fmt::format("'{}' is not an open port of this process", name.substr(0, 40)));
}

}  // namespace

Ports::Ports(p2p::Engine& engine, Outside& outside) : engine_(engine), outside_(outside) {
  engine_.backend().set_active_handler(
      ActiveClass::call,
      [this](const Identity& from, std::span<const std::byte> message) { on_call(from, message); });
  engine_.backend().set_active_handler(
      ActiveClass::refusal,
      [this](const Identity&, std::span<const std::byte> message) { on_refusal(message); });
}

Ports::~Ports() {
  for (const ActiveClass each : {ActiveClass::call, ActiveClass::refusal})
    engine_.backend().set_active_handler(each, nullptr);
}

Result<std::string> Ports::open() {
  Result<Addresses> addresses = outside_.open();
  if (!addresses) return addresses.take_error();
  const p2p::LaneLock lock(engine_);
  const Port port{fresh_admission(), {outside_.self(), std::move(*addresses)}};
  Result<std::string> name = port_name(port);
  if (!name) return name;
  outside_.keys().admit(port.admission);
  open_.emplace(*name, Open{port, {}});
  return name;
}

Result<void> Ports::close(std::string_view name) {
  const p2p::LaneLock lock(engine_);
  const auto found = open_.find(name);
  if (found == open_.end()) return not_open(name);
  for (const Call& call : found->second.calls) refuse(call);
  outside_.keys().bar(found->second.port.admission.id);
  open_.erase(found);
  return {};
}

Result<std::optional<Ports::Incoming>> Ports::next_call(std::string_view name) {
  const p2p::LaneLock lock(engine_);
  const auto found = open_.find(name);
  if (found == open_.end()) return not_open(name);
  std::deque<Call>& calls = found->second.calls;
  if (calls.empty()) return std::optional<Incoming>();
  Incoming incoming{found->second.port, std::move(calls.front())};
  calls.pop_front();
  return std::optional<Incoming>(std::move(incoming));
}

std::vector<Identity> Ports::callers() {
  const p2p::LaneLock lock(engine_);
  std::vector<Identity> callers;
  for (const auto& [name, open] : open_)
    for (const Call& call : open.calls) callers.push_back(call.caller.identity);
  return callers;
}

Result<void> Ports::ring(const Identity& server, const Call& call) {
  const p2p::LaneLock lock(engine_);
  own_calls_.emplace(call.nonce, false);
  return engine_.backend().post(server, ActiveClass::call, write(call));
}

bool Ports::was_refused(const Call& call) {
  const p2p::LaneLock lock(engine_);
  const auto own = own_calls_.find(call.nonce);
  return own != own_calls_.end() && own->second;
}

void Ports::hang_up(const Call& call) {
  const p2p::LaneLock lock(engine_);
  own_calls_.erase(call.nonce);
}

/// What is no call is dropped, and who calls for somebody else.
void Ports::on_call(const Identity& from, std::span<const std::byte> message) {
  Result<Call> call = read_call(message);
  if (!call || call->caller.identity != from) return;
  Open* const open = find_open(call->port);
  if (open == nullptr || open->calls.size() == calls_max) return refuse(*call);
  open->calls.push_back(std::move(*call));
}

void Ports::on_refusal(std::span<const std::byte> message) {
  const Result<Nonce> nonce = read_nonce(message);
  if (!nonce) return;
  const auto own = own_calls_.find(*nonce);
  if (own != own_calls_.end()) own->second = true;
}

void Ports::refuse(const Call& call) {
  // Who has hung up, or is gone, misses nothing.
  static_cast<void>(
      engine_.backend().post(call.caller.identity, ActiveClass::refusal, write(call.nonce)));
}

Ports::Open* Ports::find_open(std::uint64_t admission) {
  const auto found = std::ranges::find_if(
      open_, [&](const auto& each) { return each.second.port.admission.id == admission; });
  return found == open_.end() ? nullptr : &found->second;
}

}  // namespace hawser::dynamic
