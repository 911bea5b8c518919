#include "transport/verbs/reliable_queues.hpp"

#include <algorithm>
#include <utility>

#include "transport/verbs/connection.hpp"

namespace hawser::transport::verbs {

namespace {

/// Frames that each connected peer can have on their way to a shared queue, at least, by priority.
constexpr std::array<std::size_t, 2> window_min = {4, ReliableQueues::low_window};
/// Long frames are few: this part of the number of short ones.
constexpr std::size_t short_per_long = 4;
/// Of all queue pairs' own buffers of one priority.
constexpr std::size_t own_buffers_max = std::size_t{1} << 20;

}  // namespace

Result<std::unique_ptr<ReliableQueues>> ReliableQueues::open(const Port& port,
                                                             ibv_comp_channel* channel,
                                                             ibv_comp_channel* departures,
                                                             memory::Ledger& ledger,
                                                             const Settings& settings) {
  ibv_device_attr limits{};
  if (ibv_query_device(port.context.get(), &limits) != 0) return refusal("to say what it can");
  constexpr int buffers_wanted = 1024;
  const int buffers_max = settings.srq ? limits.max_srq_wr : limits.max_qp_wr;
  std::unique_ptr<ReliableQueues> queues(new ReliableQueues(
      port, ledger, settings, static_cast<std::size_t>(std::min(buffers_wanted, buffers_max))));
  queues->completions_max_ = limits.max_cqe;
  HAWSER_TRY(queues->open_shared());
  constexpr int completions_at_first = 1024;
  const auto make_queue = [&](ibv_comp_channel* told_by) {
    return ibv_create_cq(port.context.get(), std::min(completions_at_first, limits.max_cqe),
                         nullptr, told_by, 0);
  };
  bool has_all = true;
  for (CompletionQueue& completions : queues->completions_) {
    completions.reset(make_queue(channel));
    has_all &= completions != nullptr;
  }
  if (departures != nullptr) {
    queues->departures_.reset(make_queue(departures));
    has_all &= queues->departures_ != nullptr;
  }
  if (!has_all) return refusal("a completion queue");
  return queues;
}

ReliableQueues::ReliableQueues(const Port& port, memory::Ledger& ledger, const Settings& settings,
                               std::size_t buffers_max)
    : port_(port),
      settings_(settings),
      buffers_max_(buffers_max),
      pools_{ReceivePool(port, ledger, static_cast<std::size_t>(settings.rc_eager_bytes),
                         settings.srq ? buffers_max : own_buffers_max, 0),
             ReceivePool(port, ledger, static_cast<std::size_t>(settings.rc_large_bytes),
                         settings.srq ? buffers_max : own_buffers_max, 1)} {}

Result<void> ReliableQueues::open_shared() {
  if (!settings_.srq) return {};
  for (std::size_t priority = 0; priority < priorities; ++priority) {
    if (shared_[priority]) continue;
    auto receives = SharedReceives::open(port_, pools_[priority], buffers_max_);
    if (!receives) return receives.take_error();
    shared_[priority] = std::move(*receives);
  }
  return {};
}

void ReliableQueues::close_idle_shared() {
  if (!shared_[0] || ++idle_polls_ < polls_until_idle) return;
  for (std::size_t priority = 0; priority < priorities; ++priority) {
    shared_[priority].reset();
    pools_[priority].buffers.release_idle();
  }
}

/// Credits for frames of low priority don't grow: there are as many as low_window says.
PeerReceives::Credits ReliableQueues::credits_of(std::size_t priority) const {
  if (priority == Connection::low) return {low_window, low_window};
  const std::size_t most = std::min(static_cast<std::size_t>(settings_.rc_credits_max),
                                    buffers_max_ - PeerReceives::without_credit);
  return {std::min(static_cast<std::size_t>(settings_.rc_credits), most), most};
}

QueuePair ReliableQueues::make_queue_pair(std::size_t priority) {
  if (!open_shared()) return nullptr;
  ibv_qp_init_attr wanted{};
  wanted.recv_cq = completions_[priority].get();
  wanted.send_cq = departures_ ? departures_.get() : wanted.recv_cq;
  wanted.srq = settings_.srq ? shared_[priority]->queue() : nullptr;
  wanted.cap = {.max_send_wr = static_cast<std::uint32_t>(settings_.rc_queue_depth),
                .max_recv_wr = 0,
                .max_send_sge = 1,
                .max_recv_sge = 0,
                .max_inline_data = 128};
  if (!settings_.srq) {
    wanted.cap.max_recv_wr =
        static_cast<std::uint32_t>(PeerReceives::requests_max(credits_of(priority)));
    wanted.cap.max_recv_sge = 1;
  }
  wanted.qp_type = IBV_QPT_RC;
  QueuePair queue_pair(ibv_create_qp(port_.protection_domain.get(), &wanted));
  if (queue_pair) inline_bytes_max_ = wanted.cap.max_inline_data;
  return queue_pair;
}

void ReliableQueues::add(ibv_qp& queue_pair, std::size_t priority, Connection& connection) {
  Entry& entry = entries_[queue_pair.qp_num];
  entry.connection = &connection;
  if (!settings_.srq)
    entry.own = std::make_unique<PeerReceives>(pools_[priority], queue_pair, credits_of(priority));
  fit_to_connections();
}

void ReliableQueues::remove(QueuePair queue_pair) {
  const auto found = entries_.find(queue_pair->qp_num);
  // The adapter uses its buffers until it has ended.
  queue_pair.reset();
  last_ = nullptr;
  if (found == entries_.end()) return;
  std::erase(touched_, found->second.own.get());
  entries_.erase(found);
  fit_to_connections();
}

void ReliableQueues::fit_to_connections() {
  const std::size_t connections = (entries_.size() + 1) / 2;
  idle_polls_ = 0;
  // All that may be reported, should nobody look for long: of receives and of what is sent.
  const std::size_t sent = entries_.size() * static_cast<std::size_t>(settings_.rc_queue_depth);
  if (departures_) fit(*departures_, sent);
  if (!settings_.srq) {
    for (std::size_t priority = 0; priority < priorities; ++priority)
      fit(*completions_[priority],
          connections * PeerReceives::requests_max(credits_of(priority)) + sent);
    return;
  }
  if (connections == 0) return;  // the next one may want them soon
  const std::size_t buffers = SharedReceives::buffers_for(connections, settings_);
  const std::array<std::size_t, priorities> wanted = {
      std::max(buffers, connections * window_min[0]),
      std::max(buffers / short_per_long, connections * window_min[1])};
  for (std::size_t priority = 0; priority < priorities; ++priority) {
    ReceiveBuffers& waiting = shared_[priority]->buffers();
    waiting.set_target(std::min(wanted[priority], buffers_max_));
    fit(*completions_[priority], waiting.target() + sent);
  }
  is_watched_ = false;
}

/// To so many REPORTS, and more; never to fewer.
void ReliableQueues::fit(ibv_cq& queue, std::size_t reports) const {
  const int wanted =
      static_cast<int>(std::min(reports, static_cast<std::size_t>(completions_max_)));
  if (wanted > queue.cqe) ibv_resize_cq(&queue, std::min(2 * wanted, completions_max_));
}

std::uint32_t ReliableQueues::window(std::uint32_t queue_pair) {
  if (!settings_.srq) {
    const Entry* const entry = find(queue_pair);
    return entry == nullptr ? 1 : static_cast<std::uint32_t>(entry->own->credits());
  }
  const std::size_t connections = std::max<std::size_t>(entries_.size() / 2, 1);
  return SharedReceives::window(shared_[0]->buffers().target(), connections);
}

bool ReliableQueues::poll() {
  if (entries_.empty()) {
    close_idle_shared();
    return false;
  }
  if (std::exchange(runs_low_, false)) [[unlikely]] {
    poll_all();
    return true;
  }
  return poll_some() > 0;
}

int ReliableQueues::poll_some() {
  int count = 0;
  bool is_full = false;
  for (ibv_cq* const queue : completion_queues()) {
    const int found = queue == nullptr ? 0 : poll_some(*queue);
    is_full |= found == completions_per_poll_max;
    count += found;
  }
  full_polls_ = is_full ? full_polls_ + 1 : 0;
  if (count == 0 && !is_watched_) [[unlikely]]
    watch();
  return count;
}

int ReliableQueues::poll_some(ibv_cq& queue) {
  std::array<ibv_wc, completions_per_poll_max> found;
  const int count = ibv_poll_cq(&queue, completions_per_poll_max, found.data());
  if (count <= 0) return 0;
  for (const ibv_wc& completion : std::span(found).first(static_cast<std::size_t>(count)))
    on_completion(completion);
  repost();
  return count;
}

void ReliableQueues::poll_all() {
  int entries = 0;
  for (const ibv_cq* const queue : completion_queues())
    if (queue != nullptr) entries = std::max(entries, queue->cqe);
  const int polls_max = entries / completions_per_poll_max + 1;
  for (int i = 0; i < polls_max && poll_some() > 0; ++i) {
  }
}

void ReliableQueues::on_completion(const ibv_wc& completion) {
  Entry* const entry = find(completion.qp_num);
  Connection* const connection = entry == nullptr ? nullptr : entry->connection;
  const std::uint64_t tag = completion.wr_id % ReceivePool::tags;
  if (tag == sent_tag) {
    if (connection != nullptr) connection->on_sent(completion);
    return;
  }
  ReceiveBuffers* receives = shared_[tag] ? &shared_[tag]->buffers() : nullptr;
  if (!settings_.srq && entry != nullptr) {
    receives = &entry->own->buffers();
    if (receives->taken() == 0) touched_.push_back(entry->own.get());
  }
  if (receives == nullptr) return;  // it went with its queue pair
  const std::span<const std::byte> bytes = receives->take(completion);
  if (connection != nullptr) connection->owner().on_received(*connection, completion, bytes);
}

void ReliableQueues::repost() {
  if (settings_.srq) {
    for (const auto& receives : shared_)
      if (receives) receives->buffers().repost();
    return;
  }
  for (PeerReceives* receives : touched_) {
    look_frames_ += static_cast<std::uint32_t>(receives->buffers().taken());
    receives->repost();
  }
  touched_.clear();
  if (look_frames_ < frames_per_look) return;
  look_frames_ = 0;
  for (auto& [queue_pair, entry] : entries_) entry.own->look();
}

void ReliableQueues::watch() {
  for (const auto& receives : shared_)
    if (receives) receives->watch();
  is_watched_ = true;
}

void ReliableQueues::on_event(const ibv_async_event& event) {
  if (event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED) return;
  for (const auto& receives : shared_) {
    if (!receives || receives->queue() != event.element.srq) continue;
    receives->on_reported();
    is_watched_ = false;
    runs_low_ = true;
  }
}

void ReliableQueues::arm() {
  if (entries_.empty()) return;
  for (ibv_cq* const queue : completion_queues())
    if (queue != nullptr) ibv_req_notify_cq(queue, 0);
}

}  // namespace hawser::transport::verbs
