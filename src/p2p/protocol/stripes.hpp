// How a long message is shared out among the rails to its peer.
//
// By bandwidth: when all pieces leave at once, each rail takes its share; when blocks leave one
// after another, the rail that has least under way for its bandwidth takes the next, so that one
// that ends blocks sooner gets more of them.
//
// A link of another network (Endpoint::side_link) counts as one rail more, behind all others: what
// crosses it the processor copies, so that the adapters are to be busy before it begins.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/transport.hpp"

namespace hawser::p2p {

struct StripeRail {
  std::uint8_t number;
  std::uint64_t megabits_per_second;  // at least 1
  std::uint64_t under_way_bytes = 0;
};

/// The number of the one that is a link of another network.
inline constexpr std::uint8_t side_rail = transport::rails_max;

/// Rails that serve one message.
class StripeRails {
 public:
  void add(std::uint8_t number, std::uint64_t bits_per_second) {
    constexpr std::uint64_t megabit = 1'000'000;
    add({number, std::max<std::uint64_t>(bits_per_second / megabit, 1), 0});
  }
  void add(const StripeRail& rail) { rails_[count_++] = rail; }
  void drop_first() {
    std::ranges::copy(rails().subspan(1), rails_.begin());
    --count_;
  }
  [[nodiscard]] std::span<StripeRail> rails() { return std::span(rails_).first(count_); }
  [[nodiscard]] std::span<const StripeRail> rails() const {
    return std::span(rails_).first(count_);
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::array<StripeRail, transport::rails_max + 1> rails_{};
  std::size_t count_ = 0;
};

/// What the first of RAILS takes of BYTES that all of them take together; the last one takes all.
constexpr std::uint64_t share_of_first(std::span<const StripeRail> rails, std::uint64_t bytes) {
  constexpr std::uint64_t unit = 4096;  // pieces begin at pages of the message
  if (rails.size() == 1) return bytes;
  std::uint64_t sum = 0;
  for (const StripeRail& each : rails) sum += each.megabits_per_second;
  const std::uint64_t share = bytes / sum * rails.front().megabits_per_second +
                              bytes % sum * rails.front().megabits_per_second / sum;
  return std::min((share + unit - 1) / unit * unit, bytes);
}

/// The one of RAILS, of which there is one, that has least under way for its bandwidth.
constexpr const StripeRail& least_loaded(std::span<const StripeRail> rails) {
  return *std::ranges::min_element(rails, [](const StripeRail& a, const StripeRail& b) {
    return a.under_way_bytes * b.megabits_per_second < b.under_way_bytes * a.megabits_per_second;
  });
}

}  // namespace hawser::p2p
