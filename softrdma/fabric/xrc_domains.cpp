#include "softrdma/fabric/xrc_domains.hpp"

#include <algorithm>
#include <span>

#include "softrdma/fabric/shared_lock.hpp"

namespace softrdma::fabric {

int SharedXrcDomains::open(const File& file, bool creates, bool exclusive, std::uint32_t* number) {
  const std::span<XrcDomainMemory> table = host_.xrc_domains();
  const SharedLock lock(host_, host_.table_lock());
  if (!lock.is_ours()) return EAGAIN;
  const auto is_used = [&](const XrcDomainMemory& entry) { return host_.has_members(entry.users); };
  const auto found = std::ranges::find_if(table, [&](const XrcDomainMemory& entry) {
    return file != File{} && entry.device == file.first && entry.inode == file.second &&
           is_used(entry);
  });
  const bool exists = found != table.end();
  if (const int error = check(exists, file, creates, exclusive); error != 0) return error;
  const auto entry = exists ? found : std::ranges::find_if_not(table, is_used);
  if (entry == table.end()) return ENOMEM;
  if (!exists) {
    clear(entry->users);
    entry->device = file.first;
    entry->inode = file.second;
  }
  insert(entry->users, host_.seat());
  *number = static_cast<std::uint32_t>(entry - table.begin()) + 1;
  ++opened_[*number];
  return 0;
}

void SharedXrcDomains::close(std::uint32_t number) {
  if (--opened_[number] == 0) erase(host_.xrc_domains()[number - 1].users, host_.seat());
}

}  // namespace softrdma::fabric
