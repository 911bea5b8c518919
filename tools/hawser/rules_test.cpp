#include "hawser/rules.hpp"

#include <gtest/gtest.h>

namespace hawser::tools {
namespace {

TEST(RulesTest, BothChainsAreNumbered) {
  channel::PolicySettings settings;
  settings.send_rules = "size<=8192 and not  same_host->ring; true -> copy";
  settings.earn_rules = "messages >= 3 -> ring";
  const auto text = rules_text(settings);
  ASSERT_TRUE(text.ok()) << text.error().sentence();
  EXPECT_EQ(
      *text,
      R"(Which channel carries a message: the first rule that holds, and whose channel the peer has
(channel.send_rules)
  rule  condition                       channel
     1  size <= 8192 and not same_host  ring
     2  true                            copy

When a peer earns a channel of its own (channel.earn_rules)
  rule  condition      channel
     1  messages >= 3  ring
)");
}

TEST(RulesTest, AnEmptyChainSaysSo) {
  channel::PolicySettings settings;
  settings.earn_rules = "";
  const auto text = rules_text(settings);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("(channel.earn_rules)\n  no rules\n"), std::string::npos);
}

TEST(RulesTest, AWrongRuleIsAnError) {
  channel::PolicySettings settings;
  settings.send_rules = "true -> rings";
  const auto text = rules_text(settings);
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().sentence().find("'rings'"), std::string::npos);
}

}  // namespace
}  // namespace hawser::tools
