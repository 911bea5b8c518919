#include "channel/endpoint/delivery_channels.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hawser::channel {
namespace {

using transport::ChannelKind;

Result<DeliveryChannels> parse(const std::string& crc, const std::string& acknowledged = "needed") {
  AssuranceSettings settings;
  settings.crc = crc;
  settings.acknowledged = acknowledged;
  return DeliveryChannels::parse(settings);
}

TEST(DeliveryChannels, ByDefaultAreNone) {
  const auto parsed = DeliveryChannels::parse({});
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->checked.empty());
  EXPECT_TRUE(parsed->acknowledged.empty());
  EXPECT_FALSE(parsed->need_assurance());
}

TEST(DeliveryChannels, OnIsEveryChannelThatLeavesThisProcess) {
  const auto parsed = parse("on", "on");
  ASSERT_TRUE(parsed.ok());
  for (const ChannelKind kind : {ChannelKind::ring, ChannelKind::ud_send, ChannelKind::rc_rdma}) {
    EXPECT_TRUE(parsed->checked.has(kind));
    EXPECT_TRUE(parsed->acknowledged.has(kind));
  }
  EXPECT_TRUE(parsed->checked.has(ChannelKind::single_copy));
  EXPECT_FALSE(parsed->acknowledged.has(ChannelKind::single_copy)) << "it has no frames";
  EXPECT_FALSE(parsed->checked.has(ChannelKind::self));
  EXPECT_TRUE(parsed->of_link({ChannelKind::self, ChannelKind::single_copy}).checked.empty());
}

TEST(DeliveryChannels, AreAList) {
  const auto parsed = parse(" ud_send, rc_send", "ring");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->checked, (ChannelSet{ChannelKind::ud_send, ChannelKind::rc_send}));
  EXPECT_EQ(parsed->acknowledged, ChannelSet{ChannelKind::ring});
}

TEST(DeliveryChannels, ConcernALinkByTheChannelsThatItMayHave) {
  const ChannelSet of_host{ChannelKind::shared_queue, ChannelKind::ring, ChannelKind::single_copy};
  EXPECT_FALSE(parse("ud_send")->of_link(of_host).need_assurance());
  EXPECT_TRUE(parse("ud_send,ring")->of_link(of_host).need_assurance());
  EXPECT_TRUE(parse("off", "shared_queue")->of_link(of_host).need_assurance());
  const DeliveryChannels copies = parse("single_copy")->of_link(of_host);
  EXPECT_EQ(copies.checked, ChannelSet{ChannelKind::single_copy});
  EXPECT_FALSE(copies.need_assurance()) << "what fails comes by frames that are not checked";
}

TEST(DeliveryChannels, RefuseWhatIsNoneInOneSentence) {
  const auto sentence = [](const Result<DeliveryChannels>& parsed) {
    return parsed.ok() ? "" : parsed.error().sentence();
  };
  EXPECT_EQ(sentence(parse("rings")),
            "delivery.crc: 'rings' is none of off, on, shared_queue, ring, single_copy, ud_send, "
            "rc_send, rc_fast_path, rc_rdma, ud_zero_copy, xrc_send, tcp, "
            "tcp_zero_copy; did you mean 'ring'?");
  EXPECT_FALSE(parse("ring,,ud_send").ok());
  EXPECT_FALSE(parse("self").ok());
  EXPECT_FALSE(parse("").ok());
  EXPECT_FALSE(parse("ring,on").ok());
  EXPECT_FALSE(parse("off", "single_copy").ok());
  AssuranceSettings settings;
  settings.flip_one_in = 1;
  EXPECT_FALSE(DeliveryChannels::parse(settings).ok());
}

}  // namespace
}  // namespace hawser::channel
