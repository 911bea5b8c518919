#include "transport/verbs/xrc_hosts.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace hawser::transport::verbs {

namespace {

constexpr int departures_per_poll_max = 16;

}  // namespace

Result<std::unique_ptr<XrcHosts>> XrcHosts::open(const Port& port, ibv_comp_channel* channel,
                                                 SendBuffers& buffers, const Settings& settings,
                                                 std::uint32_t& queue_pairs_made) {
  CompletionQueue departures(ibv_create_cq(
      port.context.get(), static_cast<int>(settings.rc_queue_depth), nullptr, channel, 0));
  if (!departures) return refusal("a completion queue");
  return std::unique_ptr<XrcHosts>(
      new XrcHosts(port, std::move(departures), buffers, settings, queue_pairs_made));
}

XrcHosts::XrcHosts(const Port& port, CompletionQueue departures, SendBuffers& buffers,
                   const Settings& settings, std::uint32_t& queue_pairs_made)
    : queue_pairs_made_(queue_pairs_made),
      departures_(std::move(departures)),
      common_{port, settings, buffers, departures_.get()},
      hosts_max_(static_cast<std::size_t>(settings.xrc_hosts_max)) {}

XrcHost* XrcHosts::find_or_make(std::uint64_t identity) {
  const auto known = std::ranges::find_if(
      hosts_, [&](const auto& host) { return host->identity() == identity && !host->is_broken(); });
  if (known != hosts_.end()) return known->get();
  if (hosts_.size() >= hosts_max_) return nullptr;
  auto made = fit_completions(hosts_.size() + 1)
                  ? XrcHost::make(common_, identity, ++queue_pairs_made_)
                  : nullptr;
  if (!made) {
    hosts_max_ = hosts_.size();  // the adapter has no more
    return nullptr;
  }
  hosts_.push_back(std::move(made));
  return hosts_.back().get();
}

/// All that HOSTS may have reported, should nobody look for long; false if there is no room for it.
bool XrcHosts::fit_completions(std::size_t hosts) {
  const std::size_t wanted = hosts * static_cast<std::size_t>(common_.settings.rc_queue_depth);
  return wanted <= static_cast<std::size_t>(departures_->cqe) ||
         ibv_resize_cq(departures_.get(), static_cast<int>(wanted)) == 0;
}

void XrcHosts::leave(XrcHost& host, const XrcHost::User& user) {
  host.remove(user);
  if (host.has_users()) return;
  const auto found = std::ranges::find(hosts_, &host, &std::unique_ptr<XrcHost>::get);
  std::unique_ptr<XrcHost> last = std::move(*found);
  hosts_.erase(found);
  end(std::move(last));
}

/// What was done is taken before, so that it does not count as undone.
void XrcHosts::end(std::unique_ptr<XrcHost> host) {
  host->break_now();
  hosts_.push_back(std::move(host));
  poll_all();
  hosts_.pop_back();
  common_.has_broken =
      std::ranges::any_of(hosts_, [](const auto& each) { return each->is_broken(); });
  host.reset();
  tell_waiters();
}

void XrcHosts::tell_waiters() {
  for (Waiter* waiter : std::exchange(waiters_, {})) waiter->on_host_ended();
}

void XrcHosts::serve() {
  common_.has_broken = false;
  poll_all();
  std::vector<std::unique_ptr<XrcHost>> broken;
  for (auto& host : hosts_)
    if (host->is_broken()) broken.push_back(std::move(host));
  std::erase(hosts_, nullptr);
  std::vector<XrcHost::User*> users;
  for (const auto& host : broken)
    for (XrcHost::User* user : host->take_users()) users.push_back(user);
  broken.clear();
  for (XrcHost::User* user : users) user->on_host_broken();
  if (hosts_.size() < hosts_max_) tell_waiters();
}

bool XrcHosts::poll() {
  if (hosts_.empty()) return false;
  std::array<ibv_wc, departures_per_poll_max> found;
  const int count = ibv_poll_cq(departures_.get(), departures_per_poll_max, found.data());
  if (count <= 0) return false;
  for (const ibv_wc& completion : std::span(found).first(static_cast<std::size_t>(count))) {
    const auto host = std::ranges::find(hosts_, completion.qp_num,
                                        [](const auto& each) { return each->queue_pair(); });
    if (host != hosts_.end()) (*host)->on_sent(completion);
  }
  return true;
}

void XrcHosts::poll_all() {
  const int polls_max = departures_->cqe / departures_per_poll_max + 1;
  for (int i = 0; i < polls_max && poll(); ++i) {
  }
}

void XrcHosts::arm() {
  if (!hosts_.empty()) ibv_req_notify_cq(departures_.get(), 0);
}

}  // namespace hawser::transport::verbs
