#include "transport/verbs/reliable_queues.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "transport/verbs/connection.hpp"

namespace hawser::transport::verbs {

namespace {

/// Frames that each connected peer can have on their way, at least, by priority.
constexpr std::array<std::size_t, 2> window_min = {4, 2};
/// Long frames are few: this part of the number of short ones.
constexpr std::size_t short_per_long = 4;

}  // namespace

Result<std::unique_ptr<ReliableQueues>> ReliableQueues::open(const Port& port,
                                                             ibv_comp_channel* channel,
                                                             memory::Ledger& ledger,
                                                             const Settings& settings) {
  std::unique_ptr<ReliableQueues> queues(new ReliableQueues(port, ledger, settings));
  ibv_device_attr limits{};
  if (ibv_query_device(port.context.get(), &limits) != 0) return refusal("to say what it can");
  constexpr int buffers_wanted = 1024;
  queues->buffers_max_ = static_cast<std::size_t>(std::min(buffers_wanted, limits.max_srq_wr));
  queues->completions_max_ = limits.max_cqe;
  HAWSER_TRY(queues->open_receives());
  constexpr int completions_at_first = 1024;
  queues->completions_.reset(ibv_create_cq(
      port.context.get(), std::min(completions_at_first, limits.max_cqe), nullptr, channel, 0));
  if (!queues->completions_) return refusal("a completion queue");
  return queues;
}

Result<void> ReliableQueues::open_receives() {
  for (std::size_t priority = 0; priority < receives_.size(); ++priority) {
    if (receives_[priority]) continue;
    auto receives =
        SharedReceives::open(port_, ledger_, {frame_bytes_max(priority), buffers_max_}, priority);
    if (!receives) return receives.take_error();
    receives_[priority] = std::move(*receives);
  }
  return {};
}

void ReliableQueues::close_idle_receives() {
  if (!receives_[0] || ++idle_polls_ < polls_until_idle) return;
  for (auto& receives : receives_) receives.reset();
  idle_polls_ = 0;
}

QueuePair ReliableQueues::make_queue_pair(std::size_t priority) {
  if (!open_receives()) return nullptr;
  ibv_qp_init_attr wanted{};
  wanted.send_cq = completions_.get();
  wanted.recv_cq = completions_.get();
  wanted.srq = receives_[priority]->queue();
  wanted.cap = {.max_send_wr = static_cast<std::uint32_t>(settings_.rc_queue_depth),
                .max_recv_wr = 0,
                .max_send_sge = 1,
                .max_recv_sge = 0,
                .max_inline_data = 128};
  wanted.qp_type = IBV_QPT_RC;
  QueuePair queue_pair(ibv_create_qp(port_.protection_domain.get(), &wanted));
  if (queue_pair) inline_bytes_max_ = wanted.cap.max_inline_data;
  return queue_pair;
}

void ReliableQueues::add(std::uint32_t queue_pair, Connection& connection) {
  connections_.emplace(queue_pair, &connection);
  fit_to_connections();
}

void ReliableQueues::remove(std::uint32_t queue_pair) {
  connections_.erase(queue_pair);
  last_ = nullptr;
  fit_to_connections();
}

void ReliableQueues::fit_to_connections() {
  const std::size_t connections = (connections_.size() + 1) / 2;
  idle_polls_ = 0;
  if (connections == 0) return;  // the next one may want them soon
  const auto base = static_cast<std::size_t>(settings_.rc_receive_buffers);
  const auto growth = static_cast<std::size_t>(settings_.rc_receive_buffers_growth);
  const std::size_t buffers = std::bit_width(connections - 1) * growth + base;
  receives_[0]->set_target(std::max(buffers, connections * window_min[0]));
  receives_[1]->set_target(std::max(buffers / short_per_long, connections * window_min[1]));
  is_watched_ = false;
  // All that may be reported, should nobody look for long.
  const std::size_t reports =
      receives_[0]->target() + receives_[1]->target() +
      connections_.size() * static_cast<std::size_t>(settings_.rc_queue_depth);
  const int wanted =
      static_cast<int>(std::min(reports, static_cast<std::size_t>(completions_max_)));
  if (wanted > completions_->cqe)
    ibv_resize_cq(completions_.get(), std::min(2 * wanted, completions_max_));
}

std::uint32_t ReliableQueues::window() const {
  const std::size_t connections = std::max<std::size_t>(connections_.size() / 2, 1);
  return static_cast<std::uint32_t>(receives_[0]->target() / connections);
}

bool ReliableQueues::poll() {
  if (connections_.empty()) {
    close_idle_receives();
    return false;
  }
  if (std::exchange(runs_low_, false)) [[unlikely]] {
    poll_all();
    return true;
  }
  return poll_some() > 0;
}

int ReliableQueues::poll_some() {
  std::array<ibv_wc, completions_per_poll_max> found;
  const int count = ibv_poll_cq(completions_.get(), completions_per_poll_max, found.data());
  full_polls_ = count == completions_per_poll_max ? full_polls_ + 1 : 0;
  if (count <= 0) {
    if (!is_watched_) [[unlikely]] {
      for (const auto& receives : receives_) receives->watch();
      is_watched_ = true;
    }
    return 0;
  }
  for (const ibv_wc& completion : std::span(found).first(static_cast<std::size_t>(count)))
    on_completion(completion);
  for (const auto& receives : receives_) receives->repost();
  return count;
}

void ReliableQueues::poll_all() {
  if (!receives_[0]) return;
  const int polls_max = completions_->cqe / completions_per_poll_max + 1;
  for (int i = 0; i < polls_max && poll_some() > 0; ++i) {
  }
}

void ReliableQueues::on_event(const ibv_async_event& event) {
  if (event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED) return;
  for (const auto& receives : receives_) {
    if (!receives || receives->queue() != event.element.srq) continue;
    receives->on_reported();
    is_watched_ = false;
    runs_low_ = true;
  }
}

void ReliableQueues::on_completion(const ibv_wc& completion) {
  Connection* const connection = find(completion.qp_num);
  const std::uint64_t tag = completion.wr_id % SharedReceives::tags;
  if (tag == sent_tag) {
    if (connection != nullptr) connection->on_sent(completion);
    return;
  }
  const std::span<const std::byte> bytes = receives_[tag]->take(completion);
  if (connection != nullptr) connection->owner().on_received(*connection, completion, bytes);
}

void ReliableQueues::arm() {
  if (connections_.empty()) return;
  ibv_req_notify_cq(completions_.get(), 0);
}

}  // namespace hawser::transport::verbs
