#include "bootstrap/local_group.hpp"

#include <vector>

#include "bootstrap/shared_cores.hpp"
#include "platform/name_space.hpp"
#include "platform/this_process.hpp"

namespace hawser::bootstrap {

namespace {

/// Under which a process's CoreShare stands among its values.
constexpr std::string_view cores_key = "cores";

Error not_ours(const char* reason) {
  return {ErrorClass::other, std::string("the memory that another process offers: ") + reason};
}

}  // namespace

Result<LocalGroup> LocalGroup::lead(std::uint32_t size) {
  Result<JobSegment> segment =
      JobSegment::create({.size = size, .host_bytes = size * host_bytes_per_process});
  if (!segment) return segment.take_error();
  LocalGroup group(*std::move(segment), 0);
  static_cast<void>(group.claim_entry());
  return group;
}

Result<LocalGroup> LocalGroup::join(const HostOffer& offer, std::uint32_t place,
                                    std::uint32_t size) {
  if (offer.pid_space != platform::name_space(platform::NameSpace::pid) ||
      offer.network_space != platform::name_space(platform::NameSpace::network))
    return not_ours("it is on another host, or in other name spaces of the kernel");
  Result<platform::FileDescriptor> file = platform::open_descriptor_of(offer.pid, offer.descriptor);
  if (!file) return file.take_error();
  Result<JobSegment> segment = JobSegment::attach(*file);
  if (!segment) return segment.take_error();
  if (segment->facts().job != offer.cookie || segment->facts().size != size)
    return not_ours("it is that of another job");
  LocalGroup group(*std::move(segment), place);
  if (!group.claim_entry()) return not_ours("our place in it was taken already");
  return group;
}

bool LocalGroup::claim_entry() const {
  std::int32_t owner = 0;
  return own_entry().pid.compare_exchange_strong(owner, platform::process_id(),
                                                 std::memory_order_acq_rel);
}

HostOffer LocalGroup::offer() const {
  return {platform::process_id(), segment_.fd().get(), segment_.facts().job,
          platform::name_space(platform::NameSpace::pid).value_or(0),
          platform::name_space(platform::NameSpace::network).value_or(0)};
}

bool LocalGroup::has_joined(std::uint32_t place) const {
  return segment_.entry(place).pid.load(std::memory_order_acquire) != 0;
}

Result<void> LocalGroup::share_cores() const {
  return publish_value(own_entry().values, cores_key, to_bytes(own_core_share()));
}

int LocalGroup::shared_cores() const {
  std::vector<CoreShare> shares;
  for (std::uint32_t place = 0; place < size(); ++place) {
    const auto told = find_value(segment_.entry(place).values, cores_key);
    if (!told || !*told) continue;
    if (const auto share = parse_core_share(**told)) shares.push_back(*share);
  }
  return count_shared_cores(shares);
}

}  // namespace hawser::bootstrap
