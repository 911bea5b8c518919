#include "channel/policy/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "channel/policy/rule.hpp"

namespace hawser::channel {

using base::Error;
using base::ErrorClass;

namespace {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

/// Who has it: `copy` needs but some channel that carries frames.
bool is_there(ChannelSet channels, ChannelKind kind) {
  return kind == ChannelKind::copy || channels.has(kind);
}

/// The situations between which no rule of RULES can tell, given to VISIT(const Facts&) until that
/// returns true; true if it did.
template <class Visit>
bool any_situation(const std::vector<Rule>& rules, Facts& facts, std::size_t quantity,
                   Visit&& visit) {
  if (quantity == quantity_count) return visit(facts);
  const auto each = static_cast<Quantity>(quantity);
  return std::ranges::any_of(breakpoints(rules, each), [&](std::uint64_t value) {
    facts[each] = value;
    return !(is_fact(each) && value > 1) && any_situation(rules, facts, quantity + 1, visit);
  });
}

/// Some message to some peer is the first of RULES to hold for rule NUMBER: no rule before it that
/// is there whenever it is takes them all.
bool is_reachable(const std::vector<Rule>& rules, std::size_t number) {
  const Rule& rule = rules[number];
  std::vector<Rule> before;
  for (std::size_t i = 0; i < number; ++i)
    if (is_there({rule.kind}, rules[i].kind)) before.push_back(rules[i]);
  before.push_back(rule);
  Facts facts;
  return any_situation(before, facts, 0, [&](const Facts& situation) {
    const auto first =
        std::ranges::find_if(before, [&](const Rule& each) { return each.holds(situation); });
    return first == before.end() - 1;
  });
}

Result<void> check_reachable(std::string_view name, const std::vector<Rule>& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (!is_reachable(rules, i))
      return Error(ErrorClass::arg,
                   fmt::format("{}, rule {} ('{}') is never reached: nothing meets its condition, "
                               "or the rules before it take all that does; move it up, or remove "
                               "it",
                               name, i + 1, rules[i].text));
  return {};
}

/// The last rule holds for every message to every peer of some transport.
Result<void> check_send_rules(const std::vector<Rule>& rules) {
  constexpr std::array last = {ChannelKind::shared_queue, ChannelKind::ud_send, ChannelKind::tcp,
                               ChannelKind::copy};
  if (rules.empty() || !rules.back().terms.empty() ||
      std::ranges::find(last, rules.back().kind) == last.end())
    return Error(ErrorClass::arg,
                 fmt::format("channel.send_rules ends with '{}'; the last rule must be 'true -> "
                             "CHANNEL' with a channel that every peer has: shared_queue, ud_send, "
                             "tcp or copy",
                             rules.empty() ? "" : rules.back().text));
  return check_reachable("channel.send_rules", rules);
}

Result<void> check_earn_rules(const std::vector<Rule>& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    const auto refuse = [&](std::string_view why) {
      return Error(ErrorClass::arg,
                   fmt::format("channel.earn_rules, rule {} ('{}'): {}", i + 1, rule.text, why));
    };
    if (rule.asks(Quantity::size))
      return refuse("a peer earns a channel, not a message; ask for messages instead of size");
    if (rule.asks(Quantity::one_copy_pays))
      return refuse(
          "a peer earns a channel, not a message; whether one copy pays is asked of each");
    if (rule.kind == ChannelKind::rc_rdma) return refuse("'rc_rdma' comes with 'rc_send'");
    if (std::ranges::find(transport::earned_kinds, rule.kind) == transport::earned_kinds.end())
      return refuse(
          fmt::format("'{}' is there without being earned; earned are ring, rc_send, "
                      "rc_fast_path and xrc_send",
                      transport::channel_name(rule.kind)));
  }
  return check_reachable("channel.earn_rules", rules);
}

std::string text_of(const std::vector<Rule>& rules) {
  std::string text;
  for (const Rule& rule : rules) text += rule.text + '\n';
  return text;
}

/// Where no rule applies: the first channel that carries frames.
ChannelKind last_resort(ChannelSet channels) {
  for (std::size_t i = 0; i < transport::channel_kind_count; ++i) {
    const auto kind = static_cast<ChannelKind>(i);
    if (channels.has(kind) && transport::carries_frames(kind)) return kind;
  }
  base::assertion_failed("a peer has a channel that carries frames", __FILE__, __LINE__);
}

}  // namespace

struct Policy::State {
  PolicySettings settings;
  std::vector<Rule> send_rules;
  std::vector<Rule> earn_rules;
  Situation fixed;
  std::vector<std::uint64_t> sizes;   // breakpoints of the send rules
  std::vector<std::uint64_t> stages;  // likewise, by messages

  /// The tables of one channel set and same_host, by ascending valid_until_messages; the last one
  /// holds for ever. Never changed once made: endpoints point into it.
  using Tables = std::vector<SendTable>;
  std::map<std::pair<std::uint32_t, bool>, Tables> compiled;

  [[nodiscard]] ChannelKind evaluate(ChannelSet channels, const Facts& facts) const {
    for (const Rule& rule : send_rules)
      if (is_there(channels, rule.kind) && rule.holds(facts)) return rule.kind;
    return last_resort(channels);
  }
  [[nodiscard]] Facts facts(bool same_host) const {
    Facts facts;
    facts[Quantity::ranks] = fixed.ranks;
    facts[Quantity::oversubscribed] = fixed.oversubscribed ? 1 : 0;
    facts[Quantity::progress_threads] = fixed.progress_threads ? 1 : 0;
    facts[Quantity::same_host] = same_host ? 1 : 0;
    return facts;
  }

  [[nodiscard]] SendTable::Classes classes(ChannelSet channels, Facts facts) const;
  [[nodiscard]] Tables compile(ChannelSet channels, bool same_host) const;
};

SendTable::Classes Policy::State::classes(ChannelSet channels, Facts facts) const {
  std::vector<SendTable::Class> classes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    facts[Quantity::size] = sizes[i];
    const ChannelKind kind = evaluate(channels, facts);
    const std::size_t bytes_max = i + 1 < sizes.size() ? sizes[i + 1] - 1 : never;
    if (!classes.empty() && classes.back().kind == kind) {
      classes.back().bytes_max = bytes_max;
    } else {
      classes.push_back({bytes_max, kind});
    }
  }
  return {std::move(classes)};
}

Policy::State::Tables Policy::State::compile(ChannelSet channels, bool same_host) const {
  Tables tables;
  Facts situation = facts(same_host);
  for (const std::uint64_t stage : stages) {
    situation[Quantity::messages] = stage;
    SendTable table;
    situation[Quantity::one_copy_pays] = 0;
    table.classes_ = classes(channels, situation);
    situation[Quantity::one_copy_pays] = 1;
    table.classes_where_one_copy_pays_ = classes(channels, situation);
    if (!tables.empty()) {
      const SendTable& before = tables.back();
      if (before.classes_ == table.classes_ &&
          before.classes_where_one_copy_pays_ == table.classes_where_one_copy_pays_)
        continue;
      tables.back().valid_until_messages_ = stage;
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

Policy::Policy(std::unique_ptr<State> state) : state_(std::move(state)) {}
Policy::~Policy() = default;
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;

Result<Policy> Policy::parse(const PolicySettings& settings, const Situation& situation) {
  auto state = std::make_unique<State>();
  Result<std::vector<Rule>> send =
      parse_rules("channel.send_rules", settings.send_rules, situation.ud_max);
  if (!send) return send.take_error();
  HAWSER_TRY(check_send_rules(*send));
  Result<std::vector<Rule>> earn =
      parse_rules("channel.earn_rules", settings.earn_rules, situation.ud_max);
  if (!earn) return earn.take_error();
  HAWSER_TRY(check_earn_rules(*earn));
  state->send_rules = std::move(*send);
  state->earn_rules = std::move(*earn);
  state->settings = settings;
  state->fixed = situation;
  state->sizes = breakpoints(state->send_rules, Quantity::size);
  state->stages = breakpoints(state->send_rules, Quantity::messages);
  return Policy(std::move(state));
}

Result<void> Policy::change(const PolicySettings& settings) {
  Result<Policy> changed = parse(settings, state_->fixed);
  if (!changed) return changed.take_error();
  *this = std::move(*changed);
  return {};
}

Result<void> Policy::set_ud_max(std::uint64_t bytes) {
  state_->fixed.ud_max = bytes;
  const PolicySettings settings = state_->settings;
  return change(settings);
}

const SendTable& Policy::table(ChannelSet channels, bool same_host, std::uint64_t messages) {
  const auto [found, is_new] = state_->compiled.try_emplace({channels.bits(), same_host});
  State::Tables& tables = found->second;
  if (is_new) tables = state_->compile(channels, same_host);
  const auto table = std::find_if(tables.begin(), tables.end() - 1, [&](const SendTable& t) {
    return messages < t.valid_until_messages();
  });
  return *table;
}

std::uint64_t Policy::earned_at(ChannelKind kind, bool same_host) const {
  Facts situation = state_->facts(same_host);
  for (const std::uint64_t messages : breakpoints(state_->earn_rules, Quantity::messages)) {
    situation[Quantity::messages] = messages;
    for (const Rule& rule : state_->earn_rules)
      if (rule.kind == kind && rule.holds(situation)) return messages;
  }
  return never;
}

std::string Policy::send_rules_text() const { return text_of(state_->send_rules); }
std::string Policy::earn_rules_text() const { return text_of(state_->earn_rules); }

}  // namespace hawser::channel
