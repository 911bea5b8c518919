#include "hawser/report.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tool/statistics_json.hpp"

namespace hawser::tools {
namespace {

using tool::Statistics;

Statistics record_of(std::uint32_t rank) {
  Statistics record;
  record.version = "0.1.0";
  record.self = {0x1234, rank, 0};
  record.job_size = 2;
  record.host = "node17";
  record.elapsed_ns = 1'500'000'000;
  return record;
}

std::vector<Statistics> small_job() {
  Statistics first = record_of(0);
  first.peers = {{1, "shm_ring", {100, 800}, {100, 800}},
                 {1, "shm_queue", {4, 65536}, {1, 8}},
                 {0, "self", {1, 16}, {1, 16}}};
  first.sent_sizes.add_many(8, 101);
  first.sent_sizes.add_many(16384, 4);
  first.protocols = {{"eager", 101}, {"single_copy", 4}};
  first.ledger = {{"segment", 0, 1 << 20}, {"rings", 0, 65536}};
  first.sleeps = 3;
  first.wakes = 1;
  first.parameters = {{"stats", "s.json", "", "environment HAWSER_STATS"},
                      {"shm.rings_max", "4", "16", "command line"}};
  Statistics second = record_of(1);
  second.peers = {{0, "shm_ring", {100, 800}, {100, 800}}, {0, "shm_queue", {1, 8}, {4, 65536}}};
  second.sent_sizes.add_many(8, 101);
  second.protocols = {{"eager", 101}};
  second.ledger = {{"segment", 4096, 2 << 20}};
  second.parameters = {{"stats", "s.json", "", "environment HAWSER_STATS"}};
  return {second, first};  // as they happened to finish
}

TEST(Report, PrintsWhatEachRailSent) {
  std::vector<Statistics> job = {record_of(0), record_of(1)};
  for (Statistics& record : job)
    record.rails = {{"verbs", "port 1 of mlx5_0", 1024}, {"verbs.1", "port 1 of mlx5_1", 8}};
  const std::string text = report_text(job);
  EXPECT_NE(text.find(R"(
Rails
  rail     port              bytes sent
  verbs    port 1 of mlx5_0     2.0 KiB
  verbs.1  port 1 of mlx5_1          16
)"),
            std::string::npos)
      << text;
}

TEST(Report, PrintsAJobAsTables) {
  EXPECT_EQ(report_text(small_job()),
            R"(Job 0000000000001234: 2 ranks on node17, Hawser 0.1.0

Messages by channel
  channel    sent     bytes  received     bytes
  self          1        16         1        16
  shm_queue     5  64.0 KiB         5  64.0 KiB
  shm_ring    200   1.6 KiB       200   1.6 KiB
  all         206  65.6 KiB       206  65.6 KiB

Messages by rank and channel
  rank  channel    peers  sent     bytes  received     bytes
     0  self           1     1        16         1        16
     0  shm_queue      1     4  64.0 KiB         1         8
     0  shm_ring       1   100       800       100       800
     1  shm_queue      1     1         8         4  64.0 KiB
     1  shm_ring       1   100       800       100       800

Peers
  rank  busiest peers (messages and bytes, both directions)
     0  1 (205 messages, 65.6 KiB); 0 (2 messages, 32)
     1  0 (205 messages, 65.6 KiB)

Sizes of the messages sent
          bytes  messages
           8-15       202  ########################################
  from 16.0 KiB         4  #

Protocols
  protocol     messages
  eager             202
  single_copy         4

Memory
  account  at the end  peaks, all ranks  highest peak  of rank
  rings             0          64.0 KiB      64.0 KiB        0
  segment     4.0 KiB           3.0 MiB       2.0 MiB        1

Waiting
  rank  sleeps  wakes of others  seconds
     0       3                1    1.500
     1       0                0    1.500

Parameters that differ from their default
  parameter      value   source                    ranks
  shm.rings_max  4       command line              0
  stats          s.json  environment HAWSER_STATS  all
)");
}

TEST(Report, SaysThatRanksAreMissing) {
  EXPECT_EQ(report_text({record_of(1)}),
            "Job 0000000000001234: 2 ranks on node17, Hawser 0.1.0\n"
            "Only 1 of them wrote statistics; the others did not finalize.\n"
            "\nNo messages\n"
            "\nWaiting\n"
            "  rank  sleeps  wakes of others  seconds\n"
            "     1       0                0    1.500\n");
}

TEST(Report, KeepsJobsApart) {
  Statistics other = record_of(0);
  other.self.job = 0x99;
  const std::string text = report_text({record_of(0), other, record_of(1)});
  const std::size_t first = text.find("Job 0000000000001234");
  const std::size_t second = text.find("\nJob 0000000000000099");
  EXPECT_LT(first, second);
  EXPECT_NE(second, std::string::npos);
  EXPECT_EQ(text.find("Only 1 of them"), text.rfind("Only 1 of them"));
}

TEST(Report, NamesThreePeersAndCountsTheRest) {
  Statistics record = record_of(0);
  for (std::uint32_t peer = 1; peer <= 5; ++peer)
    record.peers.push_back({peer, "shm_queue", {1, peer}, {}});
  EXPECT_NE(
      report_text({record}).find("5 (1 message, 5); 4 (1 message, 4); 3 (1 message, 3); 2 more\n"),
      std::string::npos);
}

TEST(Report, ReadsWhatProcessesWrote) {
  std::stringstream file;
  for (const Statistics& record : small_job()) file << tool::to_json_line(record) << '\n';
  const auto records = read_records(file, "s.json");
  ASSERT_TRUE(records.ok()) << records.error().sentence();
  EXPECT_EQ(report_text(*records), report_text(small_job()));
}

TEST(Report, NamesTheLineThatIsWrong) {
  std::stringstream cut(tool::to_json_line(record_of(0)) + "{\"format\":1,\"haw\n");
  EXPECT_EQ(read_records(cut, "s.json").error().sentence(), "s.json, line 2: not a line of JSON");
  std::stringstream other("{\"a\":1}\n");
  EXPECT_EQ(read_records(other, "s.json").error().sentence(),
            "s.json, line 1: not a record of statistics: key 'format' not found");
  std::stringstream empty("\n");
  EXPECT_EQ(read_records(empty, "s.json").error().sentence(), "s.json holds no record");
}

}  // namespace
}  // namespace hawser::tools
