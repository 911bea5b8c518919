// RegionTable: the memory that keys open, and to whom (InfiniBand Architecture Specification,
// volume 1, §10.6). One table serves local and remote keys, as one key serves as both.
//
// key:  31                                8 7             0
//      +-----------------------------------+---------------+
//      | place, permuted by a secret       | tag           |
//      +-----------------------------------+---------------+
// The tag of a region is random; that of a window of type 2 is its user's (ibv_inc_rkey). So that a
// key tells nothing of another one, and a stale one opens nothing.
//
// Ownership: the memory stays the registrant's. Threads: the adapter's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "softrdma/memory/stale_parts.hpp"

namespace softrdma::memory {

enum class RegionKind : std::uint8_t {
  region,
  window_1,  // opens to all queue pairs of its domain, and may be bound again at any time
  window_2,  // opens to the one that bound it, and must be invalidated before it is bound again
};

/// A region, or a window on one. A window that is not bound opens nothing.
struct Region {
  std::uint64_t address = 0;  // of its first byte, as work requests name it
  std::uint64_t bytes = 0;
  std::byte* memory = nullptr;  // where that byte lies in this process
  std::uint32_t domain = 0;     // of protection
  unsigned access = 0;          // ibv_access_flags
  RegionKind kind = RegionKind::region;
  std::uint32_t only_for_qp = 0;  // window_2, bound: the queue pair that it opens to
  std::uint32_t bound_to = 0;     // a window: the key of its region, 0 if it is not bound
  std::uint32_t windows = 0;      // a region: bound to it
};

/// What a window is to open (IBA §10.6.7). No BYTES unbind it.
struct Binding {
  std::uint32_t window_key;
  std::uint32_t new_key;  // the same but for the tag
  std::uint32_t region_key;
  unsigned access;  // ibv_access_flags; zero-based: addresses begin at 0
  std::uint64_t address;
  std::uint64_t bytes;
};

enum class Refusal : std::uint8_t {
  none,
  unknown_key,
  other_domain,
  other_queue_pair,
  missing_right,
  out_of_bounds,
  stale,  // its memory is not what was registered: see RegionTable::observe
};

/// Who asks, and for what.
struct Access {
  std::uint32_t domain;
  std::uint32_t queue_pair;
  unsigned rights;  // ibv_access_flags, all of which are needed; 0 to read locally
};

/// Where the bytes lie, or why not.
struct Opened {
  std::byte* memory = nullptr;
  Refusal refusal = Refusal::none;
  [[nodiscard]] bool ok() const { return refusal == Refusal::none; }
};

/// Told of what keys open to peers, so that those of the same host may look it up by themselves.
class KeyDirectory {
 public:
  virtual ~KeyDirectory() = default;
  /// KEY opens REGION from now on.
  virtual void publish(std::uint32_t key, const Region& region) = 0;
  /// It opens nothing any more, and when this returns nobody copies by it who has looked it up
  /// before. Also for keys that were not published.
  virtual void withdraw(std::uint32_t key) = 0;
};

/// An access that was refused because of memory that has changed.
struct StaleAccess {
  std::uint32_t key;
  std::uint64_t address;
  std::uint64_t bytes;
  const Region& region;
  const StalePart& part;
};

/// Of strict mode: knows what has become of memory, and is told where that was not expected.
class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  /// An access is about to be judged: whatever has changed until now is marked before this returns.
  virtual void before_access() = 0;
  virtual void on_stale_access(const StaleAccess& access) = 0;
};

class RegionTable {
 public:
  /// SECRET: random; keys repeat with it (for simulation). DIRECTORY: may be null; borrowed.
  explicit RegionTable(std::uint64_t secret, KeyDirectory* directory = nullptr);

  /// Nothing if all 2^24 places are taken.
  std::optional<std::uint32_t> insert(const Region& region);
  /// The key opens nothing from now on. False: it did not before.
  bool erase(std::uint32_t key);
  /// The same for whatever has the place of KEY, under any tag.
  void erase_place(std::uint32_t key);
  /// KEY, which opens a region, opens that one from now on. What of it is stale stays so.
  void change(std::uint32_t key, const Region& region);
  /// The same for memory that was registered just now: nothing of it is stale.
  void renew(std::uint32_t key, const Region& region);
  /// Null for a key that opens nothing. Valid until the next insert().
  [[nodiscard]] const Region* find(std::uint32_t key) const;
  /// For QUEUE_PAIR of DOMAIN. False, and nothing is changed, if the rules don't allow it.
  bool bind(const Binding& binding, std::uint32_t domain, std::uint32_t queue_pair);
  /// Ends what a window of type 2 opens to QUEUE_PAIR. False if KEY is none.
  bool invalidate(std::uint32_t key, std::uint32_t queue_pair);

  [[nodiscard]] Opened open(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                            const Access& access) const;

  // Strict mode
  /// From now on memory that has changed opens to nobody. OBSERVER is borrowed, and asked at each
  /// access.
  void observe(AccessObserver& observer) { observer_ = &observer; }
  /// The one way in which regions get stale: the memory of PART is not what they were registered
  /// with. False if no region has any of it; those that are paged on demand follow the program.
  bool mark_stale(const StalePart& part);
  /// Marks what has changed until now, without an access.
  void look_for_changes() {
    if (observer_ != nullptr) observer_->before_access();
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Of all regions; what is registered twice counts twice.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  static constexpr std::uint32_t place_bits = 24;
  static constexpr std::uint32_t tag_mask = 0xff;

  struct Entry {
    Region region;
    std::uint8_t tag = 0;
    bool is_used = false;
  };

  [[nodiscard]] std::uint32_t permute(std::uint32_t place) const;
  [[nodiscard]] std::uint32_t unpermute(std::uint32_t permuted) const;
  [[nodiscard]] std::uint32_t round(std::uint32_t half, unsigned number) const;
  [[nodiscard]] std::uint8_t fresh_tag(std::uint8_t last);
  [[nodiscard]] Region* find_own(std::uint32_t key) { return const_cast<Region*>(find(key)); }
  void publish(std::uint32_t key, const Region& region);
  void withdraw(std::uint32_t key);
  [[nodiscard]] static bool may_bind(const Region& window, const Region* region,
                                     const Binding& binding, std::uint32_t domain);
  void unbind(std::uint32_t key, Region& window);
  void withdraw_with_windows(std::uint32_t region_key);
  [[nodiscard]] Opened judge(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                             const Access& access) const;
  [[nodiscard]] Opened open_strictly(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                                     const Access& access) const;

  std::uint64_t secret_;
  KeyDirectory* directory_;
  std::uint64_t tags_ = 0;  // drawn so far
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
  AccessObserver* observer_ = nullptr;                   // strict mode
  std::unordered_map<std::uint32_t, StaleParts> stale_;  // by place
};

}  // namespace softrdma::memory
