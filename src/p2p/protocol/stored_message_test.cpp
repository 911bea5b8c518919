#include "p2p/protocol/stored_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hawser::p2p {
namespace {

std::vector<std::byte> bytes_of(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::ranges::generate(bytes, [i = 0]() mutable { return static_cast<std::byte>(++i); });
  return bytes;
}

std::size_t kept_by(const memory::Ledger& ledger) {
  return static_cast<std::size_t>(ledger.current_bytes(memory::Account::requests));
}

TEST(StoredMessage, KeepsEveryLength) {
  for (std::size_t count = 0; count < 100; ++count) {
    const std::vector<std::byte> payload = bytes_of(count);
    StoredMessage message;
    message.keep(payload, 0);
    EXPECT_TRUE(std::ranges::equal(message.payload(), payload)) << count;
    EXPECT_EQ(message.total_bytes(), count);
    EXPECT_LE(message.kept_bytes(), sizeof(StoredMessage) + count);
  }
}

TEST(StoredMessage, GrowsWhileMoreIsToFollow) {
  const std::vector<std::byte> payload = bytes_of(90);
  StoredMessage message;
  message.frame_class = wire::FrameClass::stream;
  message.rendezvous.total = payload.size();
  message.keep(std::span(payload).first(4), payload.size() - 4);
  const std::byte* const place = message.payload().data();
  for (std::size_t at = 4; at < payload.size(); ++at)
    message.append(std::span(payload).subspan(at, 1));
  EXPECT_TRUE(std::ranges::equal(message.payload(), payload));
  EXPECT_EQ(message.payload().data(), place) << "what is to come has its place from the start";
  EXPECT_EQ(message.kept_bytes(), sizeof(StoredMessage) + payload.size());
}

TEST(StoredMessages, GiveOutWhatCameBackAsNew) {
  memory::Ledger ledger;
  StoredMessages messages(ledger);
  std::unique_ptr<StoredMessage> message = messages.take();
  const StoredMessage* const place = message.get();
  message->keep(bytes_of(1000), 0);
  messages.give_back(std::move(message));
  EXPECT_EQ(kept_by(ledger), sizeof(StoredMessage));
  message = messages.take();
  EXPECT_EQ(message.get(), place);
  EXPECT_EQ(kept_by(ledger), 0U);
  message->keep(bytes_of(3), 0);
  EXPECT_EQ(message->kept_bytes(), sizeof(StoredMessage));
  EXPECT_TRUE(std::ranges::equal(message->payload(), bytes_of(3)));
}

TEST(StoredMessages, KeepNoMoreThanTheirBound) {
  memory::Ledger ledger;
  {
    StoredMessages messages(ledger);
    for (std::size_t i = 0; i <= StoredMessages::kept_max; ++i)
      messages.give_back(std::make_unique<StoredMessage>());
    EXPECT_EQ(kept_by(ledger), StoredMessages::kept_max * sizeof(StoredMessage));
  }
  EXPECT_EQ(kept_by(ledger), 0U);
}

}  // namespace
}  // namespace hawser::p2p
