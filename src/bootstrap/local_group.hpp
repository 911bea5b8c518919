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
  /// A group with room for SIZE processes, of which this one has place 0.
  static Result<LocalGroup> lead(std::uint32_t size);
  /// The group of whoever made OFFER, in PLACE of its SIZE. An error: it is not for us.
  static Result<LocalGroup> join(const HostOffer& offer, std::uint32_t place, std::uint32_t size);

  /// Which entry of the segment is this process's.
  [[nodiscard]] std::uint32_t place() const { return place_; }
  [[nodiscard]] std::uint32_t size() const { return segment_.facts().size; }
  [[nodiscard]] const JobSegment& segment() const { return segment_; }
  /// For the others, who are to join.
  [[nodiscard]] HostOffer offer() const;

  /// Somebody is in PLACE.
  [[nodiscard]] bool has_joined(std::uint32_t place) const;
  [[nodiscard]] ProcessEntry& own_entry() const { return segment_.entry(place_); }

  /// Tells the others which cores this process may use.
  [[nodiscard]] Result<void> share_cores() const;
  /// How many cores all have together that have told so; the same number in each of them after a
  /// barrier.
  [[nodiscard]] int shared_cores() const;

 private:
  LocalGroup(JobSegment segment, std::uint32_t place)
      : segment_(std::move(segment)), place_(place) {}
  /// False if somebody else is there.
  [[nodiscard]] bool claim_entry() const;

  JobSegment segment_;
  std::uint32_t place_;
};

}  // namespace hawser::bootstrap
