#include "memory/registration/registration_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace hawser::memory {
namespace {

/// How many times what was asked for a registration may cover to take in its neighbours.
constexpr std::size_t merged_times_max = 2;

bool is_short_of_room(const Error& error) {
  return error.code() == static_cast<int>(ErrorClass::no_mem);
}

}  // namespace

RegistrationCache::~RegistrationCache() {
  lasting_.clear();
  HAWSER_ASSERT(entries_in_use_.empty());
  while (!unused_.empty()) forget(unused_.begin());
}

void RegistrationCache::release_unused() {
  apply_invalidations();
  while (!unused_.empty()) forget(unused_.begin());
}

void RegistrationCache::add_lasting(std::uintptr_t address, std::size_t bytes) {
  lasting_.insert_or_assign(
      address, Lasting{.pages = pages_around(address, bytes, settings_.page_bytes), .lease = {}});
}

void RegistrationCache::remove_lasting(std::uintptr_t address) {
  const auto lasting = lasting_.find(address);
  if (lasting == lasting_.end()) return;
  const AddressRange pages = lasting->second.pages;
  lasting_.erase(lasting);
  forget_overlapping(pages);
}

RegistrationCache::LastingMemory::iterator RegistrationCache::find_lasting(
    const AddressRange& pages) {
  // The address of one may lie behind the beginning of its first page.
  auto above = lasting_.upper_bound(pages.begin + settings_.page_bytes - 1);
  while (above != lasting_.begin()) {
    --above;
    if (above->second.pages.covers(pages)) return above;
    if (above->second.pages.end <= pages.begin) break;
  }
  return lasting_.end();
}

/// Empty if no lasting memory covers ASKED, or not all of it can be registered now.
RegistrationCache::Lease RegistrationCache::acquire_lasting(const AddressRange& asked) {
  const auto found = find_lasting(asked);
  if (found == lasting_.end()) return {};
  Lasting& memory = found->second;
  // With events it would have been found, had it not gone since it was registered.
  if (settings_.keep || !memory.lease) {
    auto whole = acquire_new(memory.pages, settings_.keep);
    if (!whole.ok()) return {};
    memory.lease = std::move(*whole);
  } else {
    ++counters_.hits;
  }
  return lease(memory.lease.entry_);
}

Result<RegistrationCache::Lease> RegistrationCache::acquire_new(const AddressRange& asked,
                                                                bool keep) {
  ++counters_.misses;
  const AddressRange merged = keep ? merge(asked) : asked;
  if (merged != asked) {
    // A neighbour's pages may be gone since the last look, or another kind of memory.
    if (auto added = add(merged, keep); added.ok()) return added;
  }
  if (!fits(asked))
    return Error(ErrorClass::no_mem,
                 fmt::format("registered memory: {} bytes more do not fit: {} of at most {} bytes "
                             "are in use; a larger limit would hold them",
                             asked.bytes(), bytes_in_use_, settings_.pinned_bytes_max));
  auto added = add(asked, keep);
  if (added.ok() || !is_short_of_room(added.error()) || unused_.empty()) return added;
  while (!unused_.empty()) evict_oldest();
  return add(asked, keep);
}

AddressRange RegistrationCache::merge(const AddressRange& asked) const {
  AddressRange merged = asked;
  const auto take_in = [&](const Entry& neighbour) {
    const AddressRange whole = hull(merged, neighbour.pages);
    const bool is_worth_it = neighbour.leases == 0 && neighbour.pages.overlaps(asked) &&
                             whole.bytes() / merged_times_max <= asked.bytes() && fits(whole);
    if (is_worth_it) merged = whole;
  };
  // As ends come in the order of begins, these two reach furthest into ASKED and out of it.
  const auto above = listed_.lower_bound(asked.begin);
  if (above != listed_.begin()) take_in(*std::prev(above)->second);
  const auto behind = listed_.lower_bound(asked.end);
  if (behind != listed_.begin()) take_in(*std::prev(behind)->second);
  return merged;
}

bool RegistrationCache::fits(const AddressRange& pages) const {
  return pages.bytes() <= settings_.pinned_bytes_max &&
         bytes_in_use_ <= settings_.pinned_bytes_max - pages.bytes();
}

/// Registers PAGES, which fit.
Result<RegistrationCache::Lease> RegistrationCache::add(const AddressRange& pages, bool keep) {
  if (keep) forget_unused_within(pages);
  evict_for(pages);
  auto handle = registrar_.add(pages.begin, pages.bytes());
  if (!handle.ok()) return handle.take_error();
  ledger_.charge(Account::registered, pages.bytes());
  counters_.registered_bytes += pages.bytes();
  counters_.registered_bytes_peak =
      std::max(counters_.registered_bytes_peak, counters_.registered_bytes);
  unused_.push_back({.pages = pages, .handle = *handle, .leases = 0, .is_listed = false});
  const auto entry = std::prev(unused_.end());
  if (keep) list(entry);
  return lease(entry);
}

/// What a registration of PAGES will replace is not worth its room.
void RegistrationCache::forget_unused_within(const AddressRange& pages) {
  auto next = listed_.lower_bound(pages.begin);
  while (next != listed_.end() && pages.covers(next->second->pages)) {
    const Entries::iterator entry = (next++)->second;
    if (entry->leases == 0) forget(entry);
  }
}

void RegistrationCache::evict_for(const AddressRange& pages) {
  while (!unused_.empty() &&
         counters_.registered_bytes > settings_.pinned_bytes_max - pages.bytes())
    evict_oldest();
}

void RegistrationCache::evict_oldest() {
  ++counters_.evictions;
  forget(unused_.begin());
}

/// ENTRY lies within no listed one.
void RegistrationCache::list(Entries::iterator entry) {
  auto next = listed_.lower_bound(entry->pages.begin);
  while (next != listed_.end() && entry->pages.covers(next->second->pages)) {
    next->second->is_listed = false;
    next = listed_.erase(next);
  }
  listed_.emplace_hint(next, entry->pages.begin, entry);
  entry->is_listed = true;
}

void RegistrationCache::unlist(Entries::iterator entry) {
  if (!entry->is_listed) return;
  listed_.erase(entry->pages.begin);
  entry->is_listed = false;
}

void RegistrationCache::forget_overlapping(const AddressRange& gone) {
  auto behind = listed_.lower_bound(gone.end);
  while (behind != listed_.begin()) {
    const Entries::iterator entry = std::prev(behind)->second;
    // All that begin before it end before it.
    if (entry->pages.end <= gone.begin) return;
    ++counters_.invalidations;
    behind = listed_.erase(std::prev(behind));
    entry->is_listed = false;
    if (entry->leases == 0) forget(entry);
  }
}

void RegistrationCache::forget(Entries::iterator unused) {
  unlist(unused);
  const Entry entry = *unused;
  unused_.erase(unused);
  counters_.registered_bytes -= entry.pages.bytes();
  ledger_.refund(Account::registered, entry.pages.bytes());
  registrar_.remove(entry.handle);
}

}  // namespace hawser::memory
