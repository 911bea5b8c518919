#include "p2p/progress/progress_thread.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "p2p/progress/host_waiter.hpp"
#include "platform/this_process.hpp"

namespace hawser::p2p {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 20s;  // far beyond what anything here takes

/// Has pieces of work, and counts who looks for them.
class CountingBackend final : public Backend {
 public:
  bool try_send(const ConstBuffer&, const Envelope&) override { return false; }
  Result<Ref<Request>> isend(const ConstBuffer&, const Envelope&, SendMode) override {
    return Ref<Request>(base::make_ref<SentRequest>());
  }
  Result<Ref<Request>> irecv(const Buffer&, const Envelope&) override {
    return Ref<Request>(base::make_ref<SentRequest>());
  }
  Result<bool> iprobe(const Envelope&, Status*) override { return false; }
  Result<Ref<Message>> improbe(const Envelope&) override { return Ref<Message>(); }
  Result<Ref<Request>> imrecv(const Buffer&, Ref<Message>) override {
    return Ref<Request>(base::make_ref<SentRequest>());
  }
  bool progress() override {
    if (std::this_thread::get_id() != program_) looks_of_threads.fetch_add(1);
    int left = work.load();
    while (left > 0 && !work.compare_exchange_weak(left, left - 1)) {
    }
    return left > 0;
  }
  bool is_drained() override { return true; }

  std::atomic<int> work{0};
  std::atomic<int> looks_of_threads{0};

 private:
  const std::thread::id program_ = std::this_thread::get_id();
};

class ProgressThreadTest : public testing::Test {
 protected:
  ProgressThreadTest() {
    engine_.set_threaded(true);
    engine_.attendance().set_attended(true);
  }
  void start() { thread_ = std::make_unique<ProgressThread>(engine_, WakeBy::anything); }
  /// Until DONE(), for as long as patience lasts.
  template <class Done>
  static bool comes(Done&& done) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!done() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(100us);
    return done();
  }
  /// For a wait of the program's.
  static auto after(std::chrono::milliseconds time) {
    return [until = std::chrono::steady_clock::now() + time] {
      return std::chrono::steady_clock::now() >= until;
    };
  }

  CountingBackend backend_;
  hostmem::WakeWord word_{};
  HostWaiter waiter_{word_, hostmem::FencePayer::waker, WaitPolicy{.spin_ns = 1'000'000'000}};
  Engine engine_{backend_, waiter_};
  std::unique_ptr<ProgressThread> thread_;
};

TEST_F(ProgressThreadTest, DoesWhatComesWhileTheProgramIsElsewhere) {
  start();
  for (int round = 0; round < 100; ++round) {
    backend_.work.store(3);
    waiter_.wake();
    ASSERT_TRUE(comes([&] { return backend_.work.load() == 0; }));
  }
}

TEST_F(ProgressThreadTest, SleepsWhileNothingHappens) {
  start();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(backend_.looks_of_threads.load(), 1000);
}

TEST_F(ProgressThreadTest, StepsAsideWhileTheProgramWaits) {
  start();
  engine_.wait_until(after(5ms));
  waiter_.wake();
  int looks = 0;
  engine_.wait_until([&, first = after(20ms), last = after(60ms)] {
    if (!first()) {
      waiter_.wake();
      looks = backend_.looks_of_threads.load();
    }
    return last();
  });
  constexpr int last_looks = 3;  // of one that was about to, however slow
  EXPECT_LE(backend_.looks_of_threads.load(), looks + last_looks);
}

TEST_F(ProgressThreadTest, IsBackOnceTheProgramHasGone) {
  start();
  for (int round = 0; round < 20; ++round) {
    engine_.wait_until([&, done = after(2ms)] {
      waiter_.wake();
      return done();
    });
    backend_.work.store(1);
    ASSERT_TRUE(comes([&] { return backend_.work.load() == 0; }));
  }
}

TEST_F(ProgressThreadTest, LeavesUserCodeToTheProgram) {
  class Source final : public ProgressSource {
   public:
    Source() { set_idle(false); }
    bool advance(UserCode user_code) override {
      calls[static_cast<std::size_t>(user_code)].fetch_add(1);
      return false;
    }
    std::array<std::atomic<int>, 2> calls{};  // by UserCode
  } source;
  engine_.add_source(source);
  start();
  ASSERT_TRUE(comes([&] { return source.calls[1].load() > 0; }));
  EXPECT_EQ(source.calls[0].load(), 0);
  engine_.progress();
  EXPECT_EQ(source.calls[0].load(), 1);
  thread_.reset();
  engine_.remove_source(source);
}

TEST_F(ProgressThreadTest, EndsAtOnceWhateverItDoes) {
  for (int round = 0; round < 200; ++round) {
    backend_.work.store(round % 3);
    start();
    if (round % 2 == 0) engine_.wait_until([&, rounds = 0]() mutable { return ++rounds > 50; });
    thread_.reset();
  }
}

TEST_F(ProgressThreadTest, IsNotMissedInAForkedChild) {
  start();
  const pid_t child = ::fork();
  if (child == 0) {
    thread_.reset();
    platform::end_process(7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace hawser::p2p
