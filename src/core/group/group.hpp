// Group: an immutable ordered set of processes (MPI-5.0 §7.3).
//
// Stored in the smallest form (DESIGN §4): a stride (first, first + s, … of one job at epoch 0; the
// identity 0, 1, …, n-1 is one) or a list; a world of a million ranks costs as much as one of two.
//
// Ownership: by reference; immutable, so shared freely.
// Threads:   any number may use one group; a list builds its look-up index at the first rank_of().
// Invariant: members are distinct; a list that could be a stride is stored as one, so that equal
//            groups have equal forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "core/object.hpp"

namespace hawser::core {

using base::Identity;

/// MPI_UNDEFINED.
inline constexpr int undefined_rank = -32766;

enum class Comparison : int { ident = 201, congruent = 202, similar = 203, unequal = 204 };

class Group : public Object {
 public:
  struct Range {
    int first;
    int last;
    int stride;
  };

  /// The processes FIRST, FIRST+STRIDE, … (SIZE of them) of JOB, at epoch 0.
  static Ref<Group> of_stride(std::uint64_t job, std::uint32_t first, std::int32_t stride,
                              int size);
  /// Any list of distinct processes; compressed to a stride where it is one.
  static Ref<Group> of_list(std::vector<Identity> members);
  static Ref<Group> empty();

  [[nodiscard]] int size() const;
  /// RANK must be in [0, size()).
  [[nodiscard]] Identity member(int rank) const;
  /// The rank of IDENTITY or undefined_rank; constant expected time.
  [[nodiscard]] int rank_of(const Identity& identity) const;
  /// Bytes that this group takes, for the memory ledger; the look-up index of a list is counted
  /// from the start, so that what is charged once can be given back once.
  [[nodiscard]] std::size_t footprint_bytes() const;

  /// The session whose process set this group stems from, for comparison only; null if none. What
  /// is derived from a group stems from the same.
  [[nodiscard]] const Object* session() const { return session_; }
  void set_session(const Object* session) { session_ = session; }

  /// ident, similar (equal members in another order) or unequal.
  [[nodiscard]] Comparison compare(const Group& other) const;
  /// The members of this group in their order, then those of OTHER that are new, in theirs.
  [[nodiscard]] Ref<Group> union_with(const Group& other) const;
  /// Both keep the order of this group.
  [[nodiscard]] Ref<Group> intersection_with(const Group& other) const;
  [[nodiscard]] Ref<Group> difference_with(const Group& other) const;
  /// MPI_ERR_RANK if a rank is outside [0, size()) or appears twice.
  Result<Ref<Group>> include(std::span<const int> ranks) const;
  Result<Ref<Group>> exclude(std::span<const int> ranks) const;
  /// MPI_ERR_ARG for a stride that is zero or leads away from the last rank, MPI_ERR_RANK for ranks
  /// outside or repeated.
  Result<Ref<Group>> include_ranges(std::span<const Range> ranges) const;
  Result<Ref<Group>> exclude_ranges(std::span<const Range> ranges) const;

 private:
  struct Stride {
    std::uint64_t job;
    std::uint32_t first;
    std::int32_t stride;
    int size;
  };
  struct List;
  explicit Group(Stride stride);
  explicit Group(std::unique_ptr<List> list);
  ~Group() override;

  /// A group of MEMBERS that stems from where this one does.
  [[nodiscard]] Ref<Group> derive(std::vector<Identity> members) const;

  const Object* session_ = nullptr;
  Stride stride_{};
  std::unique_ptr<List> list_;  // null: the stride form
};

}  // namespace hawser::core
