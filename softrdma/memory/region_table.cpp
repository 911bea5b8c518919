#include "softrdma/memory/region_table.hpp"

#include <infiniband/verbs.h>

#include <algorithm>

#include "base/ids.hpp"

namespace softrdma::memory {

using hawser::base::mix64;

namespace {

constexpr unsigned half_bits = 12;
constexpr std::uint32_t half_mask = (1U << half_bits) - 1;
constexpr unsigned rounds = 4;
constexpr unsigned remote_rights =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

}  // namespace

RegionTable::RegionTable(std::uint64_t secret, KeyDirectory* directory)
    : secret_(secret), directory_(directory) {}

std::uint32_t RegionTable::round(std::uint32_t half, unsigned number) const {
  return static_cast<std::uint32_t>(mix64(secret_ ^ (std::uint64_t{number} << 32 | half))) &
         half_mask;
}

// A Feistel network: whatever round() gives, it is a permutation.
std::uint32_t RegionTable::permute(std::uint32_t place) const {
  std::uint32_t left = place >> half_bits;
  std::uint32_t right = place & half_mask;
  for (unsigned i = 0; i < rounds; ++i) {
    const std::uint32_t next = left ^ round(right, i);
    left = right;
    right = next;
  }
  return left << half_bits | right;
}

std::uint32_t RegionTable::unpermute(std::uint32_t permuted) const {
  std::uint32_t left = permuted >> half_bits;
  std::uint32_t right = permuted & half_mask;
  for (unsigned i = rounds; i-- > 0;) {
    const std::uint32_t before = right ^ round(left, i);
    right = left;
    left = before;
  }
  return left << half_bits | right;
}

/// Never the tag of the place's last key: that one is stale.
std::uint8_t RegionTable::fresh_tag(std::uint8_t last) {
  const auto drawn = static_cast<std::uint8_t>(mix64(secret_ + ++tags_));
  return drawn == last ? static_cast<std::uint8_t>(drawn + 1) : drawn;
}

std::optional<std::uint32_t> RegionTable::insert(const Region& region) {
  std::uint32_t place;
  if (!free_.empty()) {
    place = free_.back();
    free_.pop_back();
  } else {
    if (entries_.size() >> place_bits != 0) return std::nullopt;
    place = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  }
  Entry& entry = entries_[place];
  entry = {region, fresh_tag(entry.tag), true};
  ++size_;
  const std::uint32_t key = permute(place) << 8 | entry.tag;
  publish(key, entry.region);
  return key;
}

void RegionTable::change(std::uint32_t key, const Region& region) {
  withdraw(key);
  *find_own(key) = region;
  publish(key, region);
}

void RegionTable::renew(std::uint32_t key, const Region& region) {
  stale_.erase(unpermute(key >> 8));
  change(key, region);
}

/// What opens nothing to peers is none of their business, nor is what is stale in a part.
void RegionTable::publish(std::uint32_t key, const Region& region) {
  const std::uint32_t region_key = region.kind == RegionKind::region ? key : region.bound_to;
  if (directory_ != nullptr && (region.access & remote_rights) != 0 &&
      !stale_.contains(unpermute(region_key >> 8)))
    directory_->publish(key, region);
}

void RegionTable::withdraw(std::uint32_t key) {
  if (directory_ != nullptr) directory_->withdraw(key);
}

const Region* RegionTable::find(std::uint32_t key) const {
  const std::uint32_t place = unpermute(key >> 8);
  if (place >= entries_.size()) return nullptr;
  const Entry& entry = entries_[place];
  return entry.is_used && entry.tag == (key & tag_mask) ? &entry.region : nullptr;
}

bool RegionTable::erase(std::uint32_t key) {
  if (find(key) == nullptr) return false;
  erase_place(key);
  return true;
}

void RegionTable::erase_place(std::uint32_t key) {
  const std::uint32_t place = unpermute(key >> 8);
  if (place >= entries_.size() || !entries_[place].is_used) return;
  Entry& entry = entries_[place];
  const std::uint32_t own_key = (key & ~tag_mask) | entry.tag;
  if (entry.region.kind == RegionKind::region) withdraw(own_key);
  unbind(own_key, entry.region);
  entry.is_used = false;
  stale_.erase(place);
  free_.push_back(place);
  --size_;
}

bool RegionTable::may_bind(const Region& window, const Region* region, const Binding& binding,
                           std::uint32_t domain) {
  if (window.kind == RegionKind::region || window.domain != domain) return false;
  if (window.kind == RegionKind::window_2 && window.bound_to != 0) return false;
  if ((binding.window_key ^ binding.new_key) >> 8 != 0) return false;
  if (binding.bytes == 0) return true;
  if (region == nullptr || region->kind != RegionKind::region || region->domain != domain)
    return false;
  constexpr unsigned changing = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  const unsigned needed =
      unsigned{IBV_ACCESS_MW_BIND} |
      ((binding.access & changing) != 0 ? unsigned{IBV_ACCESS_LOCAL_WRITE} : 0U);
  if ((region->access & needed) != needed) return false;
  const std::uint64_t offset = binding.address - region->address;
  return offset <= region->bytes && binding.bytes <= region->bytes - offset;
}

bool RegionTable::bind(const Binding& binding, std::uint32_t domain, std::uint32_t queue_pair) {
  Region* const window = find_own(binding.window_key);
  Region* const region = find_own(binding.region_key);
  if (window == nullptr || !may_bind(*window, region, binding, domain)) return false;
  unbind(binding.window_key, *window);
  entries_[unpermute(binding.window_key >> 8)].tag =
      static_cast<std::uint8_t>(binding.new_key & tag_mask);
  if (binding.bytes == 0) return true;
  const bool is_zero_based = (binding.access & IBV_ACCESS_ZERO_BASED) != 0;
  window->address = is_zero_based ? 0 : binding.address;
  window->bytes = binding.bytes;
  window->memory = region->memory + (binding.address - region->address);
  window->access = binding.access & remote_rights;
  window->only_for_qp = window->kind == RegionKind::window_2 ? queue_pair : 0;
  window->bound_to = binding.region_key;
  ++region->windows;
  publish(binding.new_key, *window);
  return true;
}

void RegionTable::unbind(std::uint32_t key, Region& window) {
  if (window.bound_to == 0) return;
  withdraw(key);
  --find_own(window.bound_to)->windows;
  window.address = window.bytes = 0;
  window.memory = nullptr;
  window.access = 0;
  window.only_for_qp = window.bound_to = 0;
}

bool RegionTable::invalidate(std::uint32_t key, std::uint32_t queue_pair) {
  Region* const window = find_own(key);
  if (window == nullptr || window->kind != RegionKind::window_2 || window->bound_to == 0 ||
      window->only_for_qp != queue_pair)
    return false;
  unbind(key, *window);
  return true;
}

std::uint64_t RegionTable::bytes() const {
  std::uint64_t total = 0;
  for (const Entry& entry : entries_)
    if (entry.is_used && entry.region.kind == RegionKind::region) total += entry.region.bytes;
  return total;
}

Opened RegionTable::open(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                         const Access& access) const {
  if (observer_ != nullptr) [[unlikely]]
    return open_strictly(key, address, bytes, access);
  return judge(key, address, bytes, access);
}

Opened RegionTable::judge(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                          const Access& access) const {
  const Region* const region = find(key);
  if (region == nullptr) return {nullptr, Refusal::unknown_key};
  if (region->domain != access.domain) return {nullptr, Refusal::other_domain};
  if (region->only_for_qp != 0 && region->only_for_qp != access.queue_pair)
    return {nullptr, Refusal::other_queue_pair};
  const bool is_local = (access.rights & remote_rights) == 0;
  if ((region->access & access.rights) != access.rights ||
      (is_local && region->kind != RegionKind::region))
    return {nullptr, Refusal::missing_right};
  // An address below the region's gives a huge offset.
  const std::uint64_t offset = address - region->address;
  if (offset > region->bytes || bytes > region->bytes - offset)
    return {nullptr, Refusal::out_of_bounds};
  return {region->memory + offset};
}

// Strict mode

Opened RegionTable::open_strictly(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                                  const Access& access) const {
  observer_->before_access();
  const Opened opened = judge(key, address, bytes, access);
  if (!opened.ok()) return opened;
  const Region* const named = find(key);
  const std::uint32_t region_key = named->kind == RegionKind::region ? key : named->bound_to;
  const auto stale = stale_.find(unpermute(region_key >> 8));
  if (stale == stale_.end()) return opened;
  const StalePart* const part = stale->second.find({opened.memory, bytes});
  if (part == nullptr) return opened;
  observer_->on_stale_access({key, address, bytes, *find(region_key), *part});
  return {nullptr, Refusal::stale};
}

bool RegionTable::mark_stale(const StalePart& part) {
  bool has_any = false;
  for (std::uint32_t place = 0; place < entries_.size(); ++place) {
    const auto& [region, tag, is_used] = entries_[place];
    if (!is_used || region.kind != RegionKind::region ||
        (region.access & IBV_ACCESS_ON_DEMAND) != 0)
      continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(region.memory);
    const std::uintptr_t end = begin + region.bytes;
    if (part.begin >= end || begin >= part.end) continue;
    stale_[place].add({std::max(begin, part.begin), std::min(end, part.end), part.change});
    withdraw_with_windows(permute(place) << 8 | tag);
    has_any = true;
  }
  return has_any;
}

void RegionTable::withdraw_with_windows(std::uint32_t region_key) {
  if (directory_ == nullptr) return;
  withdraw(region_key);
  for (std::uint32_t place = 0; place < entries_.size(); ++place)
    if (entries_[place].is_used && entries_[place].region.bound_to == region_key)
      withdraw(permute(place) << 8 | entries_[place].tag);
}

}  // namespace softrdma::memory
