#include "bootstrap/address_book.hpp"

namespace hawser::bootstrap {

std::optional<std::uint32_t> local_rank_of(const Bootstrap& bootstrap, const Identity& process) {
  if (process.job != bootstrap.placement().self.job) return std::nullopt;
  return bootstrap.local_rank_of(process.index);
}

Result<std::optional<std::vector<std::byte>>> AddressBook::look_up(const Identity& process,
                                                                   std::string_view transport) {
  using Found = std::optional<std::vector<std::byte>>;
  if (process.job == own_.placement().self.job) return own_.look_up(process.index, transport);
  const auto entry = foreign_.find(process);
  if (entry == foreign_.end()) return Found();
  const auto address = entry->second.find(transport);
  return address == entry->second.end() ? Found() : Found(address->second);
}

std::vector<Identity> AddressBook::foreign() const {
  std::vector<Identity> processes;
  processes.reserve(foreign_.size());
  for (const auto& [process, addresses] : foreign_) processes.push_back(process);
  return processes;
}

}  // namespace hawser::bootstrap
