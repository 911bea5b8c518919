#include "transport/verbs/xrc_receives.hpp"

#include <endian.h>

#include <algorithm>
#include <array>
#include <utility>

#include "transport/verbs/reliable_constants.hpp"

namespace hawser::transport::verbs {

Result<std::unique_ptr<XrcReceives>> XrcReceives::open(const Port& port, const XrcDomain& domain,
                                                       ibv_comp_channel* channel,
                                                       memory::Ledger& ledger,
                                                       const Settings& settings) {
  ibv_device_attr limits{};
  if (ibv_query_device(port.context.get(), &limits) != 0) return refusal("to say what it can");
  constexpr int buffers_wanted = 1024;
  const int buffers_max = std::min({buffers_wanted, limits.max_srq_wr, limits.max_cqe});
  CompletionQueue arrivals(ibv_create_cq(port.context.get(), buffers_max, nullptr, channel, 0));
  if (!arrivals) return refusal("a completion queue");
  return std::unique_ptr<XrcReceives>(new XrcReceives(
      port, domain, std::move(arrivals), ledger, settings, static_cast<std::size_t>(buffers_max)));
}

XrcReceives::XrcReceives(const Port& port, const XrcDomain& domain, CompletionQueue arrivals,
                         memory::Ledger& ledger, const Settings& settings, std::size_t buffers_max)
    : port_(port),
      domain_(domain),
      settings_(settings),
      buffers_max_(buffers_max),
      pool_(port, ledger, static_cast<std::size_t>(settings.rc_eager_bytes), buffers_max, 0),
      arrivals_(std::move(arrivals)) {}

QueuePair XrcReceives::target_for(const XrcMessage& question) const {
  return question.target != 0 ? open_target(question.target) : make_target(question);
}

QueuePair XrcReceives::open_target(std::uint32_t number) const {
  ibv_qp_open_attr wanted{};
  wanted.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  wanted.qp_num = number;
  wanted.xrcd = domain_.handle();
  wanted.qp_type = IBV_QPT_XRC_RECV;
  return QueuePair(ibv_open_qp(port_.context.get(), &wanted));
}

QueuePair XrcReceives::make_target(const XrcMessage& question) const {
  if (mtu_bytes(question.mtu) == 0) return nullptr;
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_XRC_RECV;
  wanted.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  wanted.xrcd = domain_.handle();
  QueuePair target(ibv_create_qp_ex(port_.context.get(), &wanted));
  if (!target) return nullptr;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_.number;
  if (ibv_modify_qp(target.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
    return nullptr;
  PortAddress address{.mtu = question.mtu, .lid = question.lid};
  std::ranges::copy(question.gid, address.gid);
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = static_cast<ibv_mtu>(std::min(question.mtu, port_.mtu));
  attributes.dest_qp_num = question.queue_pair;
  attributes.rq_psn = question.first_packet;
  attributes.min_rnr_timer = reliable::not_ready_timer;
  attributes.ah_attr = port_.route_to(address);
  if (ibv_modify_qp(target.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    return nullptr;
  return target;
}

bool XrcReceives::open_queue() {
  if (shared_) return true;
  auto made =
      SharedReceives::open_xrc(port_, pool_, buffers_max_, domain_.handle(), arrivals_.get());
  if (!made || ibv_get_srq_num((*made)->queue(), &number_) != 0) return false;
  shared_ = std::move(*made);
  lost_ = 0;
  return true;
}

void XrcReceives::close_idle() {
  if (!shared_ || ++idle_polls_ < polls_until_idle) return;
  shared_.reset();
  pool_.buffers.release_idle();
  discard_arrivals();
}

/// What a peer sent that was given up names buffers that are gone.
void XrcReceives::discard_arrivals() {
  std::array<ibv_wc, arrivals_per_poll_max> discarded;
  const int polls_max = arrivals_->cqe / arrivals_per_poll_max + 1;
  for (int i = 0; i < polls_max; ++i)
    if (ibv_poll_cq(arrivals_.get(), arrivals_per_poll_max, discarded.data()) <= 0) return;
}

std::uint32_t XrcReceives::add(Owner& owner) {
  if (!open_queue()) return 0;
  if (++grants_made_ == 0) ++grants_made_;
  grants_.emplace(grants_made_, &owner);
  fit_to_grants();
  return grants_made_;
}

void XrcReceives::remove(std::uint32_t grant, bool was_broken) {
  grants_.erase(grant);
  if (was_broken) ++lost_;
  fit_to_grants();
}

void XrcReceives::fit_to_grants() {
  idle_polls_ = 0;
  if (grants_.empty()) return;  // the next one may want them soon
  const std::size_t wanted =
      std::max(SharedReceives::buffers_for(grants_.size(), settings_), grants_.size() * window_min);
  shared_->buffers().set_target(std::min(wanted + lost_, buffers_max_));
  shared_->watch();
}

void XrcReceives::describe(std::uint32_t grant, XrcMessage& answer) const {
  answer.receive_queue = number_;
  answer.grant = grant;
  answer.frame_bytes = static_cast<std::uint32_t>(pool_.frame_bytes);
  answer.window = static_cast<std::uint16_t>(window());
}

std::uint32_t XrcReceives::window() const {
  const std::size_t waiting = shared_ ? shared_->buffers().target() : 0;
  return SharedReceives::window(waiting - std::min(waiting, lost_),
                                std::max<std::size_t>(grants_.size(), 1));
}

bool XrcReceives::poll() {
  if (grants_.empty()) {
    close_idle();
    return false;
  }
  if (std::exchange(runs_low_, false)) [[unlikely]] {
    poll_all();
    shared_->watch();
    return true;
  }
  return poll_some();
}

bool XrcReceives::poll_some() {
  std::array<ibv_wc, arrivals_per_poll_max> found;
  const int count = ibv_poll_cq(arrivals_.get(), arrivals_per_poll_max, found.data());
  if (count <= 0) return false;
  for (const ibv_wc& completion : std::span(found).first(static_cast<std::size_t>(count)))
    on_arrival(completion);
  shared_->buffers().repost();
  return true;
}

void XrcReceives::poll_all() {
  const int polls_max = arrivals_->cqe / arrivals_per_poll_max + 1;
  for (int i = 0; i < polls_max && poll_some(); ++i) {
  }
}

void XrcReceives::on_arrival(const ibv_wc& completion) {
  const std::span<const std::byte> frame = shared_->buffers().take(completion);
  if (completion.status != IBV_WC_SUCCESS || (completion.wc_flags & IBV_WC_WITH_IMM) == 0) return;
  // What comes by a grant that is over is of a peer that was given up.
  const auto found = grants_.find(be32toh(completion.imm_data));
  if (found != grants_.end()) found->second->on_xrc_frame(frame);
}

void XrcReceives::on_event(const ibv_async_event& event) {
  if (event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED || !shared_ ||
      event.element.srq != shared_->queue())
    return;
  shared_->on_reported();
  runs_low_ = true;
}

void XrcReceives::arm() {
  if (!grants_.empty()) ibv_req_notify_cq(arrivals_.get(), 0);
}

}  // namespace hawser::transport::verbs
