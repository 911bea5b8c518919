// LocalGroup: those processes of a job that really share this host, and the memory that they have
// in common from the start, where no launcher made it for them.
//
// The first of those that the launcher claims to be here makes a JobSegment and offers it; the
// others open it. *That succeeding is "same host"*: who cannot, or lives in other name spaces, is
// in a group of its own.
//
// Ownership: owns the segment. Threads: as JobSegment.
// Invariant: a process stands in its entry from the start of its life in the group; who does not is
//            not in it. Nothing is waited for here: a barrier lies between joining and looking.
#pragma once

#include <cstdint>

#include "bootstrap/host_offer.hpp"
#include "bootstrap/job_segment.hpp"

namespace hawser::bootstrap {

class LocalGroup {
 public:
  /// A group with room for SIZE processes, of which this one is number 0.
  static Result<LocalGroup> lead(std::uint32_t size);
  /// The group of whoever made OFFER, as number LOCAL_RANK of SIZE. An error: it is not for us.
  static Result<LocalGroup> join(const HostOffer& offer, std::uint32_t local_rank,
                                 std::uint32_t size);

  [[nodiscard]] std::uint32_t local_rank() const { return local_rank_; }
  [[nodiscard]] std::uint32_t size() const { return segment_.facts().size; }
  [[nodiscard]] const JobSegment& segment() const { return segment_; }
  /// For the others, who are to join.
  [[nodiscard]] HostOffer offer() const;

  [[nodiscard]] bool has_joined(std::uint32_t local_rank) const;
  [[nodiscard]] bool have_all_joined() const;
  [[nodiscard]] ProcessEntry& own_entry() const { return segment_.entry(local_rank_); }

  /// Tells the others which cores this process may use.
  [[nodiscard]] Result<void> share_cores() const;
  /// How many cores all have together that have told so; the same number in each of them after a
  /// barrier.
  [[nodiscard]] int shared_cores() const;

 private:
  LocalGroup(JobSegment segment, std::uint32_t local_rank)
      : segment_(std::move(segment)), local_rank_(local_rank) {}
  /// False if somebody else is that number.
  [[nodiscard]] bool claim_entry() const;

  JobSegment segment_;
  std::uint32_t local_rank_;
};

}  // namespace hawser::bootstrap
