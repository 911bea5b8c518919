#include "channel/policy/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>

namespace hawser::channel {
namespace {

using enum transport::ChannelKind;

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t size_max = std::numeric_limits<std::size_t>::max();

Policy parse(std::string send_rules, const Situation& situation = {.ranks = 4},
             std::string earn_rules = "") {
  PolicySettings settings;
  settings.send_rules = std::move(send_rules);
  settings.earn_rules = std::move(earn_rules);
  Result<Policy> policy = Policy::parse(settings, situation);
  if (!policy) ADD_FAILURE() << policy.error().sentence();
  return std::move(*policy);
}

Policy parse_default(bool oversubscribed = false, bool progress_threads = false,
                     std::uint32_t ranks = 4) {
  Result<Policy> policy = Policy::parse(
      PolicySettings{},
      {.ranks = ranks, .oversubscribed = oversubscribed, .progress_threads = progress_threads});
  if (!policy) ADD_FAILURE() << policy.error().sentence();
  return std::move(*policy);
}

TEST(PolicyDefaults, ANewPeerHasTheSharedQueueForEverything) {
  Policy policy = parse_default();
  const SendTable& table = policy.table({shared_queue}, true, 0);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{448}, std::size_t{449}, size_max})
    EXPECT_EQ(table.select(bytes), shared_queue) << bytes;
}

TEST(PolicyDefaults, APeerWithARingGetsEverythingThere) {
  Policy policy = parse_default();
  const SendTable& table = policy.table({shared_queue, ring}, true, 0);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8192}, std::size_t{8193}, size_max})
    EXPECT_EQ(table.select(bytes), ring) << bytes;
}

TEST(PolicyDefaults, APeerAcrossAnAdapterGetsMoreWithWhatItEarned) {
  Policy policy = parse_default();
  const SendTable& fresh = policy.table({ud_send}, false, 0);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{2001}, size_max})
    EXPECT_EQ(fresh.select(bytes), ud_send) << bytes;
  const SendTable& direct = policy.table({ud_send, ud_zero_copy}, false, 0);
  EXPECT_EQ(direct.select(16384), ud_send);
  EXPECT_EQ(direct.select(16385), ud_zero_copy);
  EXPECT_EQ(direct.select(size_max), ud_zero_copy);
  const SendTable& connected = policy.table({ud_send, ud_zero_copy, rc_send, rc_rdma}, false, 100);
  EXPECT_EQ(connected.select(2000), ud_send) << "fits into one datagram";
  EXPECT_EQ(connected.select(2001), rc_send);
  EXPECT_EQ(connected.select(8193), rc_rdma);
  const SendTable& fast = policy.table({ud_send, rc_send, rc_rdma, rc_fast_path}, false, 100);
  EXPECT_EQ(fast.select(2048), rc_fast_path);
  EXPECT_EQ(fast.select(2049), rc_send);
  const SendTable& shared = policy.table({ud_send, ud_zero_copy, xrc_send}, false, 100);
  EXPECT_EQ(shared.select(2000), ud_send);
  EXPECT_EQ(shared.select(2001), xrc_send);
  EXPECT_EQ(shared.select(8193), ud_send);
  EXPECT_EQ(shared.select(16385), ud_zero_copy);
  const SendTable& plain = policy.table({tcp, tcp_zero_copy}, false, 0);
  EXPECT_EQ(plain.select(65536), tcp);
  EXPECT_EQ(plain.select(65537), tcp_zero_copy);
  EXPECT_EQ(policy.table({tcp}, false, 0).select(size_max), tcp) << "where all is encrypted";
  for (const transport::ChannelKind kind : {ring, rc_send, rc_fast_path})
    EXPECT_EQ(policy.earned_at(kind, false), 16U);
  EXPECT_EQ(policy.earned_at(xrc_send, false), never) << "who wants it says so";
}

TEST(Policy, AQueuePairThatAHostSharesCanBeEarnedAlone) {
  const Policy policy =
      parse("true -> xrc_send; true -> ud_send", {.ranks = 4}, "messages >= 2 -> xrc_send");
  EXPECT_EQ(policy.earned_at(xrc_send, true), 2U);
  EXPECT_EQ(policy.earned_at(rc_send, true), never);
}

TEST(PolicyDefaults, LongMessagesAreCopiedOnceBesideProgressThreads) {
  Policy policy = parse_default(false, true);
  const SendTable& earned = policy.table({shared_queue, ring, single_copy}, true, 100);
  EXPECT_EQ(earned.select(16384), ring);
  EXPECT_EQ(earned.select(16385), single_copy);
}

TEST(PolicyDefaults, LongMessagesAreCopiedOnceWhereThatPays) {
  Policy policy = parse_default();
  const SendTable& earned = policy.table({shared_queue, ring, single_copy}, true, 100);
  EXPECT_EQ(earned.select(131072), ring);
  EXPECT_EQ(earned.select_where_one_copy_pays(8192), ring);
  EXPECT_EQ(earned.select_where_one_copy_pays(16383), ring);
  EXPECT_EQ(earned.select_where_one_copy_pays(16384), single_copy);
  EXPECT_EQ(earned.select_where_one_copy_pays(size_max), single_copy);
  const SendTable& refused = policy.table({shared_queue, ring}, true, 100);
  EXPECT_EQ(refused.select_where_one_copy_pays(size_max), ring) << "where the host forbids it";
}

TEST(PolicyDefaults, LongMessagesAreCopiedOnceWhereRanksShareCores) {
  for (const bool oversubscribed : {false, true}) {
    Policy policy = parse_default(oversubscribed, false, 6);
    const SendTable& earned = policy.table({shared_queue, ring, single_copy}, true, 100);
    EXPECT_EQ(earned.select(0), ring);
    EXPECT_EQ(earned.select(16384), ring);
    EXPECT_EQ(earned.select(16385), oversubscribed ? single_copy : ring);
    EXPECT_EQ(earned.select(size_max), oversubscribed ? single_copy : ring);
    const SendTable& fresh = policy.table({shared_queue, single_copy}, true, 0);
    EXPECT_EQ(fresh.select(448), shared_queue);
    EXPECT_EQ(fresh.select(449), single_copy);
  }
}

TEST(PolicyDefaults, FewRanksThatShareCoresUseTheRingForLonger) {
  Policy policy = parse_default(true, false, 5);
  const SendTable& earned = policy.table({shared_queue, ring, single_copy}, true, 100);
  EXPECT_EQ(earned.select(65536), ring);
  EXPECT_EQ(earned.select(65537), single_copy);
}

TEST(PolicyDefaults, ThisProcessGetsFramesForWhatIsSmall) {
  Policy policy = parse_default();
  const SendTable& table = policy.table({self, single_copy}, true, 0);
  EXPECT_EQ(table.select(0), self);
  EXPECT_EQ(table.select(32768), self);
  EXPECT_EQ(table.select(32769), single_copy);
  EXPECT_EQ(policy.table({self}, true, 0).select(size_max), self);
}

TEST(PolicyDefaults, ARingIsEarnedAtSixteenMessages) {
  const Policy policy = parse_default();
  EXPECT_EQ(policy.earned_at(ring, true), 16U);
  EXPECT_EQ(policy.earned_at(shared_queue, true), never);
}

TEST(PolicyDefaults, TablesAreValidForEver) {
  Policy policy = parse_default();
  EXPECT_EQ(policy.table({shared_queue}, true, 0).valid_until_messages(), never);
}

TEST(Policy, WithoutAnApplicableRuleTheFirstChannelThatCarriesFramesIsUsed) {
  Policy policy = parse("size <= 100 -> ring; true -> shared_queue");
  const SendTable& table = policy.table({self, single_copy}, true, 0);
  EXPECT_EQ(table.select(0), self);
  EXPECT_EQ(table.select(size_max), self);
}

TEST(Policy, EndpointsWithEqualChannelsShareATable) {
  Policy policy = parse_default();
  const SendTable& first = policy.table({shared_queue, ring}, true, 0);
  for (unsigned bits = 1; bits < 1U << transport::channel_kind_count; ++bits) {
    ChannelSet channels = {shared_queue};
    for (std::size_t i = 0; i < transport::channel_kind_count; ++i)
      if ((bits >> i & 1U) != 0) channels.add(static_cast<ChannelKind>(i));
    policy.table(channels, false, bits);
  }
  EXPECT_EQ(&policy.table({shared_queue, ring}, true, 999), &first);
  EXPECT_EQ(first.select(1), ring);
}

TEST(Policy, ComparisonsMeanWhatTheySay) {
  Policy policy = parse(
      "size == 10 -> single_copy; size < 8 -> ring; size >= 1K -> ring; size > 100 -> single_copy; "
      "true -> shared_queue");
  const SendTable& table = policy.table({shared_queue, ring, single_copy}, true, 0);
  const std::pair<std::size_t, ChannelKind> expected[] = {
      {0, ring},           {7, ring},          {8, shared_queue},   {9, shared_queue},
      {10, single_copy},   {11, shared_queue}, {100, shared_queue}, {101, single_copy},
      {1023, single_copy}, {1024, ring},       {size_max, ring}};
  for (const auto& [bytes, kind] : expected) EXPECT_EQ(table.select(bytes), kind) << bytes;
}

TEST(Policy, SuffixesArePowersOf1024) {
  Policy policy = parse(
      "size <= 3K -> ring; size <= 2M -> single_copy; size <= 1G -> ring; "
      "true -> shared_queue");
  const SendTable& table = policy.table({shared_queue, ring, single_copy}, true, 0);
  EXPECT_EQ(table.select(3072), ring);
  EXPECT_EQ(table.select(3073), single_copy);
  EXPECT_EQ(table.select(2UL * 1048576), single_copy);
  EXPECT_EQ(table.select(2 * 1048576 + 1), ring);
  EXPECT_EQ(table.select(1073741824), ring);
  EXPECT_EQ(table.select(1073741825), shared_queue);
}

TEST(Policy, TheLargestNumberIsNoSpecialCase) {
  Policy policy =
      parse("size == 18446744073709551615 -> single_copy; size >= 0 -> ring; true -> shared_queue");
  const SendTable& table = policy.table({shared_queue, ring, single_copy}, true, 0);
  EXPECT_EQ(table.select(size_max), single_copy);
  EXPECT_EQ(table.select(size_max - 1), ring);
}

TEST(Policy, RanksAndHostAreKnownOnce) {
  const std::string rules =
      "ranks > 8 and same_host -> ring; not same_host -> single_copy; "
      "true -> shared_queue";
  const ChannelSet all = {shared_queue, ring, single_copy};
  Policy large = parse(rules, {.ranks = 9});
  EXPECT_EQ(large.table(all, true, 0).select(1), ring);
  EXPECT_EQ(large.table(all, false, 0).select(1), single_copy);
  Policy small = parse(rules, {.ranks = 8});
  EXPECT_EQ(small.table(all, true, 0).select(1), shared_queue);
}

TEST(Policy, MessagesSelectTheStage) {
  Policy policy = parse(
      "messages >= 10 and size <= 64 -> ring; messages == 20 -> single_copy; "
      "true -> shared_queue");
  const ChannelSet all = {shared_queue, ring, single_copy};
  const auto stage = [&](std::uint64_t messages) -> const SendTable& {
    return policy.table(all, true, messages);
  };
  EXPECT_EQ(stage(0).select(1), shared_queue);
  EXPECT_EQ(stage(9).valid_until_messages(), 10U);
  EXPECT_EQ(stage(10).select(1), ring);
  EXPECT_EQ(stage(10).select(65), shared_queue);
  EXPECT_EQ(stage(19).valid_until_messages(), 20U);
  EXPECT_EQ(stage(20).select(65), single_copy);
  EXPECT_EQ(stage(20).valid_until_messages(), 21U);
  EXPECT_EQ(stage(21).select(65), shared_queue);
  EXPECT_EQ(stage(never).valid_until_messages(), never);
  EXPECT_EQ(&stage(10), &stage(19));
}

TEST(Policy, StagesThatDifferInNothingAreOne) {
  Policy policy = parse("messages >= 10 -> ring; true -> shared_queue");
  EXPECT_EQ(policy.table({shared_queue}, true, 0).valid_until_messages(), never);
  EXPECT_EQ(policy.table({shared_queue, ring}, true, 0).valid_until_messages(), 10U);
}

TEST(Policy, EarnRulesAskForMessagesRanksAndHost) {
  const Policy policy = parse("true -> shared_queue", {.ranks = 64},
                              "messages > 100 and ranks >= 64 -> ring\n"
                              "messages >= 7 and not same_host -> ring");
  EXPECT_EQ(policy.earned_at(ring, true), 101U);
  EXPECT_EQ(policy.earned_at(ring, false), 7U);
  EXPECT_EQ(parse("true -> shared_queue", {.ranks = 63}, "messages > 100 and ranks >= 64 -> ring")
                .earned_at(ring, true),
            never);
  EXPECT_EQ(parse("true -> shared_queue", {.ranks = 4}, "true -> ring").earned_at(ring, true), 0U);
}

TEST(Policy, ChangedRulesHoldFromThenOnAndWrongOnesNever) {
  Policy policy =
      parse("size <= 8 -> ring; true -> shared_queue", {.ranks = 4, .oversubscribed = true});
  PolicySettings changed;
  changed.send_rules = "true -> ring";
  EXPECT_FALSE(policy.change(changed).ok());
  EXPECT_EQ(policy.table({shared_queue, ring}, true, 0).select(8), ring);
  changed.send_rules = "oversubscribed -> shared_queue; true -> ring; true -> copy";
  changed.earn_rules = "messages >= 5 -> ring";
  EXPECT_TRUE(policy.change(changed).ok());
  EXPECT_EQ(policy.table({shared_queue, ring}, true, 0).select(8), shared_queue);
  EXPECT_EQ(policy.earned_at(ring, true), 5U);
}

TEST(Policy, WritingIsFree) {
  const Policy policy = parse("\n size<=8K->ring ;;\n\ttrue  ->   shared_queue;\n");
  EXPECT_EQ(policy.send_rules_text(), "size <= 8K -> ring\ntrue -> shared_queue\n");
}

struct Malformed {
  const char* send_rules;
  const char* earn_rules;
  std::vector<const char*> sentence_has;
};

TEST(Policy, TheLongestMessageOfADatagramIsKnownOnceTheAdapterIs) {
  Policy policy = parse("size <= ud_max -> ud_send; true -> rc_send; true -> ud_send",
                        {.ranks = 4, .ud_max = 100});
  EXPECT_EQ(policy.table({ud_send, rc_send}, false, 0).select(101), rc_send);
  ASSERT_TRUE(policy.set_ud_max(976).ok());
  EXPECT_EQ(policy.table({ud_send, rc_send}, false, 0).select(976), ud_send);
  EXPECT_EQ(policy.table({ud_send, rc_send}, false, 0).select(977), rc_send);
  EXPECT_NE(policy.send_rules_text().find("ud_max"), std::string::npos) << "as it was written";
}

class PolicyErrors : public ::testing::TestWithParam<Malformed> {};

TEST_P(PolicyErrors, NameTheRuleTheWordAndWhatIsRight) {
  PolicySettings settings;
  settings.send_rules = GetParam().send_rules;
  settings.earn_rules = GetParam().earn_rules;
  const Result<Policy> policy = Policy::parse(settings, {.ranks = 4});
  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(policy.error().code(), static_cast<int>(base::ErrorClass::arg));
  for (const char* part : GetParam().sentence_has)
    EXPECT_NE(policy.error().sentence().find(part), std::string::npos)
        << policy.error().sentence() << " lacks " << part;
}

const char* const good = "true -> shared_queue";

INSTANTIATE_TEST_SUITE_P(
    Rules, PolicyErrors,
    ::testing::Values(
        Malformed{"true -> ud_send", "true -> rc_rdma", {"rule 1", "comes with 'rc_send'"}},
        Malformed{"true -> ud_send", "true -> ud_send", {"rule 1", "without being earned"}},
        Malformed{"true -> ud_send", "true -> ud_zero_copy", {"rule 1", "without being earned"}},
        Malformed{"true -> ud_zero_copy", "", {"must be 'true -> CHANNEL'"}},
        Malformed{"ranks <= ud_max -> ring; true -> ud_send", "", {"rule 1", "'ud_max'"}},
        Malformed{
            "true -> shared_queu", "", {"rule 1", "'shared_queu'", "did you mean 'shared_queue'"}},
        Malformed{"true -> ring; sise <= 3 -> ring; true -> shared_queue",
                  "",
                  {"channel.send_rules, rule 2 ('sise <= 3 -> ring')", "did you mean 'size'"}},
        Malformed{"size => 3 -> ring", "", {"'=>'", "<=, <, >=, >, =="}},
        Malformed{"size <= many -> ring", "", {"'many'", "a number of bytes"}},
        Malformed{"size <= -1 -> ring", "", {"'-'", "a number of bytes"}},
        Malformed{"size <= 8k -> ring", "", {"'8k'", "8K"}},
        Malformed{"size <= 8KB -> ring", "", {"'8KB'"}},
        Malformed{"size <= 18446744073709551616 -> ring", "", {"'18446744073709551616'"}},
        Malformed{"size <= 17179869184G -> ring", "", {"'17179869184G'"}},
        Malformed{"ranks <= 8K -> ring", "", {"'8K'", "a number such as"}},
        Malformed{"size <= 8 ring", "", {"'ring'", "->, and"}},
        Malformed{"true and size <= 8 -> ring", "", {"'and'", "->"}},
        Malformed{"size <= 8 and true -> ring", "", {"'true'"}},
        Malformed{"not size <= 8 -> ring", "", {"'size'", "same_host"}},
        Malformed{"size <= 8 ->", "", {"ends where", "ring"}},
        Malformed{"size <=", "", {"ends where"}},
        Malformed{"true -> ring please; true -> shared_queue", "", {"'please'", "the rule's end"}},
        Malformed{"-> ring", "", {"'->'", "true"}}, Malformed{"size § 8 -> ring", "", {"'§'"}},
        Malformed{"", "", {"must be 'true -> CHANNEL'"}},
        Malformed{"true -> shared_queue; true -> ring", "", {"ends with 'true -> ring'"}},
        Malformed{"size <= 3 -> shared_queue", "", {"must be 'true -> CHANNEL'"}},
        Malformed{
            good, "messages >= 3 -> rings", {"channel.earn_rules, rule 1", "did you mean 'ring'"}},
        Malformed{good, "size >= 3 -> ring", {"channel.earn_rules", "messages instead of size"}},
        Malformed{good, "true -> shared_queue", {"'shared_queue' is there without being earned"}},
        Malformed{"size <= 8 -> ring; size <= 4 -> ring; true -> copy",
                  "",
                  {"rule 2 ('size <= 4 -> ring') is never reached"}},
        Malformed{"same_host -> ring; not same_host -> ring; size <= 4 -> ring; true -> copy",
                  "",
                  {"rule 3 ('size <= 4 -> ring') is never reached"}},
        Malformed{"size > 18446744073709551615 -> ring; true -> copy", "", {"is never reached"}},
        Malformed{"true -> copy; true -> shared_queue", "", {"rule 2", "is never reached"}},
        Malformed{good, "true -> ring; messages >= 3 -> ring", {"rule 2", "is never reached"}},
        Malformed{
            good, "one_copy_pays -> ring", {"rule 1", "a peer earns a channel, not a message"}}));

std::uint32_t below(std::uint32_t bound, std::mt19937& random) {
  return static_cast<std::uint32_t>(random() % bound);
}

/// A random chain together with its meaning, kept apart from the parser's.
struct RandomChain {
  struct Condition {
    unsigned quantity;  // 0 size, 1 ranks, 2 messages, 3 same_host, 4 oversubscribed,
                        // 5 progress_threads, 6 one_copy_pays
    unsigned comparison;
    std::uint64_t value;
  };
  struct Line {
    std::vector<Condition> conditions;
    ChannelKind kind;
  };
  std::vector<Line> lines;

  explicit RandomChain(std::mt19937& random) {
    for (std::uint32_t i = below(8, random); i > 0; --i) {
      Line line{{}, static_cast<ChannelKind>(below(transport::channel_kind_count, random))};
      for (std::uint32_t c = below(4, random); c > 0; --c)
        line.conditions.push_back({below(fact_count, random), below(5, random), below(12, random)});
      lines.push_back(line);
    }
    lines.push_back({{}, shared_queue});
  }
  /// The text of the chain without the lines that parsing calls unreachable; nothing if the last
  /// one is among them.
  [[nodiscard]] std::optional<std::string> text_of_reachable() const {
    RandomChain chain = *this;
    for (;;) {
      PolicySettings settings;
      settings.send_rules = chain.text();
      settings.earn_rules = "";
      const Result<Policy> policy = Policy::parse(settings, {});
      if (policy.ok()) return settings.send_rules;
      const std::string& sentence = policy.error().sentence();
      const std::string before = "channel.send_rules, rule ";
      if (sentence.find("is never reached") == std::string::npos) return std::nullopt;
      chain.lines.erase(chain.lines.begin() + std::stol(sentence.substr(before.size())) - 1);
    }
  }
  [[nodiscard]] std::string text() const {
    static constexpr const char* quantities[] = {
        "size",         "ranks", "messages", "same_host", "oversubscribed", "progress_threads",
        "one_copy_pays"};
    static constexpr const char* comparisons[] = {"<=", "<", ">=", ">", "=="};
    std::string text;
    for (const Line& line : lines) {
      std::string condition;
      for (const Condition& c : line.conditions) {
        if (!condition.empty()) condition += " and ";
        if (c.quantity >= 3) {
          condition += (is_negated(c) ? "not " : "") + std::string(quantities[c.quantity]);
        } else {
          condition += std::string(quantities[c.quantity]) + comparisons[c.comparison] +
                       std::to_string(c.value);
        }
      }
      text += (condition.empty() ? "true" : condition) + "->" +
              std::string(transport::channel_name(line.kind)) + ";";
    }
    return text;
  }
  static constexpr std::uint32_t fact_count = 7;
  using Values = std::array<std::uint64_t, fact_count>;

  static bool is_negated(const Condition& c) { return c.value % 2 == 0; }
  static bool holds(const Condition& c, const Values& facts) {
    const std::uint64_t fact = facts[c.quantity];
    if (c.quantity >= 3) return (fact == 1) != is_negated(c);
    const bool results[] = {fact <= c.value, fact<c.value, fact >= c.value, fact> c.value,
                            fact == c.value};
    return results[c.comparison];
  }
  [[nodiscard]] ChannelKind select(ChannelSet channels, const Values& facts) const {
    for (const Line& line : lines) {
      const bool applies = std::all_of(line.conditions.begin(), line.conditions.end(),
                                       [&](const Condition& c) { return holds(c, facts); });
      if (applies && (channels.has(line.kind) || line.kind == copy)) return line.kind;
    }
    for (const ChannelKind kind : {self, shared_queue, ring})
      if (channels.has(kind)) return kind;
    return single_copy;
  }
};

TEST(PolicyProperty, TablesSayWhatTheChainSays) {
  int chains = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const RandomChain chain(random);
    const std::optional<std::string> text = chain.text_of_reachable();
    if (!text) continue;
    ++chains;
    const std::uint32_t ranks = below(12, random);
    const bool oversubscribed = random() % 2 == 0;
    const bool progress_threads = random() % 2 == 0;
    Policy policy = parse(
        *text,
        {.ranks = ranks, .oversubscribed = oversubscribed, .progress_threads = progress_threads});
    ChannelSet channels = {random() % 2 == 0 ? shared_queue : self};
    if (random() % 2 == 0) channels.add(ring);
    if (random() % 2 == 0) channels.add(single_copy);
    const bool same_host = random() % 2 == 0;
    // An endpoint's way through the stages: it asks for the next table when the last one ends.
    const SendTable* table = &policy.table(channels, same_host, 0);
    for (std::uint64_t messages = 0; messages < 15; ++messages) {
      if (messages >= table->valid_until_messages())
        table = &policy.table(channels, same_host, messages);
      EXPECT_EQ(table, &policy.table(channels, same_host, messages));
      for (std::uint64_t bytes = 0; bytes < 15; ++bytes)
        for (const bool pays : {false, true})
          ASSERT_EQ(pays ? table->select_where_one_copy_pays(bytes) : table->select(bytes),
                    chain.select(channels, {bytes, ranks, messages, same_host, oversubscribed,
                                            progress_threads, pays}))
              << "seed " << seed << ", " << bytes << " bytes, " << messages << " messages, chain "
              << chain.text();
    }
  }
  EXPECT_GT(chains, 300);
}

}  // namespace
}  // namespace hawser::channel
