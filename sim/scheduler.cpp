#include "sim/scheduler.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "sim/leaks.hpp"

namespace hawser::sim {

void Scheduler::spawn(std::function<void()> body) {
  auto fiber = std::make_unique<Fiber>([this, body = std::move(body)] { run_body(body); });
  tasks_.push_back({.fiber = std::move(fiber)});
  runnable_.push_back(tasks_.size() - 1);
  ++live_;
}

void Scheduler::run_body(const std::function<void()>& body) {
  if (unwinding_ || tasks_[running_].was_killed) return;
  try {
    body();
  } catch (Failure& failure) {
    keep(std::move(failure.sentence));
  } catch (Unwinding) {
  }
}

void Scheduler::keep(std::string sentence) {
  if (std::exchange(failed_, true)) return;
  failure_ = std::move(sentence);
}

void Scheduler::after(std::uint64_t delay_ns, std::function<void()> action) {
  events_.push({now_ns_ + delay_ns, events_made_++, std::move(action)});
}

std::string Scheduler::run() {
  while (live_ > 0 && !failed_) {
    run_due_events();
    if (!runnable_.empty()) {
      switch_to_one();
    } else if (!events_.empty()) {
      now_ns_ = events_.top().time_ns;
    } else {
      keep(describe_deadlock());
    }
    if (switches_ > switches_max)
      keep(fmt::format("no end after {} switches between ranks", switches_max));
  }
  if (failed_) unwind();
  return failure_;
}

void Scheduler::run_due_events() {
  while (!events_.empty() && events_.top().time_ns <= now_ns_) {
    const std::function<void()> action = events_.top().action;
    events_.pop();
    action();
  }
}

void Scheduler::switch_to_one() {
  constexpr std::uint64_t switch_ns_max = 200;
  now_ns_ += random_.below(switch_ns_max);
  ++switches_;
  const std::size_t position = random_.below(runnable_.size());
  running_ = runnable_[position];
  runnable_[position] = runnable_.back();
  runnable_.pop_back();
  trace_.note(now_ns_, "{} runs", {running_});
  Task& task = tasks_[running_];
  {
    const ExpectedLeaks leaks(running_ == may_be_killed_);
    task.fiber->resume();
  }
  if (!task.fiber->is_done()) return;
  task.state = State::done;
  --live_;
}

void Scheduler::suspend() {
  Task& task = tasks_[running_];
  task.fiber->suspend();
  if (unwinding_) throw Unwinding{};
  // Once: a destructor may suspend, too.
  if (task.was_killed && !std::exchange(task.has_ended, true)) throw Unwinding{};
}

void Scheduler::make_runnable(std::size_t fiber) {
  tasks_[fiber].state = State::runnable;
  runnable_.push_back(fiber);
}

void Scheduler::pause() {
  make_runnable(running_);
  suspend();
}

void Scheduler::sleep(std::size_t fiber, std::uint64_t deadline_ns) {
  Task& task = tasks_[fiber];
  if (task.woken || deadline_ns <= now_ns_) {
    pause();
    return;
  }
  if (deadline_ns != base::never_ns) after(deadline_ns - now_ns_, [this, fiber] { wake(fiber); });
  task.state = State::asleep;
  suspend();
}

void Scheduler::wake(std::size_t fiber) {
  Task& task = tasks_[fiber];
  task.woken = true;
  if (task.state == State::asleep) make_runnable(fiber);
}

void Scheduler::kill(std::size_t fiber) {
  Task& task = tasks_[fiber];
  if (task.state == State::done) return;
  note("{} is killed", fiber);
  task.was_killed = true;
  wake(fiber);
}

void Scheduler::set_activity(std::string activity) {
  if (trace_.is_verbose()) trace_.remark(now_ns_, fmt::format("{}: {}", running_, activity));
  tasks_[running_].activity = std::move(activity);
}

void Scheduler::fail(std::string sentence) {
  throw Failure{fmt::format("rank {}: {}", running_, sentence)};
}

std::string Scheduler::describe_deadlock() const {
  constexpr int named_max = 16;
  std::string text = "deadlock: nothing is on its way, but";
  int named = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].state != State::asleep) continue;
    if (++named > named_max) continue;
    fmt::format_to(std::back_inserter(text), "{} rank {} waits ({})", named == 1 ? "" : ",", i,
                   tasks_[i].activity);
  }
  if (named > named_max)
    fmt::format_to(std::back_inserter(text), ", and {} more", named - named_max);
  return text;
}

void Scheduler::unwind() {
  unwinding_ = true;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    running_ = i;
    // A destructor on that stack may suspend once more.
    while (!tasks_[i].fiber->is_done()) tasks_[i].fiber->resume();
  }
}

}  // namespace hawser::sim
