// Claims on parts of messages that two processes copy jointly: the receiver copies one part out of
// the sender's memory while the sender copies the other into the receiver's. The sender may be busy
// elsewhere, so the receiver does not wait for it: it gives a claim on the part, which the sender
// takes before it writes anything, and which the receiver withdraws if nobody has taken it for
// long. Each says what it does in a line of its own and looks at the other's then: so of the two at
// most one goes on, and where none is late no line changes hands for it. If each sees the other the
// sender steps back, and says so.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/cache_line.hpp"

namespace hawser::hostmem {

/// A claim, as the receiver names it to the sender. No name is given twice.
///
///    31                                              4 3        0
///   +-------------------------------------------------+----------+
///   | number, of those given; not 0                   | slot     |
///   +-------------------------------------------------+----------+
using JointClaim = std::uint32_t;

struct JointWords {
  static constexpr std::size_t claims_max = 14;
  using Claims = std::array<std::atomic<JointClaim>, claims_max>;  // the last one of each slot

  // Written by the receiver.
  /// It would be asked for messages of at least so many bytes before they are sent; 0: for none.
  alignas(base::cache_line_bytes) std::atomic<std::uint32_t> asked_from_bytes;
  /// What it tries now: JointCopyChoice::trial_word().
  std::atomic<std::uint32_t> trial;
  Claims withdrawn;

  // Written by the sender.
  alignas(base::cache_line_bytes) Claims taken;
};
static_assert(sizeof(JointWords) == 2 * base::cache_line_bytes);

namespace joint_claims {
inline constexpr unsigned slot_bits = 4;
constexpr std::size_t slot_of(JointClaim claim) { return claim & ((1U << slot_bits) - 1); }

/// Of one slot: CLAIM was given after EARLIER. Numbers begin again; refresh_after keeps them near.
constexpr bool is_later(JointClaim claim, JointClaim earlier) {
  return static_cast<std::int32_t>(claim - earlier) > 0;
}
/// A slot's word of withdrawn claims is brought forward when it is so far behind.
inline constexpr JointClaim refresh_after = 1U << 30;
/// The sender's: whether the part is its own to write. If not, and it is not a claim that nobody
/// can have given, the receiver may wait to hear that. A sender that comes late may find a later
/// claim withdrawn, where its own was before.
inline bool take(JointWords& words, JointClaim claim) {
  const std::size_t slot = slot_of(claim);
  if (slot >= JointWords::claims_max) return false;
  words.taken[slot].store(claim, std::memory_order_seq_cst);
  return is_later(claim, words.withdrawn[slot].load(std::memory_order_seq_cst));
}
}  // namespace joint_claims

/// The receiver's claims.
class JointClaims {
 public:
  /// GIVEN: the number of the last claim.
  explicit JointClaims(std::uint32_t given = 0) : number_(given) {}
  /// None if all are in use.
  std::optional<JointClaim> give(JointWords& words) {
    for (std::size_t slot = 0; slot < JointWords::claims_max; ++slot) {
      if (used_[slot] != 0) continue;
      number_ = number_ % number_max + 1;
      const JointClaim claim = number_ << joint_claims::slot_bits | static_cast<JointClaim>(slot);
      std::atomic<JointClaim>& withdrawn = words.withdrawn[slot];
      if (claim - withdrawn.load(std::memory_order_relaxed) > joint_claims::refresh_after)
        withdrawn.store(claim - (1U << joint_claims::slot_bits), std::memory_order_relaxed);
      return used_[slot] = claim;
    }
    return std::nullopt;
  }
  /// Whether the part is this process's own to copy: the sender has not taken it, and will not.
  /// Else it has, or steps back and says so. Once for each.
  static bool withdraw(JointWords& words, JointClaim claim) {
    const std::size_t slot = joint_claims::slot_of(claim);
    words.withdrawn[slot].store(claim, std::memory_order_seq_cst);
    return words.taken[slot].load(std::memory_order_seq_cst) != claim;
  }
  /// The part is there.
  void close(JointClaim claim) { used_[joint_claims::slot_of(claim)] = 0; }
  /// The sender has taken one that is not closed.
  [[nodiscard]] bool is_any_taken(const JointWords& words) const {
    for (std::size_t slot = 0; slot < JointWords::claims_max; ++slot)
      if (used_[slot] != 0 && words.taken[slot].load(std::memory_order_relaxed) == used_[slot])
        return true;
    return false;
  }

 private:
  static constexpr std::uint32_t number_max =
      (std::uint32_t{1} << (32 - joint_claims::slot_bits)) - 1;
  std::array<JointClaim, JointWords::claims_max> used_{};  // 0: none
  std::uint32_t number_;
};

}  // namespace hawser::hostmem
