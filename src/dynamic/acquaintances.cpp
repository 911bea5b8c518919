#include "dynamic/acquaintances.hpp"

#include <utility>

#include "dynamic/secret.hpp"

namespace hawser::dynamic {

Acquaintances::UnderWay::UnderWay(Acquaintances& acquaintances) : acquaintances_(&acquaintances) {
  const p2p::LaneLock lock(acquaintances.engine_);
  ++acquaintances.under_way_;
}

Acquaintances::UnderWay::UnderWay(UnderWay&& other) noexcept
    : acquaintances_(std::exchange(other.acquaintances_, nullptr)), admitted_(other.admitted_) {}

Acquaintances::UnderWay::~UnderWay() {
  if (acquaintances_ == nullptr) return;
  const p2p::LaneLock lock(acquaintances_->engine_);
  --acquaintances_->under_way_;
  if (admitted_ != 0) acquaintances_->outside_.keys().bar(admitted_);
}

void Acquaintances::UnderWay::admit(const Admission& admission) {
  const p2p::LaneLock lock(acquaintances_->engine_);
  acquaintances_->outside_.keys().admit(admission);
  admitted_ = admission.id;
}

void Acquaintances::introduce(const Member& member, const Admission& admission) {
  if (member.identity.job == outside_.self().job) return;
  const p2p::LaneLock lock(engine_);
  outside_.addresses().enter(member.identity, member.addresses);
  outside_.keys().assign(member.identity, admission);
}

void Acquaintances::entrust(const std::vector<Member>& members, const Admission& admission) {
  const p2p::LaneLock lock(engine_);
  for (const auto& [identity, addresses] : members) {
    if (identity.job == outside_.self().job) continue;
    outside_.addresses().enter(identity, addresses);
    outside_.keys().entrust(identity, admission);
  }
}

SealedKey Acquaintances::seal_for(const Identity& member, const Admission& admission) {
  const p2p::LaneLock lock(engine_);
  const Admission* const shared = outside_.keys().for_peer(member);
  return shared == nullptr ? seal(admission.key, 0, outside_.job_key(), fresh_nonce())
                           : seal(admission.key, shared->id, shared->key, fresh_nonce());
}

Result<Admission> Acquaintances::unsealed(const Notice& notice) {
  const p2p::LaneLock lock(engine_);
  const JobKey* const sealing =
      notice.key.under == 0 ? &outside_.job_key() : outside_.keys().find(notice.key.under);
  if (sealing != nullptr) return Admission{notice.admission, unseal(notice.key, *sealing)};
  return Error(ErrorClass::intern,
               "a leader sealed the key of a connection under one that this process does not have");
}

void Acquaintances::forget_ended(std::span<const Identity> callers) {
  const p2p::LaneLock lock(engine_);
  if (under_way_ > 0) return;
  std::unordered_set<Identity> needed = outside_.members();
  needed.insert(callers.begin(), callers.end());
  const auto is_needed = [&](const Identity& process) { return needed.contains(process); };
  outside_.forget_ended(is_needed);
  for (const Identity& process : outside_.addresses().foreign()) {
    if (is_needed(process)) continue;
    outside_.keys().trim(process);
    if (outside_.is_talked_to(process)) continue;
    outside_.addresses().strike(process);
    outside_.keys().forget(process);
  }
}

}  // namespace hawser::dynamic
