// RegistrationCache: memory of messages is registered with the network devices once, stays so while
// the budget allows, and is forgotten when it becomes something else. The RCache of Open MPI's
// papers. It makes no OS call: devices are behind a Registrar, and events come by invalidate().
//
// Registrations are whole pages. The ones that may be handed out are "listed" by where they begin,
// and none of them lies within another, so that their ends come in the same order: if any covers a
// range, the last one that begins before it does, and one look-up finds it. They may overlap.
//
// A new registration covers what was asked for and, if the whole stays within twice of it, the
// unused neighbours that it overlaps: that pins no page twice and costs one registration at most
// twice as long, once. Neighbours that only touch stay apart: parts of a large array in turn would
// register it again and again. Listed ones within the new one are replaced by it.
//
// Why nobody gets a stale registration:
// - The event comes before the memory goes, and the queue keeps it, so when the address can be
//   somebody's new memory the event is there, and acquire() looks before it looks up. Who got the
//   address from the kernel came after the one that gave it back, in the order of that lock.
// - Memory that goes while it is being registered or in use is not the program's to pass to MPI:
//   the pages of what was asked for are there until the lease ends. All other pages of a
//   registration were asked for by somebody before it; if they go between two looks, the lease is
//   good for what was asked for, and the next look finds the event and takes the registration away.
// - An event that comes before a registration is made and is looked at afterwards takes it away
//   without need. That is the price: too much is forgotten, never too little.
//
// Lasting memory (MPI_Alloc_mem's) is registered as one piece when some of it is first asked for,
// and leased by the cache itself until it ends: nothing evicts it. It is the program's until then,
// so that this holds without events, too; with them, what the program discards of it is still
// heard.
//
// Without events (keep = false) nothing can be known of memory that nobody uses, so every lease
// has a registration of its own, of just its pages, which ends with it.
//
// Ownership: owns registrations; borrows registrar and ledger. Leases end before the cache does.
// Threads:   under the lock of the lane, but invalidate(): any thread, at any time.
// Charged:   Account::registered, per registration. Bounds: pinned_bytes_max is never passed;
//            overlapping registrations count twice, as they do for the kernel.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <utility>

#include "base/assert.hpp"
#include "memory/ledger/ledger.hpp"
#include "memory/registration/address_range.hpp"
#include "memory/registration/invalidation_queue.hpp"
#include "memory/registration/registrar.hpp"

namespace hawser::memory {

struct RegistrationSettings {
  std::size_t pinned_bytes_max;
  std::size_t page_bytes;
  bool keep = true;  // registrations that nobody uses; needs events of memory that goes
};

struct RegistrationCounters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;         // each registered something, or could not
  std::uint64_t evictions = 0;      // of unused ones, to make room
  std::uint64_t invalidations = 0;  // registrations that an event took away
  std::size_t registered_bytes = 0;
  std::size_t registered_bytes_peak = 0;
};

class RegistrationCache {
  struct Entry;
  using Entries = std::list<Entry>;

 public:
  /// The use of a registration: it stays registered while this lives.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : cache_(std::exchange(other.cache_, nullptr)), entry_(other.entry_) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(cache_, other.cache_);
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~Lease() { reset(); }

    void reset() {
      if (cache_ != nullptr) std::exchange(cache_, nullptr)->release(entry_);
    }
    explicit operator bool() const { return cache_ != nullptr; }
    [[nodiscard]] RegistrationHandle handle() const { return entry_->handle; }

   private:
    friend class RegistrationCache;
    Lease(RegistrationCache* cache, Entries::iterator entry) : cache_(cache), entry_(entry) {}

    RegistrationCache* cache_ = nullptr;
    Entries::iterator entry_;
  };

  RegistrationCache(Registrar& registrar, Ledger& ledger, const RegistrationSettings& settings)
      : registrar_(registrar), ledger_(ledger), settings_(settings) {}
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  /// A lease on a registration of all of BYTES (at least one) from ADDRESS on. MPI_ERR_NO_MEM if
  /// what is in use leaves no room for it in the budget or in a device (the caller copies then);
  /// else what the registrar says of this memory.
  Result<Lease> acquire(std::uintptr_t address, std::size_t bytes) {
    HAWSER_DEBUG_ASSERT(bytes > 0);
    apply_invalidations();
    const AddressRange asked = pages_around(address, bytes, settings_.page_bytes);
    return acquire(asked, settings_.keep);
  }
  /// The same, but what has to be registered for it is forgotten when the lease ends.
  Result<Lease> acquire_once(std::uintptr_t address, std::size_t bytes) {
    apply_invalidations();
    return acquire(pages_around(address, bytes, settings_.page_bytes), false);
  }
  /// All of BYTES from ADDRESS on is registered, or will be as one piece with what it belongs to.
  [[nodiscard]] bool is_registered(std::uintptr_t address, std::size_t bytes) {
    apply_invalidations();
    const AddressRange asked = pages_around(address, bytes, settings_.page_bytes);
    return find(asked) != entries_in_use_.end() || find_lasting(asked) != lasting_.end();
  }

  /// BYTES from ADDRESS on are the program's for messages, until remove_lasting(ADDRESS).
  void add_lasting(std::uintptr_t address, std::size_t bytes);
  /// Nobody uses it any more. Does nothing if there is none at ADDRESS.
  void remove_lasting(std::uintptr_t address);

  /// The memory is about to be unmapped, moved or discarded. Allocates nothing and takes no lock.
  void invalidate(std::uintptr_t address, std::size_t bytes) {
    invalidations_.note(pages_around(address, bytes, settings_.page_bytes));
  }
  /// The same for memory of which nobody knows how much it is.
  void invalidate_everything() { invalidations_.note(whole_address_space); }

  /// Forgets what invalidate() was told of. acquire() does that too; where nobody communicates, a
  /// call now and then gives pages back that are only registered any more.
  void apply_invalidations() {
    invalidations_.drain([this](const AddressRange& gone) { forget_overlapping(gone); });
  }
  /// Forgets all registrations that nobody uses.
  void release_unused();

  [[nodiscard]] const RegistrationCounters& counters() const { return counters_; }

 private:
  struct Entry {
    AddressRange pages;
    RegistrationHandle handle;
    std::uint32_t leases;
    bool is_listed;
  };

  struct Lasting {
    AddressRange pages;
    Lease lease;  // once it has been used
  };
  using LastingMemory = std::map<std::uintptr_t, Lasting>;

  Result<Lease> acquire(const AddressRange& asked, bool keep) {
    const auto found = find(asked);
    if (found != entries_in_use_.end()) {
      ++counters_.hits;
      return lease(found);
    }
    if (!lasting_.empty()) {
      if (Lease lasting = acquire_lasting(asked)) return lasting;
    }
    return acquire_new(asked, keep);
  }

  /// The listed one that covers PAGES, or the end of entries_in_use_.
  Entries::iterator find(const AddressRange& pages) {
    auto above = listed_.upper_bound(pages.begin);
    if (above == listed_.begin()) return entries_in_use_.end();
    const Entries::iterator candidate = std::prev(above)->second;
    return candidate->pages.covers(pages) ? candidate : entries_in_use_.end();
  }
  Lease lease(Entries::iterator entry) {
    if (entry->leases++ == 0) {
      bytes_in_use_ += entry->pages.bytes();
      entries_in_use_.splice(entries_in_use_.end(), unused_, entry);
    }
    return Lease(this, entry);
  }
  void release(Entries::iterator entry) {
    HAWSER_DEBUG_ASSERT(entry->leases > 0);
    if (--entry->leases > 0) return;
    bytes_in_use_ -= entry->pages.bytes();
    unused_.splice(unused_.end(), entries_in_use_, entry);
    if (!entry->is_listed) forget(entry);
  }

  Result<Lease> acquire_new(const AddressRange& asked, bool keep);
  [[nodiscard]] LastingMemory::iterator find_lasting(const AddressRange& pages);
  Lease acquire_lasting(const AddressRange& asked);
  [[nodiscard]] AddressRange merge(const AddressRange& asked) const;
  [[nodiscard]] bool fits(const AddressRange& pages) const;
  Result<Lease> add(const AddressRange& pages, bool keep);
  void forget_unused_within(const AddressRange& pages);
  void evict_for(const AddressRange& pages);
  void evict_oldest();
  void list(Entries::iterator entry);
  void unlist(Entries::iterator entry);
  void forget_overlapping(const AddressRange& gone);
  void forget(Entries::iterator unused);

  Registrar& registrar_;
  Ledger& ledger_;
  const RegistrationSettings settings_;
  InvalidationQueue invalidations_;
  Entries entries_in_use_;
  Entries unused_;  // the longest unused first
  std::map<std::uintptr_t, Entries::iterator> listed_;
  LastingMemory lasting_;  // by its address
  std::size_t bytes_in_use_ = 0;
  RegistrationCounters counters_;
};

}  // namespace hawser::memory
