// Keyring: the keys that this process shares with processes of other jobs: one for each port that
// it has open, and one for each connection that was made by a port. The key of the own job is none
// of them.
//
// Ownership: values. Threads: the lane lock.
// Invariant: an admission lets in nobody who says that he is of the own job.
#pragma once

#include <cstdint>
#include <unordered_map>

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
  void assign(const Identity& peer, const Admission& admission) { peers_[peer] = admission; }
  void forget(const Identity& peer) { peers_.erase(peer); }
  /// Null for processes of the own job, and those that nobody has told of.
  [[nodiscard]] const Admission* for_peer(const Identity& peer) const {
    const auto entry = peers_.find(peer);
    return entry == peers_.end() ? nullptr : &entry->second;
  }

 private:
  struct Entry {
    JobKey key{};
    std::uint32_t times = 0;
  };

  std::unordered_map<std::uint64_t, Entry> admissions_;
  std::unordered_map<Identity, Admission> peers_;
};

}  // namespace hawser::bootstrap
