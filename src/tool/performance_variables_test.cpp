#include "tool/performance_variables.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "bootstrap/local/local_bootstrap.hpp"
#include "session/host.hpp"
#include "tool/snapshot.hpp"

namespace hawser::tool {
namespace {

constexpr std::uint32_t byte_handle = 0x247;

/// A job of one, that sends to itself.
class PerformanceVariablesTest : public testing::Test {
 protected:
  PerformanceVariablesTest() {
    auto bootstrap = bootstrap::LocalBootstrap::singleton();
    EXPECT_TRUE(bootstrap.ok());
    bootstrap_ = std::move(*bootstrap);
    auto host = session::HostSurroundings::create(*bootstrap_, {});
    EXPECT_TRUE(host.ok());
    auto process = session::Process::create(std::move(*host), {}, types_);
    EXPECT_TRUE(process.ok());
    process_ = std::move(*process);
    world_ = process_->comms().make_world(
        1, base::make_ref<core::Errhandler>(core::ErrhandlerKind::errors_return));
  }

  void send(std::size_t bytes) {
    const std::vector<char> data(bytes);
    p2p::Engine& engine = process_->engine();
    engine.wait(
        **engine.isend({data.data(), static_cast<base::Count>(bytes), types_.find(byte_handle)},
                       {world_.get(), 0, 0}, p2p::SendMode::standard));
    engine.progress();  // what is sent arrives
  }
  void receive(std::size_t bytes) {
    std::vector<char> data(bytes);
    EXPECT_TRUE(process_->engine()
                    .recv({data.data(), static_cast<base::Count>(bytes), types_.find(byte_handle)},
                          {world_.get(), 0, 0}, nullptr)
                    .ok());
  }
  std::vector<std::uint64_t> numbers(std::string_view name, bool running = true) {
    for (const PerformanceVariable& variable : variables_) {
      if (variable.name != name) continue;
      std::vector<std::uint64_t> all(variable.length, 99);
      read_variable(variable, running ? process_.get() : nullptr, all);
      return all;
    }
    ADD_FAILURE() << "there is no variable " << name;
    return {0};
  }

  const std::vector<PerformanceVariable> variables_ = make_performance_variables();
  core::TypeTable types_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  std::unique_ptr<session::Process> process_;
  base::Ref<core::Comm> world_;
};

TEST_F(PerformanceVariablesTest, HaveDistinctNamesAndASentence) {
  std::set<std::string> names;
  for (const PerformanceVariable& variable : variables_) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_TRUE(variable.sentence.ends_with('.')) << variable.sentence;
    EXPECT_NE(variable.name.find('.'), std::string::npos) << variable.name;
    EXPECT_GE(variable.length, 1U);
  }
}

TEST_F(PerformanceVariablesTest, CountMessagesAndBytes) {
  send(8);
  send(100);
  EXPECT_EQ(numbers("p2p.unexpected")[0], 2U);
  EXPECT_EQ(numbers("p2p.unexpected_queue")[0], 2U);
  receive(8);
  receive(100);
  EXPECT_EQ(numbers("channel.self.messages_sent")[0], 2U);
  EXPECT_EQ(numbers("channel.self.bytes_sent")[0], 108U);
  EXPECT_EQ(numbers("channel.self.messages_received")[0], 2U);
  EXPECT_EQ(numbers("channel.self.bytes_received")[0], 108U);
  EXPECT_EQ(numbers("channel.ring.messages_sent")[0], 0U);
  EXPECT_EQ(numbers("p2p.send.eager")[0], 2U);
  EXPECT_EQ(numbers("p2p.unexpected_queue")[0], 0U);
  const std::vector<std::uint64_t> sizes = numbers("p2p.sent_sizes");
  EXPECT_EQ(sizes[base::SizeHistogram::bin_of(8)], 1U);
  EXPECT_EQ(sizes[base::SizeHistogram::bin_of(100)], 1U);
  EXPECT_GT(numbers("ledger.endpoints.current_bytes")[0], 0U);
  EXPECT_GE(numbers("ledger.endpoints.peak_bytes")[0],
            numbers("ledger.endpoints.current_bytes")[0]);
}

TEST_F(PerformanceVariablesTest, ShowPostedReceives) {
  char byte = 0;
  p2p::Engine& engine = process_->engine();
  const auto request = *engine.irecv({&byte, 1, types_.find(byte_handle)}, {world_.get(), 0, 0});
  EXPECT_EQ(numbers("p2p.posted_queue")[0], 1U);
  send(1);
  engine.wait(*request);
  EXPECT_EQ(numbers("p2p.posted_queue")[0], 0U);
}

TEST_F(PerformanceVariablesTest, AreZeroWithoutAProcess) {
  send(8);
  receive(8);
  EXPECT_EQ(numbers("channel.self.messages_sent", false)[0], 0U);
  EXPECT_EQ(numbers("p2p.sent_sizes", false),
            std::vector<std::uint64_t>(base::SizeHistogram::bin_count));
}

TEST_F(PerformanceVariablesTest, MayBeReadWhileAnotherThreadCommunicates) {
  constexpr std::uint64_t rounds = 200;
  process_->set_threaded(true);
  std::thread other([this] {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      send(round);
      receive(round);
    }
  });
  std::uint64_t seen = 0;
  while (seen < rounds) {
    const std::uint64_t now = numbers("channel.self.messages_sent")[0];
    EXPECT_GE(now, seen);
    seen = now;
    for (const PerformanceVariable& variable : variables_) numbers(variable.name);
  }
  other.join();
  EXPECT_EQ(seen, rounds);
}

TEST_F(PerformanceVariablesTest, AreWhatTheReportShows) {
  send(8);
  receive(8);
  const Statistics statistics = take_snapshot(*process_, base::ParameterRegistry(), 5);
  EXPECT_EQ(statistics.sent_sizes.messages(base::SizeHistogram::bin_of(8)), 1U);
  std::vector<std::string> protocols;
  for (const ProtocolCount& count : statistics.protocols) protocols.push_back(count.protocol);
  EXPECT_EQ(protocols, (std::vector<std::string>{
                           "send.stream", "send.eager", "send.rendezvous_with_data",
                           "send.rendezvous", "fetch.nothing", "fetch.single_copy",
                           "fetch.joint_copy", "fetch.rdma_get", "fetch.rdma_put",
                           "fetch.zero_copy", "fetch.copy_pipeline", "fetch.zero_copy_failed",
                           "unexpected", "delivery.sent_again", "delivery.failed_checksum"}));
  EXPECT_EQ(statistics.protocols[1].messages, 1U);
  EXPECT_FALSE(statistics.ledger.empty());
  for (const AccountBytes& account : statistics.ledger) {
    EXPECT_GT(account.peak_bytes, 0) << account.account;
    EXPECT_EQ(static_cast<std::uint64_t>(account.peak_bytes),
              numbers("ledger." + account.account + ".peak_bytes")[0]);
  }
}

}  // namespace
}  // namespace hawser::tool
