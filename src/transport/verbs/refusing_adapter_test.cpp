// An adapter that has no more queue pairs: who has no connection stays with datagrams.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "transport/verbs/test_end.hpp"

namespace hawser::transport::verbs {
namespace {

constexpr int no_limit = 1 << 30;
/// Connected queue pairs that there may still be.
int connected_left = no_limit;

}  // namespace
}  // namespace hawser::transport::verbs

/// In front of softrdma's.
extern "C" ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  using hawser::transport::verbs::connected_left;
  if (attributes->qp_type == IBV_QPT_RC && connected_left-- <= 0) {
    errno = ENOMEM;
    return nullptr;
  }
  static const auto next =
      reinterpret_cast<decltype(&ibv_create_qp)>(::dlsym(RTLD_NEXT, "ibv_create_qp"));
  return next(domain, attributes);
}

namespace hawser::transport::verbs {
namespace {

class RefusingAdapter : public ::testing::Test {
 protected:
  ~RefusingAdapter() override { connected_left = no_limit; }
  static void expect_datagrams_arrive(Pair& pair) {
    pair.b.sink.arrivals.clear();
    for (std::uint64_t i = 0; i < 5; ++i) {
      pair.there->release(ChannelKind::ud_send, send_datagram(*pair.there, 100, i));
      settle(pair.a, pair.b);
    }
    EXPECT_EQ(pair.b.sink.arrivals.size(), 5U);
  }
};

TEST_F(RefusingAdapter, WhoGetsNoQueuePairCanEarnNoConnection) {
  for (const int left : {0, 1}) {
    Pair pair;
    connected_left = left;
    EXPECT_FALSE(pair.there->ask(rc));
    EXPECT_FALSE(pair.there->earnable().has(rc)) << "asking again would be for nothing";
    settle(pair.a, pair.b);
    EXPECT_EQ(pair.b.sink.asked, 0) << "the peer need not hear of it";
    expect_datagrams_arrive(pair);
  }
}

TEST_F(RefusingAdapter, APeerThatGetsNoneRefuses) {
  for (const int left : {2, 3}) {
    Pair pair;
    connected_left = left;
    EXPECT_TRUE(pair.there->ask(rc));
    settle(pair.a, pair.b);
    EXPECT_EQ(pair.a.sink.refused, 1);
    // A question is repeated if its answer takes long, and time is real here.
    EXPECT_GE(pair.b.sink.asked, 1);
    EXPECT_EQ(pair.b.sink.given_back, pair.b.sink.asked) << "its grants came to nothing";
    EXPECT_FALSE(pair.there->channels().has(rc));
    expect_datagrams_arrive(pair);
    connected_left = no_limit;
    pair.connect();
  }
}

TEST_F(RefusingAdapter, ConnectionsThatThereAreGoOn) {
  Pair pair;
  pair.connect();
  connected_left = 0;
  End c(2);
  Link& other = pair.a.connect(c);
  EXPECT_FALSE(other.ask(rc));
  pair.b.sink.arrivals.clear();
  pair.there->release(rc, send(*pair.there, rc, 5000, 1));
  settle(pair.a, pair.b);
  EXPECT_EQ(pair.b.sink.arrivals.size(), 1U);
}

}  // namespace
}  // namespace hawser::transport::verbs
