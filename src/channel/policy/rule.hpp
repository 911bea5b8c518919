// Rule: one line of a chain, `condition -> channel`, parsed and ready to be evaluated.
//
//   rule      = condition "->" channel
//   condition = "true" | term { "and" term }
//   term      = [ "not" ] fact | quantity comparison number | "size" comparison "ud_max"
//   fact      = "same_host" | "oversubscribed" | "progress_threads" | "one_copy_pays"
//
// Ownership: values; immutable once parsed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "transport/transport.hpp"

namespace hawser::channel {

/// What a condition can ask about. What holds or not is a number too: 0 or 1.
enum class Quantity : std::uint8_t {
  size,
  ranks,
  messages,
  same_host,  // from here on: what holds or not
  oversubscribed,
  progress_threads,
  one_copy_pays,
  count_
};
inline constexpr std::size_t quantity_count = static_cast<std::size_t>(Quantity::count_);
constexpr bool is_fact(Quantity quantity) { return quantity >= Quantity::same_host; }

enum class Comparison : std::uint8_t { less_equal, less, greater_equal, greater, equal };

/// The values of all quantities in one situation.
class Facts {
 public:
  std::uint64_t& operator[](Quantity quantity) {
    return values_[static_cast<std::size_t>(quantity)];
  }
  std::uint64_t operator[](Quantity quantity) const {
    return values_[static_cast<std::size_t>(quantity)];
  }

 private:
  std::array<std::uint64_t, quantity_count> values_{};
};

struct Term {
  Quantity quantity;
  Comparison comparison;
  std::uint64_t value;

  [[nodiscard]] bool holds(const Facts& facts) const;
};

struct Rule {
  std::vector<Term> terms;  // all must hold; none: `true`
  transport::ChannelKind kind;
  std::string text;  // as written, with single spaces

  [[nodiscard]] bool holds(const Facts& facts) const;
  [[nodiscard]] bool asks(Quantity quantity) const;
};

/// The rules of TEXT, one per line or `;`. NAME is the parameter's, for errors (MPI_ERR_ARG).
/// UD_MAX: what that word stands for, in bytes.
base::Result<std::vector<Rule>> parse_rules(std::string_view name, std::string_view text,
                                            std::uint64_t ud_max);

/// The values of QUANTITY, ascending and beginning with 0, at which the truth of some rule can
/// change: between two neighbours every rule is constant.
std::vector<std::uint64_t> breakpoints(const std::vector<Rule>& rules, Quantity quantity);

}  // namespace hawser::channel
