#include "bootstrap/pmi/pmi_manager.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

#include "bootstrap/pmi/spawn_message.hpp"

namespace hawser::bootstrap {
namespace {

using platform::FileDescriptor;
using platform::LineSocket;
using Manager = std::unique_ptr<ProcessManager>;

/// A launcher of two ranks on one node, of which it serves one.
class Server {
 public:
  Server() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    client = FileDescriptor(ends[0]);
    socket_ = std::make_unique<LineSocket>(FileDescriptor(ends[1]), 4096);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    client.close();
    thread_.join();
  }

  FileDescriptor client;
  std::map<std::string, std::string> answers = {
      {"init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"},
      {"get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0"},
      {"get_my_kvsname", "cmd=my_kvsname kvsname=kvs_7_0 rc=0"},
      {"get_appnum", "cmd=appnum appnum=2 rc=0"},
      {"get_universe_size", "cmd=universe_size size=12 rc=0"},
      {"put", "cmd=put_result rc=0 msg=success"},
      {"barrier_in", "cmd=barrier_out rc=0"},
      {"finalize", "cmd=finalize_ack rc=0"},
      {"spawn", "cmd=spawn_result rc=0"},
      {"publish_name", "cmd=publish_result info=ok rc=0"},
      {"lookup_name", "cmd=lookup_result port=a-port rc=0"},
      {"unpublish_name", "cmd=unpublish_result info=ok"},
  };
  std::map<std::string, std::string> board = {{"PMI_process_mapping", "(vector,(0,1,2))"}};
  std::vector<std::string> asked;          // once the client has closed its end
  std::atomic<bool> drops_second = false;  // of two lines that it reads at once

 private:
  void serve() {
    while (true) {
      if (drops_second) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const auto line = socket_->receive();
      if (!line) return;
      if (drops_second)
        socket_ = std::make_unique<LineSocket>(FileDescriptor(socket_->release()), 4096);
      asked.push_back(*line);
      const auto message = *line == "endcmd" ? spawn() : pmi::parse_message(*line);
      if (!message) continue;  // of several lines
      if (message->command == "put")
        board[std::string(message->text("key"))] = message->text("value");
      const std::string answer =
          message->command == "get" ? get(message->text("key")) : answers[message->command];
      if (answer == "close") {
        socket_.reset();
        return;
      }
      if (!answer.empty()) static_cast<void>(socket_->send(answer));
    }
  }
  static std::optional<pmi::Message> spawn() { return pmi::parse_message("cmd=spawn"); }
  std::string get(std::string_view key) {
    const auto found = board.find(std::string(key));
    const std::string before = answers["before get"];
    if (!before.empty()) static_cast<void>(socket_->send(before));
    if (found == board.end()) return "cmd=get_result rc=-1 msg=key_not_found value=unknown";
    return "cmd=get_result rc=0 msg=success value=" + found->second;
  }

  std::unique_ptr<LineSocket> socket_;
  std::thread thread_;
};

Manager join(Server& server) {
  auto manager = PmiManager::join(server.client, 1, 2);
  EXPECT_TRUE(manager.ok()) << manager.error().sentence();
  return *std::move(manager);
}

TEST(PmiManager, LearnsOfItsJob) {
  Server server;
  const Manager manager = join(server);
  const ManagedJob& job = manager->job();
  EXPECT_EQ(job.rank, 1U);
  EXPECT_EQ(job.size, 2U);
  EXPECT_EQ(job.name, "kvs_7_0");
  EXPECT_EQ(job.app_number, 2);
  EXPECT_EQ(job.universe_size, 12);
  EXPECT_EQ(job.claimed_local, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(job.value_bytes_max, 512U);
  EXPECT_EQ(job.launcher, "hydra (PMI-1)");
}

TEST(PmiManager, WithoutAMappingARankIsAlone) {
  Server server;
  server.board.clear();
  server.answers["get_universe_size"] = "cmd=universe_size size=-1 rc=0";
  const Manager manager = join(server);
  EXPECT_EQ(manager->job().claimed_local, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(manager->job().universe_size, 2);
}

TEST(PmiManager, KeysAreThoseOfARank) {
  Server server;
  const Manager manager = join(server);
  ASSERT_TRUE(manager->put("values.0.0", "00ff").ok());
  ASSERT_TRUE(manager->exchange().ok());
  EXPECT_EQ(*manager->get(1, "values.0.0"), "00ff");
  EXPECT_EQ(*manager->get(0, "values.0.0"), std::nullopt);
  EXPECT_EQ(server.board.at("hawser.1.values.0.0"), "00ff");
}

TEST(PmiManager, ABarrierEndsBetweenOtherAnswers) {
  Server server;
  server.answers["barrier_in"] = "";
  const Manager manager = join(server);
  ASSERT_TRUE(manager->start_barrier().ok());
  EXPECT_FALSE(*manager->is_barrier_done());
  server.answers["before get"] = "cmd=barrier_out rc=0";
  EXPECT_EQ(*manager->get(0, "nothing"), std::nullopt);
  EXPECT_TRUE(*manager->is_barrier_done());
}

TEST(PmiManager, WhoLeavesDuringABarrierIsHeard) {
  Server server;
  server.answers["barrier_in"] = "";
  const Manager manager = join(server);
  server.drops_second = true;
  EXPECT_TRUE(manager->get(0, "nothing").ok());  // the server sleeps from now on before it reads
  ASSERT_TRUE(manager->start_barrier().ok());
  EXPECT_TRUE(manager->finalize().ok());
}

TEST(PmiManager, ItsDescriptorTellsOfTheBarriersEnd) {
  Server server;
  const Manager manager = join(server);
  ASSERT_TRUE(manager->start_barrier().ok());
  pollfd event{manager->descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&event, 1, 10000), 1);
  EXPECT_TRUE(*manager->is_barrier_done());
}

TEST(PmiManager, ALauncherThatEndsIsOneSentence) {
  for (const char* at : {"init", "get_maxes", "get_my_kvsname", "get_appnum"}) {
    Server server;
    server.answers[at] = "close";
    const auto refused = PmiManager::join(server.client, 0, 2);
    ASSERT_FALSE(refused.ok()) << at;
    EXPECT_NE(refused.error().sentence().find("closed the connection"), std::string::npos);
    EXPECT_TRUE(server.client.is_open());
  }
  Server server;
  const Manager manager = join(server);
  server.answers["barrier_in"] = "close";
  EXPECT_FALSE(manager->exchange().ok());
  EXPECT_FALSE(manager->put("key", "00").ok());
  EXPECT_FALSE(manager->start_barrier().ok());
  EXPECT_FALSE(manager->is_barrier_done().ok());
}

TEST(PmiManager, WrongAnswersAreRefused) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"init", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1"},
      {"init", "cmd=maxes"},
      {"init", "nonsense"},
      {"get_maxes", "cmd=maxes keylen_max=16 vallen_max=1024"},
      {"get_my_kvsname", "cmd=my_kvsname rc=-1"},
  };
  for (const auto& [command, answer] : wrong) {
    Server server;
    server.answers[command] = answer;
    EXPECT_FALSE(PmiManager::join(server.client, 0, 2).ok()) << answer;
  }
  Server server;
  EXPECT_FALSE(PmiManager::join(server.client, 2, 2).ok());
}

constexpr int spawn_class = static_cast<int>(base::ErrorClass::spawn);
constexpr int service_class = static_cast<int>(base::ErrorClass::service);
constexpr int name_class = static_cast<int>(base::ErrorClass::name);

const SpawnRequest request_of_sh{.programs = {{{"sh", "two words"}, 3, "/"}},
                                 .environment = {{"HAWSER_TEST", std::string(600, 'x')}}};

/// The answer to a request has come.
void wait_for_answer(const ProcessManager& manager) {
  pollfd event{manager.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&event, 1, 10000), 1);
}

TEST(PmiManager, NewProcessesAreAskedForInLines) {
  Server server;
  {
    const Manager manager = join(server);
    const auto spawning = manager->spawn(request_of_sh);
    ASSERT_TRUE(spawning.ok()) << spawning.error().sentence();
    wait_for_answer(*manager);
    EXPECT_EQ((*spawning)->failure(), std::nullopt);
    ASSERT_TRUE(manager->finalize().ok());
  }
  const auto has = [&](std::string_view line) {
    return std::ranges::find(server.asked, line) != server.asked.end();
  };
  for (const char* line : {"mcmd=spawn", "nprocs=3", "execname=sh", "totspawns=1", "arg1=two words",
                           "argcnt=1", "preput_num=3", "info_val_0=/", "endcmd"})
    EXPECT_TRUE(has(line)) << line;
}

TEST(PmiManager, ARefusalIsASentenceWheneverItComes) {
  Server server;
  server.answers["spawn"] = "";
  const Manager manager = join(server);
  const auto first = manager->spawn(request_of_sh);
  const auto second = manager->spawn(request_of_sh);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->failure(), std::nullopt);
  server.answers["before get"] = "cmd=spawn_result rc=0\ncmd=spawn_result rc=-1";
  EXPECT_EQ(*manager->get(0, "nothing"), std::nullopt);
  EXPECT_EQ((*first)->failure(), std::nullopt);
  EXPECT_NE((*second)->failure().value_or("").find("refuses"), std::string::npos);
}

TEST(PmiManager, AResultThatNobodyAskedForIsRefused) {
  Server server;
  const Manager manager = join(server);
  server.answers["before get"] = "cmd=spawn_result rc=0";
  EXPECT_FALSE(manager->get(0, "nothing").ok());
}

TEST(PmiManager, ALauncherThatEndsIsWhyNewProcessesDoNotCome) {
  Server server;
  server.answers["spawn"] = "close";
  const Manager manager = join(server);
  const auto spawning = manager->spawn(request_of_sh);
  ASSERT_TRUE(spawning.ok());
  wait_for_answer(*manager);
  EXPECT_NE((*spawning)->failure().value_or("").find("closed the connection"), std::string::npos);
}

TEST(PmiManager, AProgramThatIsNotThereIsNotAskedFor) {
  Server server;
  const Manager manager = join(server);
  for (const char* name : {"/no/such/program", "no-such-program-in-path", "./no-such-program"}) {
    const auto spawning = manager->spawn({.programs = {{{name}, 1, ""}}, .environment = {}});
    ASSERT_FALSE(spawning.ok());
    EXPECT_EQ(spawning.error().code(), spawn_class);
    EXPECT_NE(spawning.error().sentence().find(name), std::string::npos);
  }
}

TEST(PmiManager, NamesAreTheLaunchers) {
  Server server;
  {
    const Manager manager = join(server);
    EXPECT_TRUE(manager->publish_name("two words", "a-port").ok());
    EXPECT_EQ(*manager->look_up_name("two words"), "a-port");
    EXPECT_TRUE(manager->unpublish_name("two words").ok());
    EXPECT_EQ(manager->publish_name(std::string(400, 'x'), std::string(400, 'y')).error().code(),
              service_class);
  }
  const std::string field = " service=hawser.74776f20776f726473";
  EXPECT_EQ(server.asked.end()[-3], "cmd=publish_name" + field + " port=a-port");
  EXPECT_EQ(server.asked.end()[-2], "cmd=lookup_name" + field);
  EXPECT_EQ(server.asked.end()[-1], "cmd=unpublish_name" + field);
}

TEST(PmiManager, NamesThatTheLauncherRefusesHaveTheirErrors) {
  for (const char* how : {"info=fail", "rc=1", "rc=-1 msg=not_implemented"}) {
    Server server;
    for (const char* what : {"publish", "lookup", "unpublish"})
      server.answers[what + std::string("_name")] = fmt::format("cmd={}_result {}", what, how);
    const Manager manager = join(server);
    EXPECT_EQ(manager->publish_name("name", "port").error().code(), service_class);
    EXPECT_EQ(manager->look_up_name("name").error().code(), name_class);
    EXPECT_EQ(manager->unpublish_name("name").error().code(), service_class);
  }
}

void pretend_to_be_spawned(Server& server) {
  ::setenv("PMI_FD", std::to_string(server.client.get()).c_str(), 1);
  ::setenv("PMI_RANK", "0", 1);
  ::setenv("PMI_SIZE", "2", 1);
  ::setenv("PMI_SPAWNED", "1", 1);
}

TEST(PmiManager, WhatParentsLeftIsInTheEnvironment) {
  Server server;
  const auto texts =
      write_values(pmi::pack_variables({{"HAWSER_TEST_PARENT", std::string(1000, 'x')}}), 512);
  for (std::uint32_t i = 0; i < texts->size(); ++i)
    server.board[pmi::variables_key(i)] = (*texts)[i];
  pretend_to_be_spawned(server);
  const auto manager = PmiManager::connect();
  ASSERT_TRUE(manager.ok()) << manager.error().sentence();
  static_cast<void>(server.client.release());
  EXPECT_EQ(std::getenv("PMI_SPAWNED"), nullptr);
  ASSERT_NE(std::getenv("HAWSER_TEST_PARENT"), nullptr);
  EXPECT_EQ(std::getenv("HAWSER_TEST_PARENT"), std::string(1000, 'x'));
  ::unsetenv("HAWSER_TEST_PARENT");
}

TEST(PmiManager, WhatParentsOfAnotherLibraryLeftIsTheirs) {
  Server server;
  pretend_to_be_spawned(server);
  EXPECT_TRUE(PmiManager::connect().ok());
  static_cast<void>(server.client.release());
}

TEST(PmiManager, WhatParentsLeftAndIsDamagedIsRefused) {
  for (const char* text : {"nonsense", "2.00", "1.zz"}) {
    Server server;
    server.board[pmi::variables_key(0)] = text;
    pretend_to_be_spawned(server);
    EXPECT_FALSE(PmiManager::connect().ok()) << text;
    static_cast<void>(server.client.release());
  }
}

TEST(PmiManager, AbortTellsTheCode) {
  Server server;
  EXPECT_EXIT(join(server)->abort(7, "no more bread"), testing::ExitedWithCode(7), "");
}

TEST(PmiManager, TheEnvironmentNamesTheSocketAndLosesIt) {
  Server server;
  ::setenv("PMI_FD", std::to_string(server.client.get()).c_str(), 1);
  ::setenv("PMI_RANK", "0", 1);
  ::setenv("PMI_SIZE", "2", 1);
  const auto manager = PmiManager::connect();
  ASSERT_TRUE(manager.ok()) << manager.error().sentence();
  static_cast<void>(server.client.release());
  EXPECT_EQ((*manager)->job().size, 2U);
  for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) EXPECT_EQ(std::getenv(name), nullptr);
}

TEST(PmiManager, ABrokenEnvironmentIsRefused) {
  for (const auto& [fd, rank, size] : {std::tuple{"", "0", "2"},
                                       {"x", "0", "2"},
                                       {"99999", "0", "2"},
                                       {"0", "", "2"},
                                       {"0", "0", ""}}) {
    ::setenv("PMI_FD", fd, 1);
    ::setenv("PMI_RANK", rank, 1);
    ::setenv("PMI_SIZE", size, 1);
    const auto refused = PmiManager::connect();
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().sentence().find("PMI_"), std::string::npos);
  }
}

}  // namespace
}  // namespace hawser::bootstrap
