// ReliableQueues: what all connections of this process share, one of each per priority: the buffers
// in which frames arrive, and the queue that says what has come and what has left. Made when the
// first connection is.
//
// Shared receive queues (verbs.srq=on) grow with the number of connections: the buffers by its
// logarithm (Open MPI over InfiniBand sizes them like this). What waits there is dealt out as
// windows to the peers, so that they never send what finds no buffer. Otherwise each queue pair has
// buffers of its own (PeerReceives), out of the same pools.
//
// Where one thread waits for what comes and another for what has left, a third completion queue
// says what has left.
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
#include <vector>

#include "transport/verbs/peer_receives.hpp"
#include "transport/verbs/receive_pool.hpp"
#include "transport/verbs/send_buffers.hpp"
#include "transport/verbs/shared_receives.hpp"

namespace hawser::transport::verbs {

class Connection;

class ReliableQueues {
 public:
  /// DEPARTURES: the channel that tells of what has left; null: CHANNEL tells of everything.
  static Result<std::unique_ptr<ReliableQueues>> open(const Port& port, ibv_comp_channel* channel,
                                                      ibv_comp_channel* departures,
                                                      memory::Ledger& ledger,
                                                      const Settings& settings);

  [[nodiscard]] const Port& port() const { return port_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// Of frames of a priority that arrive here.
  [[nodiscard]] std::size_t frame_bytes_max(std::size_t priority) const {
    return pools_[priority].frame_bytes;
  }
  /// Frames of high priority that the peer behind QUEUE_PAIR may have on its way to us.
  [[nodiscard]] std::uint32_t window(std::uint32_t queue_pair);
  /// Frames of low priority that each connected peer may have on its way to us.
  static constexpr std::uint32_t low_window = 4;

  /// A queue pair that receives by PRIORITY; null where the adapter refuses.
  QueuePair make_queue_pair(std::size_t priority);
  /// QUEUE_PAIR, which was initialised, belongs to CONNECTION.
  void add(ibv_qp& queue_pair, std::size_t priority, Connection& connection);
  /// Ends QUEUE_PAIR.
  void remove(QueuePair queue_pair);

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
    return number * ReceivePool::tags + sent_tag;
  }
  static constexpr std::uint64_t number_of_sent(std::uint64_t id) { return id / ReceivePool::tags; }
  /// Of the queue pair by which a frame came.
  static constexpr std::size_t priority_of(const ibv_wc& received) {
    return received.wr_id % ReceivePool::tags;
  }

  [[nodiscard]] std::size_t inline_bytes_max() const { return inline_bytes_max_; }

  /// A connection was given work that moves BYTES, whichever way.
  void note_started(std::size_t bytes) { bytes_started_ += bytes; }
  [[nodiscard]] std::uint64_t bytes_started() const { return bytes_started_; }

 private:
  static constexpr std::size_t priorities = 2;
  static constexpr int completions_per_poll_max = 16;
  static constexpr std::uint64_t sent_tag = priorities;  // those before are pools' tags
  static constexpr std::uint32_t full_polls_per_look = 4;
  /// Rounds without a connection after which no buffers wait any more.
  static constexpr std::uint32_t polls_until_idle = 4096;
  /// Frames of all peers after which it is looked for those that sent none.
  static constexpr std::uint32_t frames_per_look = 1024;

  /// What belongs to a queue pair.
  struct Entry {
    Connection* connection;
    std::unique_ptr<PeerReceives> own;  // null where all share one
  };

  ReliableQueues(const Port& port, memory::Ledger& ledger, const Settings& settings,
                 std::size_t buffers_max);
  Entry* find(std::uint32_t queue_pair) {
    if (queue_pair == last_number_ && last_ != nullptr) [[likely]]
      return last_;
    const auto found = entries_.find(queue_pair);
    if (found == entries_.end()) return nullptr;
    last_number_ = queue_pair;
    return last_ = &found->second;
  }
  [[nodiscard]] PeerReceives::Credits credits_of(std::size_t priority) const;
  /// Makes the shared queues if they are not there.
  Result<void> open_shared();
  void close_idle_shared();
  /// As many completions as one call for each queue brings; how many those are.
  int poll_some();
  int poll_some(ibv_cq& queue);
  [[nodiscard]] std::array<ibv_cq*, 3> completion_queues() const {
    return {completions_[0].get(), completions_[1].get(), departures_.get()};
  }
  void on_completion(const ibv_wc& completion);
  void repost();
  void watch();
  void fit_to_connections();
  void fit(ibv_cq& queue, std::size_t reports) const;

  const Port& port_;
  const Settings& settings_;
  const std::size_t buffers_max_;  // of one queue
  std::array<ReceivePool, priorities> pools_;
  std::array<std::unique_ptr<SharedReceives>, priorities> shared_;  // null where nothing is shared
  std::array<CompletionQueue, priorities> completions_;
  CompletionQueue departures_;                        // null: they are among completions_
  std::unordered_map<std::uint32_t, Entry> entries_;  // by queue pair: two for each connection
  std::vector<PeerReceives*> touched_;                // something came since repost()
  std::uint32_t last_number_ = 0;
  Entry* last_ = nullptr;
  std::size_t inline_bytes_max_ = 0;
  std::uint64_t bytes_started_ = 0;
  int completions_max_ = 0;
  std::uint32_t full_polls_ = 0;   // in a row
  std::uint32_t idle_polls_ = 0;   // likewise, without a connection
  std::uint32_t look_frames_ = 0;  // since it was looked for peers that send none
  bool is_watched_ = false;        // all of shared_ are, where that works
  bool runs_low_ = false;          // few buffers were left
};

}  // namespace hawser::transport::verbs
