// Outside: what a process has to do with processes of other jobs.
//
// Ownership: implemented by the session layer. Threads: open(): without the lane lock; the rest is
// used under it.
#pragma once

#include <functional>
#include <memory>
#include <unordered_set>

#include "bootstrap/spawn.hpp"
#include "dynamic/wire.hpp"

namespace hawser::dynamic {

class Outside {
 public:
  virtual ~Outside() = default;
  [[nodiscard]] virtual const Identity& self() const = 0;
  /// That this process shares with all of its own job.
  [[nodiscard]] virtual const JobKey& job_key() const = 0;
  /// From now on processes of other jobs can reach this one, at the addresses that it returns.
  /// An error if no transport can do that, or the user wants none that could.
  virtual Result<Addresses> open() = 0;
  virtual bootstrap::AddressBook& addresses() = 0;
  virtual bootstrap::Keyring& keys() = 0;
  /// Members of communicators of this process, that are of other jobs.
  [[nodiscard]] virtual std::unordered_set<Identity> members() const = 0;
  /// It has exchanged something with PROCESS, and remembers how much.
  [[nodiscard]] virtual bool is_talked_to(const Identity& process) const = 0;
  /// See EndpointTable::forget_ended().
  virtual void forget_ended(const std::function<bool(const Identity&)>& is_needed) = 0;
  /// See Bootstrap::spawn().
  virtual Result<std::unique_ptr<bootstrap::Spawning>> spawn(
      const bootstrap::SpawnRequest& request) = 0;
  /// From now on waiting ends when DESCRIPTOR is readable, too, until unwatch().
  virtual Result<void> watch(int descriptor) = 0;
  virtual void unwatch(int descriptor) = 0;
};

}  // namespace hawser::dynamic
