#include "p2p/protocol/pieces.hpp"

#include <gtest/gtest.h>

namespace hawser::p2p {
namespace {

constexpr std::size_t most = 32768;

TEST(Pieces, OfAMessageThatFitsThereIsOne) {
  for (const std::size_t bytes : {1U, 63U, 64U, 65U, 20000U, 32767U, 32768U})
    EXPECT_EQ(piece_of(bytes, most), bytes);
}

TEST(Pieces, AreNoMoreThanItTakesAndNoneIsShort) {
  for (std::size_t bytes = most + 1; bytes < 20 * most; bytes += 997) {
    std::size_t count = 0;
    for (std::size_t left = bytes; left > 0; ++count) {
      const std::size_t piece = piece_of(left, most);
      ASSERT_LE(piece, most);
      ASSERT_LE(piece, left);
      ASSERT_GE(piece, most / 2 - 64 * count) << "piece " << count << " of " << bytes;
      ASSERT_TRUE(piece == left || piece % 64 == 0) << "data stand in their lines as before";
      left -= piece;
    }
    ASSERT_EQ(count, (bytes + most - 1) / most) << bytes;
  }
}

TEST(Pieces, MayBeOfAnyLength) {
  // Such as datagrams carry.
  constexpr std::size_t datagram = 1951;
  EXPECT_EQ(piece_of(10 * datagram, datagram), datagram);
  EXPECT_EQ(piece_of(datagram + 1, datagram), 1024U) << "two that are about alike";
}

}  // namespace
}  // namespace hawser::p2p
