// Comm: a communicator as an object: who is in it, how its frames are addressed, what users cached
// on it (MPI-5.0 chapter 7). It does no I/O; comm_ops/ creates communicators.
//
// Addressing: every process numbers its communicators itself (the context index); frames carry the
//             index of the *receiver*, learnt when the communicator is created (DESIGN §4). Where
//             all members chose the same number, one number stands for all.
// Ownership:  operations in flight hold references.
// Threads:    immutable after creation, but for name, attributes, error handler, info (guarded by
//             the user as the standard demands), `peers` and what was acknowledged (guarded by the
//             lane), `companion` (of whom one collective at a time makes use), and what is known of
//             failures, which any thread may ask.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/attribute/attribute.hpp"
#include "core/errhandler/errhandler.hpp"
#include "core/group/group.hpp"
#include "core/info/info.hpp"
#include "core/object.hpp"

namespace hawser::core {

/// Messages of one communicator that must never match each other.
enum class Traffic : std::uint8_t {
  point_to_point = 0,
  collective = 1,
  partitioned = 2,
  setup = 3
};

/// The context indices that the members of a group chose for a communicator.
class ContextMap {
 public:
  ContextMap() = default;
  explicit ContextMap(std::uint32_t uniform) : uniform_(uniform) {}
  /// Kept as one number if all are equal.
  explicit ContextMap(std::vector<std::uint32_t> by_rank);
  [[nodiscard]] std::uint32_t of(int rank) const {
    return by_rank_.empty() ? uniform_ : by_rank_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::size_t footprint_bytes() const {
    return by_rank_.capacity() * sizeof(std::uint32_t);
  }

 private:
  std::uint32_t uniform_ = 0;
  std::vector<std::uint32_t> by_rank_;
};

using GlobalId = std::array<std::uint64_t, 2>;

/// rank -> an object of the layer above (its endpoint); filled at first use, open addressing.
/// At least half of the slots are free, so that a search ends soon.
class PeerCache {
 public:
  [[nodiscard]] void* find(int rank) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[slot_of(rank)];
    return slot.rank == rank ? slot.peer : nullptr;
  }
  /// Replaces what was there under RANK.
  void insert(int rank, void* peer);
  void clear() {
    slots_.clear();
    used_ = 0;
  }
  [[nodiscard]] std::size_t footprint_bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    int rank = -1;
    void* peer = nullptr;
  };

  /// Where RANK is, or else where it would go. Multiplied by the golden ratio, because peers are
  /// often a power of two apart, which a mask alone would send to one slot.
  [[nodiscard]] std::size_t slot_of(int rank) const {
    std::size_t i = (static_cast<std::uint32_t>(rank) * 0x9e3779b9U) >> shift_;
    while (slots_[i].rank != rank && slots_[i].rank >= 0) i = (i + 1) & (slots_.size() - 1);
    return i;
  }
  void grow();

  std::vector<Slot> slots_;  // a power of two of them, or none
  std::size_t used_ = 0;
  int shift_ = 32;  // 32 - log2(slots_.size())
};

class CommRegistry;

/// What a layer above keeps for one communicator, and what ends with it.
class Companion {
 public:
  virtual ~Companion() = default;
};

/// Over what the members of a communicator are spread: all of them know it alike.
enum class Reach : std::uint8_t { unknown, host, job, jobs };

class Comm : public NamedObject {
 public:
  struct Description {
    Ref<Group> group;         // of this side
    Ref<Group> remote_group;  // intercommunicators only
    int rank = 0;             // of this process in `group`
    GlobalId id{};
    std::uint32_t context = 0;   // this process's index for it
    ContextMap contexts;         // of the receivers: `group`, or `remote_group` if there is one
    Ref<Comm> local;             // intercommunicators: over `group`, for collective algorithms
    Ref<Errhandler> errhandler;  // never null
    const Object* session = nullptr;  // the session it stems from; null for the world model
    std::shared_ptr<CommRegistry> registry = nullptr;  // of the process; null: failures pass it by
  };
  explicit Comm(Description description);
  ~Comm() override;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_inter() const { return static_cast<bool>(description_.remote_group); }
  [[nodiscard]] const Group& group() const { return *description_.group; }
  /// The group that ranks in sends and receives refer to: the remote one of an intercommunicator.
  [[nodiscard]] const Group& peer_group() const {
    return is_inter() ? *description_.remote_group : *description_.group;
  }
  [[nodiscard]] int peer_count() const { return peer_count_; }
  [[nodiscard]] const GlobalId& id() const { return description_.id; }
  [[nodiscard]] std::uint32_t context() const { return description_.context; }
  [[nodiscard]] std::uint32_t peer_context(int rank) const {
    return description_.contexts.of(rank);
  }
  [[nodiscard]] const ContextMap& contexts() const { return description_.contexts; }
  /// Of an intercommunicator: an intracommunicator over the local group.
  [[nodiscard]] Comm& local() const { return *description_.local; }
  [[nodiscard]] const Object* session() const { return description_.session; }

  [[nodiscard]] Errhandler& errhandler() const { return *description_.errhandler; }
  void set_errhandler(Ref<Errhandler> errhandler) {
    description_.errhandler = std::move(errhandler);
  }
  [[nodiscard]] AttributeSet& attributes() { return attributes_; }
  /// Hints that the user set; may be null.
  [[nodiscard]] Info* info() const { return info_.get(); }
  void set_info(Ref<Info> info) { info_ = std::move(info); }

  [[nodiscard]] PeerCache& peers() { return peers_; }
  /// The companion of the collective layer; null at first.
  [[nodiscard]] Companion* companion() const { return companion_.get(); }
  void set_companion(std::unique_ptr<Companion> companion) { companion_ = std::move(companion); }

  /// Unknown until somebody has found it out.
  [[nodiscard]] Reach reach() const { return reach_.load(std::memory_order_relaxed); }
  void set_reach(Reach reach) { reach_.store(reach, std::memory_order_relaxed); }

  [[nodiscard]] const std::shared_ptr<CommRegistry>& registry() const {
    return description_.registry;
  }
  // What is known of failures; an intercommunicator shares it with its local communicator.
  /// Nobody may use it for messages any more (MPIX_Comm_revoke).
  [[nodiscard]] bool is_revoked() const {
    return (troubles_.load(std::memory_order_acquire) & revoked) != 0;
  }
  /// A member of either side has died.
  [[nodiscard]] bool has_failures() const {
    return (troubles_.load(std::memory_order_acquire) & damaged) != 0;
  }
  /// Neither: what everybody sees who never meets a failure.
  [[nodiscard]] bool is_sound() const { return troubles_.load(std::memory_order_acquire) == 0; }
  /// Both take the short way to peers away: from then on each operation looks what is wrong.
  void note_revocation() { note(revoked); }
  void note_failure() { note(damaged); }
  /// How many of the failures among its members the user has acknowledged, in the order in which
  /// they became known.
  [[nodiscard]] std::size_t acknowledged_failures() const { return acknowledged_failures_; }
  void acknowledge_failures(std::size_t count) { acknowledged_failures_ = count; }
  /// The number of the next agreement: equal on all members, since they call them in the same
  /// order.
  [[nodiscard]] std::uint32_t next_agreement() { return ++agreements_; }

  /// The next tag for the messages of one collective call: equal on all members, since they call
  /// collectives in the same order.
  [[nodiscard]] int next_collective_tag() {
    return collective_tag_ = (collective_tag_ + 1) & 0x3fffffff;
  }

  /// ident: the same object; congruent: equal groups, another context; similar: equal members in
  /// another order.
  [[nodiscard]] Comparison compare(const Comm& other) const;

 private:
  static constexpr std::uint8_t revoked = 1;
  static constexpr std::uint8_t damaged = 2;
  void note(std::uint8_t trouble);

  Description description_;
  int rank_;
  int size_;
  int peer_count_;
  int collective_tag_ = 0;
  std::atomic<std::uint8_t> troubles_{0};
  std::uint32_t agreements_ = 0;
  std::size_t acknowledged_failures_ = 0;
  AttributeSet attributes_;
  Ref<Info> info_;
  std::atomic<Reach> reach_{Reach::unknown};
  PeerCache peers_;
  std::unique_ptr<Companion> companion_;
};

/// What an operation on COMM, which is revoked, says.
Error revoked_error(const Comm& comm);
/// MPIX_ERR_REVOKED if COMM is revoked.
inline Result<void> check_not_revoked(const Comm& comm) {
  if (!comm.is_revoked()) [[likely]]
    return {};
  return revoked_error(comm);
}

}  // namespace hawser::core
