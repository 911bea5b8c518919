#include "softrdma/fabric/xrc_targets.hpp"

#include <algorithm>
#include <span>

namespace softrdma::fabric {

XrcTargetMemory* SharedXrcTargets::find(std::uint32_t number) const {
  const std::span<XrcTargetMemory> table = host_.xrc_targets();
  const std::uint32_t place = host_.queue_pair_card(number).target;
  if (place == 0 || place > table.size()) return nullptr;
  XrcTargetMemory& target = table[place - 1];
  return target.number == number ? &target : nullptr;
}

bool SharedXrcTargets::add(std::uint32_t number, std::uint32_t xrc_domain) {
  const std::span<XrcTargetMemory> table = host_.xrc_targets();
  const SharedLock lock(host_, host_.table_lock());
  if (!lock.is_ours()) return false;
  const auto unused =
      std::ranges::find_if(table, [](const XrcTargetMemory& target) { return target.number == 0; });
  XrcTargetMemory* const free = unused == table.end() ? host_.add_xrc_target() : &*unused;
  if (free == nullptr) return false;
  free->xrc_domain = xrc_domain;
  free->states[0] = {};
  free->current = 0;
  clear(free->holders);
  insert(free->holders, host_.seat());
  free->number = number;
  host_.queue_pair_card(number).target = static_cast<std::uint32_t>(free - table.data()) + 1;
  return true;
}

bool SharedXrcTargets::open(std::uint32_t number, std::uint32_t xrc_domain) {
  const SharedLock lock(host_, host_.table_lock());
  XrcTargetMemory* const target = lock.is_ours() ? find(number) : nullptr;
  if (target == nullptr || target->xrc_domain != xrc_domain) return false;
  insert(target->holders, host_.seat());
  return true;
}

bool SharedXrcTargets::close(std::uint32_t number) {
  const SharedLock lock(host_, host_.table_lock());
  XrcTargetMemory* const target = find(number);
  if (target == nullptr) return true;
  erase(target->holders, host_.seat());
  if (host_.has_members(target->holders)) return false;
  host_.queue_pair_card(number).target = 0;
  target->number = 0;
  return true;
}

std::uint32_t SharedXrcTargets::domain_of(std::uint32_t number) const {
  const XrcTargetMemory* const target = find(number);
  return target == nullptr ? 0 : target->xrc_domain.load();
}

bool SharedXrcTargets::begin(std::uint32_t number, qp::TargetState* state) {
  XrcTargetMemory* const target = find(number);
  if (target == nullptr) return false;
  turn_.emplace(host_, target->lock);
  if (!turn_->is_ours() || target->number != number) {
    turn_.reset();
    return false;
  }
  *state = target->states[target->current % target->states.size()];
  return true;
}

void SharedXrcTargets::end(std::uint32_t number, const qp::TargetState& state) {
  if (XrcTargetMemory* const target = find(number)) {
    // Whoever dies in the middle leaves the other one.
    const std::uint32_t next = target->current == 0 ? 1 : 0;
    target->states[next] = state;
    target->current = next;
  }
  turn_.reset();
}

std::optional<std::uint16_t> SharedXrcTargets::take_route(const wire::Headers& request) {
  const std::uint32_t number = request.destination_qp;
  const std::optional<std::uint16_t> owner = host_.owner_of(number);
  if (!owner) return std::nullopt;
  // What came before this one is there, or on its way there.
  if (*owner != host_.seat() && host_.is_alive(*owner)) return owner;
  const std::optional<std::uint16_t> receiver = host_.owner_of(request.receive_queue);
  const bool is_ours = !receiver || *receiver == host_.seat() || !host_.is_alive(*receiver);
  host_.move(number, is_ours ? host_.seat() : *receiver);
  return is_ours ? std::nullopt : receiver;
}

}  // namespace softrdma::fabric
