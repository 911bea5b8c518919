// AddressBook: where processes are, of this job and of others that it is connected to.
//
// What concerns the own job is the bootstrap's to say; of another job's processes the book knows
// what it was told, and nothing of where they run: they are never taken for neighbours on this
// host, whose memory we share.
//
// Ownership: borrows the bootstrap, owns what it was told. Threads: the lane lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace hawser::bootstrap {

/// Addresses of a process, by the names of the transports that they belong to.
using Addresses = std::map<std::string, std::vector<std::byte>, std::less<>>;

/// The local rank of PROCESS, if it is of the same job as BOOTSTRAP and on this host.
std::optional<std::uint32_t> local_rank_of(const Bootstrap& bootstrap, const Identity& process);

class AddressBook {
 public:
  explicit AddressBook(Bootstrap& own) : own_(own) {}

  /// The address of PROCESS for TRANSPORT; nothing if it has none, or not yet.
  Result<std::optional<std::vector<std::byte>>> look_up(const Identity& process,
                                                        std::string_view transport);
  [[nodiscard]] bool is_same_host(const Identity& process) const {
    return local_rank_of(own_, process).has_value();
  }

  /// PROCESS, of another job, is to be found at ADDRESSES, whatever was heard before.
  void enter(const Identity& process, const Addresses& addresses) { foreign_[process] = addresses; }
  /// Nobody needs PROCESS, of another job, any more.
  void strike(const Identity& process) { foreign_.erase(process); }
  /// Processes of other jobs in the book.
  [[nodiscard]] std::vector<Identity> foreign() const;

 private:
  Bootstrap& own_;
  std::unordered_map<Identity, Addresses> foreign_;
};

}  // namespace hawser::bootstrap
