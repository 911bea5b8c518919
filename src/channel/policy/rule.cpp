#include "channel/policy/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/closest_match.hpp"

namespace hawser::channel {

using base::Error;
using base::ErrorClass;
using base::Result;
using transport::ChannelKind;

namespace {

constexpr std::uint64_t value_max = std::numeric_limits<std::uint64_t>::max();
constexpr std::string_view blanks = " \t\r\n";
constexpr std::string_view operator_characters = "<>=!-";

using Tokens = std::vector<std::string_view>;

/// Operators need no blanks around them: "size<=8K->ring" has five words.
Tokens split(std::string_view text) {
  Tokens tokens;
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;
       at = text.find_first_not_of(blanks, at)) {
    const bool is_operator = operator_characters.find(text[at]) != std::string_view::npos;
    std::size_t end = at;
    while (end < text.size() && blanks.find(text[end]) == std::string_view::npos &&
           (operator_characters.find(text[end]) != std::string_view::npos) == is_operator)
      ++end;
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

/// A decimal number, with a suffix K, M or G (powers of 1024) if WITH_SUFFIX.
std::optional<std::uint64_t> parse_number(std::string_view word, bool with_suffix) {
  std::uint64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, status] = std::from_chars(word.data(), end, number);
  if (status != std::errc()) return std::nullopt;
  if (rest == end) return number;
  const std::size_t power = std::string_view("KMG").find(*rest);
  if (!with_suffix || rest + 1 != end || power == std::string_view::npos) return std::nullopt;
  const std::size_t shift = 10 * (power + 1);
  if (number > (value_max >> shift)) return std::nullopt;
  return number << shift;
}

/// Reads one rule, word by word; the first word that does not fit ends it with an error.
class RuleParser {
 public:
  RuleParser(std::string_view name, std::size_t number, std::string_view text, std::uint64_t ud_max)
      : name_(name),
        number_(number),
        ud_max_(ud_max),
        tokens_(split(text)),
        text_(fmt::to_string(fmt::join(tokens_, " "))) {}

  Result<Rule> parse() {
    Rule rule{{}, ChannelKind::count_, text_};
    if (next() == "true") {
      take();
    } else {
      HAWSER_TRY(parse_condition(&rule.terms));
    }
    if (take() != "->") {
      if (rule.terms.empty()) return refuse({"->"});
      return refuse({"->", "and"});
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < transport::channel_kind_count; ++i) {
      const auto kind = static_cast<ChannelKind>(i);
      names.emplace_back(transport::channel_name(kind));
      if (names.back() == next()) rule.kind = kind;
    }
    take();
    if (rule.kind == ChannelKind::count_) return refuse(names);
    if (at_ < tokens_.size()) {
      take();
      return refuse({"the rule's end (';' or a new line)"});
    }
    return rule;
  }

 private:
  Result<void> parse_condition(std::vector<Term>* terms) {
    for (;;) {
      Result<Term> term = parse_term(terms->empty());
      if (!term) return term.take_error();
      terms->push_back(*term);
      if (next() != "and") return {};
      take();
    }
  }

  /// What is true or not, and stands without a number.
  static constexpr std::array<std::pair<std::string_view, Quantity>, 4> facts = {{
      {"same_host", Quantity::same_host},
      {"oversubscribed", Quantity::oversubscribed},
      {"progress_threads", Quantity::progress_threads},
      {"one_copy_pays", Quantity::one_copy_pays},
  }};
  static std::optional<Quantity> fact_of(std::string_view word) {
    const auto* const found = std::ranges::find(facts, word, &decltype(facts)::value_type::first);
    if (found == facts.end()) return std::nullopt;
    return found->second;
  }
  static std::vector<std::string> fact_names() {
    std::vector<std::string> names;
    for (const auto& [name, fact] : facts) names.emplace_back(name);
    return names;
  }

  Result<Term> parse_term(bool is_first) {
    const std::string_view word = take();
    if (const auto fact = fact_of(word)) return Term{*fact, Comparison::equal, 1};
    if (word == "not") {
      const auto fact = fact_of(take());
      if (!fact) return refuse(fact_names());
      return Term{*fact, Comparison::equal, 0};
    }
    Term term{};
    if (word == "size") {
      term.quantity = Quantity::size;
    } else if (word == "ranks") {
      term.quantity = Quantity::ranks;
    } else if (word == "messages") {
      term.quantity = Quantity::messages;
    } else {
      std::vector<std::string> expected = {"size", "ranks", "messages"};
      std::ranges::move(fact_names(), std::back_inserter(expected));
      expected.emplace_back("not");
      if (is_first) expected.emplace_back("true");
      return refuse(expected);
    }
    static const std::vector<std::string> comparisons = {"<=", "<", ">=", ">", "=="};
    const auto comparison = std::find(comparisons.begin(), comparisons.end(), take());
    if (comparison == comparisons.end()) return refuse(comparisons);
    term.comparison = static_cast<Comparison>(comparison - comparisons.begin());
    const bool is_size = term.quantity == Quantity::size;
    const std::string_view number = take();
    const std::optional<std::uint64_t> value =
        is_size && number == "ud_max" ? ud_max_ : parse_number(number, is_size);
    if (!value)
      return refuse(
          {is_size ? "a number of bytes such as 8192, 8K or ud_max" : "a number such as 16"});
    term.value = *value;
    return term;
  }

  [[nodiscard]] std::string_view next() const {
    return at_ < tokens_.size() ? tokens_[at_] : std::string_view();
  }
  std::string_view take() {
    taken_ = next();
    ++at_;
    return taken_;
  }
  /// The word that was taken last is none of EXPECTED.
  [[nodiscard]] Error refuse(const std::vector<std::string>& expected) const {
    const std::string place = fmt::format("{}, rule {} ('{}')", name_, number_, text_);
    const std::string right = fmt::to_string(fmt::join(expected, ", "));
    if (taken_.empty())
      return {ErrorClass::arg,
              fmt::format("{} ends where it should go on with one of: {}", place, right)};
    return {ErrorClass::arg, fmt::format("{}: '{}' is not one of: {}{}", place, taken_, right,
                                         base::did_you_mean(taken_, expected))};
  }

  std::string_view name_;
  std::size_t number_;
  std::uint64_t ud_max_;
  Tokens tokens_;
  std::string text_;
  std::size_t at_ = 0;
  std::string_view taken_;
};

}  // namespace

bool Term::holds(const Facts& facts) const {
  const std::uint64_t fact = facts[quantity];
  switch (comparison) {
    case Comparison::less_equal:
      return fact <= value;
    case Comparison::less:
      return fact < value;
    case Comparison::greater_equal:
      return fact >= value;
    case Comparison::greater:
      return fact > value;
    case Comparison::equal:
      return fact == value;
  }
  return false;
}

bool Rule::holds(const Facts& facts) const {
  return std::all_of(terms.begin(), terms.end(),
                     [&](const Term& term) { return term.holds(facts); });
}

bool Rule::asks(Quantity quantity) const {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const Term& term) { return term.quantity == quantity; });
}

Result<std::vector<Rule>> parse_rules(std::string_view name, std::string_view text,
                                      std::uint64_t ud_max) {
  std::vector<Rule> rules;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(";\n", at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(blanks) == std::string_view::npos) continue;
    Result<Rule> rule = RuleParser(name, rules.size() + 1, line, ud_max).parse();
    if (!rule) return rule.take_error();
    rules.push_back(std::move(*rule));
  }
  return rules;
}

std::vector<std::uint64_t> breakpoints(const std::vector<Rule>& rules, Quantity quantity) {
  std::vector<std::uint64_t> points = {0};
  for (const Rule& rule : rules) {
    for (const Term& term : rule.terms) {
      if (term.quantity != quantity) continue;
      const bool changes_at =
          term.comparison != Comparison::less_equal && term.comparison != Comparison::greater;
      const bool changes_behind =
          term.comparison != Comparison::less && term.comparison != Comparison::greater_equal;
      if (changes_at) points.push_back(term.value);
      if (changes_behind && term.value < value_max) points.push_back(term.value + 1);
    }
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

}  // namespace hawser::channel
