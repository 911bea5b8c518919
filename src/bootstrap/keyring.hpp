// Keyring: the keys that this process shares with processes of other jobs: one for each port that
// it has open, and one for each connection that was made by a port. The key of the own job is none
// of them.
//
// Ownership: values. Threads: the lane lock.
// Invariant: an admission lets in nobody who says that he is of the own job.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace hawser::bootstrap {

/// Who proves that he holds `key` is let in. The id is no secret; 0 stands for none.
struct Admission {
  std::uint64_t id = 0;
  JobKey key{};
};

class Keyring {
 public:
  /// ADMISSION holds until it was barred as often as it was admitted.
  void admit(const Admission& admission) {
    Entry& entry = admissions_[admission.id];
    entry.key = admission.key;
    ++entry.times;
  }
  void bar(std::uint64_t id) {
    const auto entry = admissions_.find(id);
    if (entry != admissions_.end() && --entry->second.times == 0) admissions_.erase(entry);
  }
  /// The key of admission ID; null if it does not hold.
  [[nodiscard]] const JobKey* find(std::uint64_t id) const {
    const auto entry = admissions_.find(id);
    return entry == admissions_.end() ? nullptr : &entry->second.key;
  }

  /// PEER, of another job, is talked to under ADMISSION from now on.
  void assign(const Identity& peer, const Admission& admission) { peers_[peer].in_use = admission; }
  /// The same, and ADMISSION holds as long as PEER is known: it may come under it, too.
  void entrust(const Identity& peer, const Admission& admission) {
    assign(peer, admission);
    admit(admission);
    peers_[peer].entrusted.push_back(admission.id);
  }
  /// PEER has no use any more for what it was entrusted with, but for the admission in use.
  void trim(const Identity& peer);
  void forget(const Identity& peer);
  /// Null for processes of the own job, and those that nobody has told of.
  [[nodiscard]] const Admission* for_peer(const Identity& peer) const {
    const auto entry = peers_.find(peer);
    return entry == peers_.end() ? nullptr : &entry->second.in_use;
  }
  [[nodiscard]] std::size_t admissions() const { return admissions_.size(); }

 private:
  struct Entry {
    JobKey key{};
    std::uint32_t times = 0;
  };

  struct Peer {
    Admission in_use;
    std::vector<std::uint64_t> entrusted;
  };

  std::unordered_map<std::uint64_t, Entry> admissions_;
  std::unordered_map<Identity, Peer> peers_;
};

inline void Keyring::trim(const Identity& peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  auto& [in_use, entrusted] = found->second;
  bool is_kept = false;
  std::erase_if(entrusted, [&](std::uint64_t id) {
    if (id == in_use.id && !std::exchange(is_kept, true)) return false;
    bar(id);
    return true;
  });
}

inline void Keyring::forget(const Identity& peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  for (const std::uint64_t id : found->second.entrusted) bar(id);
  peers_.erase(found);
}

}  // namespace hawser::bootstrap
