// ReliableQueues: what all connections of this process share: the buffers in which frames arrive,
// one set per priority, and the queue that says what has come and what has left. Made when the
// first connection is, and grown with their number: the buffers by its logarithm (Open MPI over
// InfiniBand sizes shared receive queues like this).
//
// One completion queue for all: a process that has slept would leave the others armed, for which
// adapters pay.
//
// Buffers are posted anew as their frames are polled, a few at a time, so that other work has its
// turn. A process that calls seldom and for short would fall behind: its adapter reports when few
// buffers are left (once: it is told again when all wait), and all that came is taken in one go. A
// sleeper is woken by the first frame in any case. Without connections for a while no buffers wait.
//
// Ownership: owns queues; borrows port, ledger and the connections, which unregister.
// Threads:   the lane lock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "transport/verbs/send_buffers.hpp"
#include "transport/verbs/shared_receives.hpp"

namespace hawser::transport::verbs {

class Connection;

class ReliableQueues {
 public:
  static Result<std::unique_ptr<ReliableQueues>> open(const Port& port, ibv_comp_channel* channel,
                                                      memory::Ledger& ledger,
                                                      const Settings& settings);

  [[nodiscard]] const Port& port() const { return port_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// Of frames of a priority that arrive here.
  [[nodiscard]] std::size_t frame_bytes_max(std::size_t priority) const {
    return static_cast<std::size_t>(frame_bytes_max_[priority]);
  }
  /// Frames of high priority that each connected peer may have on its way to us.
  [[nodiscard]] std::uint32_t window() const;

  /// A queue pair that receives by PRIORITY; null where the adapter refuses.
  QueuePair make_queue_pair(std::size_t priority);
  void add(std::uint32_t queue_pair, Connection& connection);
  void remove(std::uint32_t queue_pair);

  /// Tells connections and their owners what has come and left; true if anything has: a few of
  /// them, or all where few buffers were left. A queue pair must not end before all that was taken:
  /// its receive buffers would be lost.
  bool poll();
  /// The same for all that is reported now.
  void poll_all();
  /// poll() leaves much behind: time to look for events of the adapter.
  [[nodiscard]] bool is_pressed() const { return full_polls_ % full_polls_per_look == 1; }
  void on_event(const ibv_async_event& event);
  void arm();
  /// The wr_id of request NUMBER of a connection.
  static constexpr std::uint64_t id_of_sent(std::uint64_t number) {
    return number * SharedReceives::tags + sent_tag;
  }
  static constexpr std::uint64_t number_of_sent(std::uint64_t id) {
    return id / SharedReceives::tags;
  }

  [[nodiscard]] std::size_t inline_bytes_max() const { return inline_bytes_max_; }

 private:
  static constexpr int completions_per_poll_max = 16;
  static constexpr std::uint32_t full_polls_per_look = 4;
  /// Rounds without a connection after which no buffers wait any more.
  static constexpr std::uint32_t polls_until_idle = 4096;
  static constexpr std::uint64_t sent_tag = 2;  // those before are the priorities of receives

  ReliableQueues(const Port& port, memory::Ledger& ledger, const Settings& settings)
      : port_(port), ledger_(ledger), settings_(settings) {}
  Connection* find(std::uint32_t queue_pair) {
    if (queue_pair == last_number_ && last_ != nullptr) [[likely]]
      return last_;
    const auto found = connections_.find(queue_pair);
    if (found == connections_.end()) return nullptr;
    last_number_ = queue_pair;
    return last_ = found->second;
  }
  /// Makes those that are not there.
  Result<void> open_receives();
  void close_idle_receives();
  /// As many completions as one call brings; how many those are.
  int poll_some();
  void on_completion(const ibv_wc& completion);
  void fit_to_connections();

  const Port& port_;
  memory::Ledger& ledger_;
  const Settings& settings_;
  std::array<std::int64_t, 2> frame_bytes_max_ = {settings_.rc_eager_bytes,
                                                  settings_.rc_large_bytes};
  std::size_t buffers_max_ = 0;
  std::array<std::unique_ptr<SharedReceives>, 2> receives_;  // null without connections
  CompletionQueue completions_;
  std::unordered_map<std::uint32_t, Connection*> connections_;  // by queue pair: two for each
  std::uint32_t last_number_ = 0;
  Connection* last_ = nullptr;
  std::size_t inline_bytes_max_ = 0;
  int completions_max_ = 0;
  std::uint32_t full_polls_ = 0;  // in a row
  std::uint32_t idle_polls_ = 0;  // likewise, without a connection
  bool is_watched_ = false;       // all of receives_ are, where that works
  bool runs_low_ = false;         // few buffers were left
};

}  // namespace hawser::transport::verbs
