#include "bootstrap/local/local_bootstrap.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

namespace hawser::bootstrap {
namespace {

using platform::FileDescriptor;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

FileDescriptor duplicate(const FileDescriptor& fd) { return FileDescriptor(::dup(fd.get())); }

JobSegment make_job(std::uint32_t size) {
  Result<JobSegment> job = JobSegment::create(
      {.size = size, .host_bytes = size * host_bytes_per_process, .host_cores = 2});
  EXPECT_TRUE(job.ok()) << job.error().sentence();
  return *std::move(job);
}

std::unique_ptr<Bootstrap> join(const JobSegment& job, std::uint32_t index) {
  FileDescriptor fd = duplicate(job.fd());
  Result<std::unique_ptr<Bootstrap>> joined = LocalBootstrap::join(fd, index);
  EXPECT_TRUE(joined.ok()) << joined.error().sentence();
  return *std::move(joined);
}

/// Runs BODY in a child process; its exit status as waitpid tells it.
int in_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(99);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(LocalBootstrap, WithoutALauncherAProcessIsAJobOfOne) {
  const auto first = LocalBootstrap::connect();
  const auto second = LocalBootstrap::singleton();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->placement().size, 1U);
  EXPECT_EQ((*first)->placement().self.index, 0U);
  EXPECT_EQ((*first)->placement().launcher, "none");
  EXPECT_GE((*first)->placement().host_cores, 1);
  EXPECT_NE((*first)->placement().self.job, (*second)->placement().self.job);
  EXPECT_NE((*first)->placement().key, (*second)->placement().key);
}

TEST(LocalBootstrap, TheHostAreaIsZeroedAndMappable) {
  const JobSegment job = make_job(3);
  const auto rank = join(job, 2);
  const auto host = rank->host_memory();
  ASSERT_TRUE(host.has_value());
  EXPECT_EQ(host->bytes, 3 * host_bytes_per_process);
  EXPECT_EQ(host->offset % platform::page_bytes(), 0U);
  const auto mapping = platform::Mapping::shared(*host->fd, host->offset, host->bytes);
  ASSERT_TRUE(mapping.ok());
  EXPECT_TRUE(std::all_of(mapping->data(), mapping->data() + host->bytes,
                          [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_EQ(rank->local_rank_of(1), 1U);
  EXPECT_EQ(rank->local_rank_of(3), std::nullopt);
}

TEST(LocalBootstrap, AnIndexIsGivenOnce) {
  const JobSegment job = make_job(2);
  const auto owner = join(job, 1);
  FileDescriptor fd = duplicate(job.fd());
  const auto again = LocalBootstrap::join(fd, 1);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().sentence().find("already taken"), std::string::npos);
  FileDescriptor outside = duplicate(job.fd());
  EXPECT_FALSE(LocalBootstrap::join(outside, 2).ok());
}

TEST(LocalBootstrap, PublishedValuesAreFoundOnceTheyAreThere) {
  const JobSegment job = make_job(2);
  const auto writer = join(job, 0);
  const auto reader = join(job, 1);
  EXPECT_EQ(*reader->look_up(0, "shm"), std::nullopt);
  ASSERT_TRUE(writer->publish("shm", bytes_of("here")).ok());
  ASSERT_TRUE(writer->publish("empty", {}).ok());
  EXPECT_EQ(*reader->look_up(0, "shm"), bytes_of("here"));
  EXPECT_EQ(*reader->look_up(0, "empty"), std::vector<std::byte>{});
  EXPECT_EQ(*reader->look_up(0, "sh"), std::nullopt);
  EXPECT_EQ(*reader->look_up(1, "shm"), std::nullopt);
  EXPECT_FALSE(reader->look_up(2, "shm").ok());
}

TEST(LocalBootstrap, PublishRefusesWhatDoesNotFit) {
  const JobSegment job = make_job(1);
  const auto rank = join(job, 0);
  EXPECT_FALSE(rank->publish("", {}).ok());
  EXPECT_FALSE(rank->publish(std::string(32, 'k'), {}).ok());
  EXPECT_FALSE(rank->publish("k", std::vector<std::byte>(256)).ok());
  const std::string longest(31, 'k');
  const std::vector<std::byte> largest(255, std::byte{7});
  ASSERT_TRUE(rank->publish(longest, largest).ok());
  EXPECT_EQ(*rank->look_up(0, longest), largest);
  EXPECT_FALSE(rank->publish(longest, {}).ok());
  for (const char* key : {"b", "c", "d", "e"}) EXPECT_TRUE(rank->publish(key, {}).ok());
  EXPECT_FALSE(rank->publish("f", {}).ok());
}

TEST(LocalBootstrap, AReaderSeesNothingOrTheWholeValue) {
  for (int round = 0; round < 200; ++round) {
    const JobSegment job = make_job(2);
    const auto writer = join(job, 0);
    const auto reader = join(job, 1);
    const std::vector<std::byte> value(255, static_cast<std::byte>(round | 1));
    std::jthread publisher([&] { EXPECT_TRUE(writer->publish("address", value).ok()); });
    for (bool found = false; !found;) {
      const auto seen = reader->look_up(0, "address");
      ASSERT_TRUE(seen.ok());
      found = seen->has_value();
      if (found) {
        ASSERT_EQ(**seen, value);
      }
    }
  }
}

TEST(LocalBootstrap, EveryProcessFindsEveryOther) {
  constexpr std::uint32_t size = 4;
  const JobSegment job = make_job(size);
  std::vector<pid_t> children;
  for (std::uint32_t index = 0; index < size; ++index) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    const auto rank = join(job, index);
    const std::string mine = "process " + std::to_string(index);
    if (!rank->publish("name", bytes_of(mine)).ok()) ::_exit(2);
    for (std::uint32_t peer = 0; peer < size; ++peer) {
      std::optional<std::vector<std::byte>> seen;
      while (!(seen = *rank->look_up(peer, "name"))) ::usleep(100);
      if (*seen != bytes_of("process " + std::to_string(peer))) ::_exit(3);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST(LocalBootstrap, TheLauncherSeesStateAndPid) {
  const JobSegment job = make_job(2);
  const auto rank = join(job, 1);
  const auto state = [&] { return static_cast<ProcessState>(job.entry(1).state.load()); };
  EXPECT_EQ(job.entry(1).pid.load(), ::getpid());
  EXPECT_EQ(job.entry(0).pid.load(), 0);
  EXPECT_EQ(state(), ProcessState::starting);
  rank->report_initialized();
  EXPECT_EQ(state(), ProcessState::initialized);
  rank->report_finalized();
  EXPECT_EQ(state(), ProcessState::finalized);
}

TEST(LocalBootstrap, AllHaveArrivedOnceTheLastHas) {
  const JobSegment job = make_job(2);
  const auto first = join(job, 0);
  const auto second = join(job, 1);
  first->arrive_at_end();
  EXPECT_FALSE(first->have_all_arrived_at_end());
  second->arrive_at_end();
  EXPECT_TRUE(first->have_all_arrived_at_end() && second->have_all_arrived_at_end());
}

TEST(LocalBootstrap, WhoHasEndedIsKnownAndNotWaitedFor) {
  const JobSegment job = make_job(3);
  const auto first = join(job, 0);
  const auto second = join(job, 1);
  EXPECT_EQ(first->ended_count(), 0U);
  EXPECT_EQ(first->ending_of(1), Bootstrap::Ending::none);
  second->arrive_at_end();
  second->report_finalized();
  job.record_end(1);
  job.record_end(2);  // before it was anybody
  job.record_end(2);  // by another that has noticed
  EXPECT_EQ(first->ended_count(), 2U);
  EXPECT_EQ(first->ending_of(1), Bootstrap::Ending::finalized);
  EXPECT_EQ(first->ending_of(2), Bootstrap::Ending::died);
  EXPECT_FALSE(first->have_all_arrived_at_end());
  first->arrive_at_end();
  EXPECT_TRUE(first->have_all_arrived_at_end());
}

TEST(LocalBootstrap, AbortLeavesItsSentenceAndAFailingExitCode) {
  for (const auto& [code, exit_code] : {std::pair{7, 7}, {0, 1}, {256, 1}, {-1, 255}, {300, 44}}) {
    JobSegment job = make_job(2);
    const int status = in_child([&, code = code] { join(job, 1)->abort(code, "no more bread"); });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), exit_code);
    const auto abort = job.recorded_abort();
    ASSERT_TRUE(abort.has_value());
    EXPECT_EQ(abort->code, code);
    EXPECT_EQ(abort->index, 1U);
    EXPECT_EQ(abort->sentence, "no more bread");
  }
}

TEST(LocalBootstrap, TheFirstAbortCountsAndLongSentencesAreCut) {
  const JobSegment job = make_job(2);
  EXPECT_EQ(job.recorded_abort(), std::nullopt);
  job.record_abort({3, 1, std::string(5000, 'x')});
  job.record_abort({4, 0, "late"});
  EXPECT_EQ(job.recorded_abort()->code, 3);
  EXPECT_EQ(job.recorded_abort()->sentence, std::string(499, 'x'));
}

/// The environment as mpirun leaves it, for the current process.
void pretend_to_be(const JobSegment& job, const char* index) {
  const int inherited = ::dup(job.fd().get());
  ::setenv(job_fd_variable, std::to_string(inherited).c_str(), 1);
  ::setenv(job_index_variable, index, 1);
}

TEST(LocalBootstrap, ConnectTakesTheJobOutOfTheEnvironment) {
  const JobSegment job = make_job(3);
  job.entry(2).app_number = 5;
  pretend_to_be(job, "2");
  const int inherited = std::atoi(std::getenv(job_fd_variable));
  const auto rank = LocalBootstrap::connect();
  ASSERT_TRUE(rank.ok()) << rank.error().sentence();
  EXPECT_EQ((*rank)->placement().self, (base::Identity{job.facts().job, 2, 0}));
  EXPECT_EQ((*rank)->placement().app_number, 5);
  EXPECT_EQ((*rank)->placement().local_size, 3U);
  EXPECT_EQ((*rank)->placement().host_cores, 2);
  EXPECT_EQ(std::getenv(job_fd_variable), nullptr);
  EXPECT_EQ(std::getenv(job_index_variable), nullptr);
  EXPECT_NE(::fcntl(inherited, F_GETFD) & FD_CLOEXEC, 0);
}

TEST(LocalBootstrap, ConnectRefusesABrokenEnvironment) {
  const JobSegment job = make_job(3);
  for (const char* index : {"3", "", "-1", "one", "1x", "99999999999"}) {
    pretend_to_be(job, index);
    EXPECT_FALSE(LocalBootstrap::connect().ok()) << index;
  }
  ::setenv(job_fd_variable, "3", 1);
  EXPECT_FALSE(LocalBootstrap::connect().ok());  // no index
  // A descriptor of somebody else is refused, and left open.
  const FileDescriptor other(::open("/dev/null", O_RDWR));
  ::setenv(job_fd_variable, std::to_string(other.get()).c_str(), 1);
  ::setenv(job_index_variable, "0", 1);
  EXPECT_FALSE(LocalBootstrap::connect().ok());
  EXPECT_GE(::fcntl(other.get(), F_GETFD), 0);
  // A closed one says who may have done that.
  ::setenv(job_fd_variable, "12345", 1);
  ::setenv(job_index_variable, "0", 1);
  const auto closed = LocalBootstrap::connect();
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().sentence().find("closed"), std::string::npos);
}

TEST(LocalBootstrap, ADamagedValueIsAnErrorAndNoOverrun) {
  const JobSegment job = make_job(1);
  const auto rank = join(job, 0);
  PublishedValue& slot = job.entry(0).values[0];
  std::memset(slot.key, 'k', sizeof(slot.key));
  slot.value_bytes = 1U << 30;
  slot.published.store(2);
  EXPECT_EQ(*rank->look_up(0, "k"), std::nullopt);
  EXPECT_FALSE(rank->look_up(0, std::string(sizeof(slot.key), 'k')).ok());
}

}  // namespace
}  // namespace hawser::bootstrap
