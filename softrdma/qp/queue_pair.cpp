#include "softrdma/qp/queue_pair.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "softrdma/qp/transitions.hpp"

namespace softrdma::qp {

using queue::Completion;
using queue::SendWork;

namespace {

wire::Service service_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UC:
      return wire::Service::unreliable_connection;
    case IBV_QPT_UD:
      return wire::Service::unreliable_datagram;
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      return wire::Service::extended_reliable_connection;
    default:
      return wire::Service::reliable_connection;
  }
}

ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    case IBV_WR_LOCAL_INV:
      return IBV_WC_LOCAL_INV;
    case IBV_WR_BIND_MW:
      return IBV_WC_BIND_MW;
    default:
      return IBV_WC_SEND;
  }
}

/// The work requests that a type of queue pair takes (IBA §10.8.2, table 92).
bool has_opcode(ibv_qp_type type, ibv_wr_opcode opcode) {
  const bool is_reliable = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
  const bool is_connected = is_reliable || type == IBV_QPT_UC;
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      return is_connected || type == IBV_QPT_UD;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return is_connected;
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_SEND_WITH_INV:
      return is_reliable;
    case IBV_WR_LOCAL_INV:
    case IBV_WR_BIND_MW:
      return is_connected;
    default:
      return false;
  }
}

/// Programs set both ends of XRC up as they do RC; what is about the half that an end lacks has
/// never been refused (nor has it by the Linux kernel).
int meaningful(ibv_qp_type type, int mask) {
  if (type == IBV_QPT_XRC_SEND) return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (type == IBV_QPT_XRC_RECV)
    return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
  return mask;
}

bool receives_by_itself(const QueuePairParts& parts) {
  return parts.shared_receives == nullptr && parts.type != IBV_QPT_XRC_SEND &&
         parts.type != IBV_QPT_XRC_RECV;
}

/// Room for what the program asked for, and with tags for what the device sends by itself.
queue::SendQueue sends_of(const QueuePairParts& parts) {
  std::uint32_t capacity = parts.cap.max_send_wr;
  std::uint32_t entries_max = parts.cap.max_send_sge;
  std::uint32_t inline_bytes_max = parts.cap.max_inline_data;
  if (parts.tags != nullptr) {
    capacity += Rendezvous::sends_max;
    entries_max = std::max(entries_max, std::uint32_t{queue::tag_entries_max});
    inline_bytes_max = std::max(inline_bytes_max, std::uint32_t{sizeof(wire::TagHeader)});
  }
  return {capacity, entries_max, inline_bytes_max, parts.type == IBV_QPT_UD};
}

}  // namespace

QueuePair::QueuePair(const QueuePairParts& parts, const memory::RegionTable& regions,
                     QueuePairHost& host)
    : parts_(parts),
      host_(host),
      sends_(sends_of(parts)),
      receives_(receives_by_itself(parts) ? parts.cap.max_recv_wr : 0, parts.cap.max_recv_sge) {
  context_.service = service_of(parts.type);
  context_.number = parts.number;
  context_.domain = parts.domain;
  RequesterListener& sends = *this;
  ResponderListener& arrivals = *this;
  ReceiveSource& source = *this;
  if (parts.type == IBV_QPT_UD) {
    halves_.emplace<Datagram>(context_, sends_, regions, source, sends, arrivals);
  } else {
    halves_.emplace<Connected>(Requester(context_, sends_, regions, sends),
                               Responder(context_, regions, source, arrivals, parts.tags));
  }
  if (parts.tags != nullptr)
    rendezvous_ = std::make_unique<Rendezvous>(sends_, *parts.tags, arrivals);
}

// What processes share of an XRC target queue pair

/// For as long as it lives nobody else uses the queue pair, which is as the last one left it.
class QueuePair::SharedTurn {
 public:
  explicit SharedTurn(QueuePair& queue_pair) : queue_pair_(queue_pair) {
    if (queue_pair.type() != IBV_QPT_XRC_RECV) return;
    turn_ = queue_pair.host_.begin_turn(queue_pair.number(), &state_);
    if (turn_ == Turn::shared) queue_pair.load(state_);
  }
  ~SharedTurn() {
    if (turn_ != Turn::shared) return;
    queue_pair_.save(&state_);
    queue_pair_.host_.end_turn(queue_pair_.number(), state_);
  }
  SharedTurn(const SharedTurn&) = delete;
  SharedTurn& operator=(const SharedTurn&) = delete;

  [[nodiscard]] bool is_ours() const { return turn_ != Turn::none; }

 private:
  QueuePair& queue_pair_;
  Turn turn_ = Turn::own;
  TargetState state_;
};

void QueuePair::load(const TargetState& state) {
  std::get<Connected>(halves_).responder.load(state.responder);
  if (state.changes == changes_) return;
  changes_ = state.changes;
  state_ = state.state;
  attributes_ = state.attributes;
  if (state_ != IBV_QPS_RESET && state_ != IBV_QPS_INIT)
    find_path(attributes_.ah_attr, attributes_.path_mtu);
  use_attributes();
}

void QueuePair::save(TargetState* state) const {
  *state = {.changes = changes_,
            .state = state_,
            .attributes = attributes_,
            .responder = std::get<Connected>(halves_).responder.save()};
}

// Changes of state

int QueuePair::modify(const ibv_qp_attr& attributes, int given) {
  const SharedTurn turn(*this);
  return turn.is_ours() ? change(attributes, meaningful(parts_.type, given)) : EAGAIN;
}

int QueuePair::change(const ibv_qp_attr& attributes, int mask) {
  if ((mask & IBV_QP_CUR_STATE) != 0 && attributes.cur_qp_state != state_) return EINVAL;
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attributes.qp_state : state_;
  if (!check_transition(parts_.type, state_, to, mask).ok()) return EINVAL;
  if (!take_attributes(attributes, mask)) return EINVAL;
  enter(to);
  ++changes_;
  open_to_peer();
  return 0;
}

/// What the peer could ask for by packets it may do by itself, if it is of this host.
void QueuePair::open_to_peer() {
  if (parts_.type != IBV_QPT_RC || (state_ != IBV_QPS_RTS && state_ != IBV_QPS_SQD)) return;
  PeerAccess access{.queue_pair = number(),
                    .peer = context_.destination_qp,
                    .domain = context_.domain,
                    .access = context_.access};
  if (context_.incoming_reads_max == 0) access.access &= ~unsigned{IBV_ACCESS_REMOTE_READ};
  host_.open_to_peer(access, attributes_.ah_attr);
}

void QueuePair::close_to_peer() {
  if (parts_.type == IBV_QPT_RC) host_.close_to_peer(number());
}

/// False, and nothing is changed, if one has a value that it can't have.
bool QueuePair::take_attributes(const ibv_qp_attr& attributes, int mask) {
  const auto has = [mask](int bit) { return (mask & bit) != 0; };
  const bool fits =
      (!has(IBV_QP_MAX_QP_RD_ATOMIC) || attributes.max_rd_atomic <= reads_limit) &&
      (!has(IBV_QP_MAX_DEST_RD_ATOMIC) || attributes.max_dest_rd_atomic <= reads_limit) &&
      (!has(IBV_QP_PATH_MTU) ||
       (attributes.path_mtu >= IBV_MTU_256 && attributes.path_mtu <= IBV_MTU_4096)) &&
      (!has(IBV_QP_RETRY_CNT) || attributes.retry_cnt <= 7) &&
      (!has(IBV_QP_RNR_RETRY) || attributes.rnr_retry <= 7) &&
      (!has(IBV_QP_TIMEOUT) || attributes.timeout <= 31) &&
      (!has(IBV_QP_MIN_RNR_TIMER) || attributes.min_rnr_timer <= 31);
  if (!fits) return false;
  if (has(IBV_QP_AV)) {
    const ibv_mtu mtu = has(IBV_QP_PATH_MTU) ? attributes.path_mtu : attributes_.path_mtu;
    if (!find_path(attributes.ah_attr, mtu)) return false;
    attributes_.ah_attr = attributes.ah_attr;
  }
  const auto take = [&](int bit, auto ibv_qp_attr::*member) {
    if (has(bit)) attributes_.*member = attributes.*member;
  };
  take(IBV_QP_EN_SQD_ASYNC_NOTIFY, &ibv_qp_attr::en_sqd_async_notify);
  take(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
  take(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index);
  take(IBV_QP_PORT, &ibv_qp_attr::port_num);
  take(IBV_QP_QKEY, &ibv_qp_attr::qkey);
  take(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
  take(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
  take(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
  take(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
  take(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
  take(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
  take(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
  take(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
  take(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
  take(IBV_QP_PATH_MIG_STATE, &ibv_qp_attr::path_mig_state);
  take(IBV_QP_ALT_PATH, &ibv_qp_attr::alt_ah_attr);
  use_attributes();
  return true;
}

/// False, and nothing is changed, if ADDRESS leads nowhere.
bool QueuePair::find_path(const ibv_ah_attr& address, ibv_mtu mtu) {
  const std::optional<Path> path = host_.path_to(address, mtu);
  if (!path) return false;
  context_.segment_bytes =
      context_.is_reliable() ? path->segment_bytes : path->unreliable_segment_bytes;
  context_.window_packets = path->window_packets;
  peer_host_ = path->host;
  return true;
}

void QueuePair::use_attributes() {
  context_.access = attributes_.qp_access_flags;
  context_.queue_key = attributes_.qkey;
  context_.timeout = attributes_.timeout;
  context_.retry_count = attributes_.retry_cnt;
  context_.rnr_retry = attributes_.rnr_retry;
  context_.min_rnr_timer = attributes_.min_rnr_timer;
  context_.destination_qp = attributes_.dest_qp_num;
  context_.reads_max = attributes_.max_rd_atomic;
  context_.incoming_reads_max = attributes_.max_dest_rd_atomic;
}

void QueuePair::enter(ibv_qp_state state) {
  const ibv_qp_state from = std::exchange(state_, state);
  if (state == IBV_QPS_RESET) return reset();
  if (state == IBV_QPS_ERR) {
    state_ = from;
    return enter_error();
  }
  auto* const connected = std::get_if<Connected>(&halves_);
  auto* const datagram = std::get_if<Datagram>(&halves_);
  if (from == IBV_QPS_INIT && state == IBV_QPS_RTR) {
    if (connected != nullptr) connected->responder.start(attributes_.rq_psn);
    if (datagram != nullptr) {
      context_.segment_bytes = host_.datagram_bytes_max(attributes_.port_num);
      datagram->start_receiving();
    }
  } else if ((from == IBV_QPS_RTR || from == IBV_QPS_SQE) && state == IBV_QPS_RTS) {
    if (connected != nullptr)
      connected->requester.start(from == IBV_QPS_RTR ? attributes_.sq_psn
                                                     : connected->requester.next_sequence());
    if (datagram != nullptr)
      datagram->start_sending(from == IBV_QPS_RTR ? attributes_.sq_psn : datagram->next_sequence());
  } else if (from == IBV_QPS_RTS && state == IBV_QPS_SQD) {
    tells_when_drained_ = attributes_.en_sqd_async_notify != 0;
    if (connected != nullptr) connected->requester.drain();
    if (datagram != nullptr) datagram->pause_sending();
    if (connected == nullptr || connected->requester.is_drained()) on_drained();
  } else if (from == IBV_QPS_SQD && state == IBV_QPS_RTS) {
    if (connected != nullptr) connected->requester.resume();
    if (datagram != nullptr) datagram->start_sending(datagram->next_sequence());
  }
}

void QueuePair::reset() {
  close_to_peer();
  host_.withdraw_payloads();
  // As if it were new: what was posted is gone without a trace.
  sends_.clear();
  receives_.clear();
  if (auto* const connected = std::get_if<Connected>(&halves_)) {
    connected->requester.forget();
    connected->responder.forget();
  } else {
    std::get<Datagram>(halves_).forget();
  }
  if (rendezvous_ != nullptr) rendezvous_->forget();
  attributes_ = {};
  for (queue::CompletionQueue* completions : {parts_.send_completions, parts_.receive_completions})
    if (completions != nullptr) completions->remove_of(number());
}

bool QueuePair::fail() {
  const SharedTurn turn(*this);
  if (turn.is_ours()) enter_error();
  return turn.is_ours();
}

void QueuePair::enter_error() {
  if (state_ == IBV_QPS_ERR) return;
  state_ = IBV_QPS_ERR;
  ++changes_;
  close_to_peer();
  // What was posted belongs to the program again.
  host_.withdraw_payloads();
  flush_sends();
  if (auto* const connected = std::get_if<Connected>(&halves_)) {
    connected->responder.stop();
  } else {
    std::get<Datagram>(halves_).stop_receiving();
  }
  flush_receives();
  if (parts_.shared_receives != nullptr) host_.raise(*this, IBV_EVENT_QP_LAST_WQE_REACHED);
}

void QueuePair::flush_sends() {
  if (auto* const connected = std::get_if<Connected>(&halves_)) {
    connected->requester.flush();
  } else {
    std::get<Datagram>(halves_).flush();
  }
  if (rendezvous_ != nullptr) rendezvous_->flush();
}

void QueuePair::flush_receives() {
  for (; !receives_.is_empty(); receives_.pop())
    on_received({.id = receives_.front().id, .status = IBV_WC_WR_FLUSH_ERR});
}

void QueuePair::query(ibv_qp_attr* attributes) {
  const SharedTurn turn(*this);
  *attributes = attributes_;
  attributes->qp_state = attributes->cur_qp_state = state_;
  attributes->cap = parts_.cap;
  const auto* const connected = std::get_if<Connected>(&halves_);
  attributes->sq_draining =
      state_ == IBV_QPS_SQD && connected != nullptr && !connected->requester.is_drained() ? 1 : 0;
}

// Posting

bool QueuePair::allows(const ibv_send_wr& request) const {
  if (state_ == IBV_QPS_RESET || state_ == IBV_QPS_INIT || state_ == IBV_QPS_RTR) return false;
  if (!has_opcode(parts_.type, request.opcode)) return false;
  if (request.num_sge < 0) return false;
  if ((request.send_flags & IBV_SEND_INLINE) == 0)
    return static_cast<std::uint32_t>(request.num_sge) <= parts_.cap.max_send_sge;
  const bool reads = request.opcode == IBV_WR_RDMA_READ ||
                     request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
                     request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  const std::span entries(request.sg_list, static_cast<std::size_t>(request.num_sge));
  return !reads && memory::total_bytes(entries) <= parts_.cap.max_inline_data;
}

std::size_t QueuePair::free_sends() const {
  const std::uint32_t of_device = rendezvous_ == nullptr ? 0 : rendezvous_->sends();
  return parts_.cap.max_send_wr + of_device - sends_.size();
}

int QueuePair::check_send(const ibv_send_wr& request, const ibv_ah_attr* address) const {
  if (!allows(request)) return EINVAL;
  const std::span entries(request.sg_list, static_cast<std::size_t>(request.num_sge));
  constexpr std::uint64_t message_bytes_max = std::uint64_t{1} << 31;
  if (memory::total_bytes(entries) > message_bytes_max) return EINVAL;
  return parts_.type == IBV_QPT_UD && address == nullptr ? EINVAL : 0;
}

int QueuePair::post_send(const ibv_send_wr& request, const ibv_ah_attr* address) {
  if (const int error = check_send(request, address); error != 0) return error;
  if (free_sends() == 0) return ENOMEM;
  fill(sends_.next(), request, address);
  sends_.push();
  if (state_ == IBV_QPS_ERR || state_ == IBV_QPS_SQE) flush_sends();
  return 0;
}

void QueuePair::fill(SendWork& work, const ibv_send_wr& request, const ibv_ah_attr* address) {
  const std::span entries(request.sg_list, static_cast<std::size_t>(request.num_sge));
  work = {};
  work.id = request.wr_id;
  work.opcode = request.opcode;
  work.flags = request.send_flags | (parts_.signals_all ? unsigned{IBV_SEND_SIGNALED} : 0U);
  work.bytes = static_cast<std::uint32_t>(memory::total_bytes(entries));
  std::memcpy(work.immediate.data(), &request.imm_data, work.immediate.size());
  work.invalidate_key = request.invalidate_rkey;
  work.receive_queue = request.qp_type.xrc.remote_srqn;
  if (parts_.type == IBV_QPT_UD) {
    work.remote_qp = request.wr.ud.remote_qpn;
    work.queue_key = request.wr.ud.remote_qkey;
    sends_.address(work) = *address;
  } else if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
             request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    work.remote_address = request.wr.atomic.remote_addr;
    work.remote_key = request.wr.atomic.rkey;
    work.compare_or_add = request.wr.atomic.compare_add;
    work.swap = request.wr.atomic.swap;
  } else {
    work.remote_address = request.wr.rdma.remote_addr;
    work.remote_key = request.wr.rdma.rkey;
  }
  if (request.opcode == IBV_WR_BIND_MW) {
    const ibv_mw_bind_info& info = request.bind_mw.bind_info;
    sends_.bind(work) = {.address = info.addr,
                         .bytes = info.length,
                         .window_key = request.bind_mw.mw->rkey,
                         .new_key = request.bind_mw.rkey,
                         .region_key = info.mr == nullptr ? 0 : info.mr->lkey,
                         .access = info.mw_access_flags};
    return;
  }
  work.is_inline = (request.send_flags & IBV_SEND_INLINE) != 0;
  if (!work.is_inline) {
    work.entries = static_cast<std::uint16_t>(entries.size());
    std::ranges::copy(entries, sends_.entries(work).begin());
    return;
  }
  std::byte* out = sends_.inline_data(work).data();
  for (const ibv_sge& entry : entries) {
    if (entry.length == 0) continue;
    std::memcpy(out, reinterpret_cast<const void*>(entry.addr), entry.length);
    out += entry.length;
  }
}

int QueuePair::post_receive(const ibv_recv_wr& request) {
  if (state_ == IBV_QPS_RESET || !receives_by_itself(parts_)) return EINVAL;
  if (const int error = receives_.post(request); error != 0) return error;
  if (state_ == IBV_QPS_ERR) flush_receives();
  return 0;
}

// Packets and time

std::optional<Destination> QueuePair::destination() {
  if (auto* const datagram = std::get_if<Datagram>(&halves_)) return datagram->destination();
  return peer();
}

bool QueuePair::next(std::uint64_t now_ns, Outgoing* out) {
  out->address = &attributes_.ah_attr;
  auto* const connected = std::get_if<Connected>(&halves_);
  if (connected == nullptr) return std::get<Datagram>(halves_).next(out);
  // Answers first: the peer's work may wait for them, and they are bounded.
  return notices_.next(context_, out) || connected->responder.next(out) ||
         connected->requester.next(now_ns, out);
}

bool QueuePair::on_arrival(const Arrival& arrival, std::uint64_t now_ns) {
  auto* const connected = std::get_if<Connected>(&halves_);
  const wire::Opcode opcode = arrival.packet.headers.opcode;
  if (opcode == wire::congestion_notification && connected != nullptr) {
    if (arrival.host == peer_host_) connected->requester.on_congestion(now_ns);
    return arrival.host == peer_host_;
  }
  if (opcode.service != context_.service) return true;
  if (connected == nullptr) {
    std::get<Datagram>(halves_).on_arrival(arrival);
    return true;
  }
  if (arrival.is_marked && context_.is_reliable()) notices_.on_marked(now_ns);
  const bool is_request = arrival.packet.shape.is_request();
  if (is_request && parts_.type == IBV_QPT_XRC_RECV) return on_target_request(arrival);
  if (arrival.host != peer_host_) return false;
  if (!is_request) {
    connected->requester.on_answer(arrival.packet, now_ns);
  } else if (parts_.type != IBV_QPT_XRC_SEND) {
    connected->responder.on_request(arrival.packet);
  }
  return true;
}

/// Of XRC the receive queue that a request names has the domain of protection.
bool QueuePair::on_target_request(const Arrival& arrival) {
  const SharedTurn turn(*this);
  // It counts as lost.
  if (!turn.is_ours()) return true;
  if (arrival.host != peer_host_) return false;
  Responder& responder = std::get<Connected>(halves_).responder;
  const ReceiveTarget* const receives = target(arrival.packet.headers.receive_queue);
  if (receives == nullptr) {
    responder.reject(arrival.packet);
    return true;
  }
  context_.domain = receives->domain;
  responder.on_request(arrival.packet);
  return true;
}

const ReceiveTarget* QueuePair::target(std::uint32_t receive_queue) {
  const ReceiveTarget* const found = host_.receive_target(receive_queue);
  return found != nullptr && found->xrc_domain == parts_.xrc_domain ? found : nullptr;
}

void QueuePair::on_time(std::uint64_t now_ns) {
  if (auto* const connected = std::get_if<Connected>(&halves_))
    connected->requester.on_time(now_ns);
}

std::optional<std::uint64_t> QueuePair::deadline_ns() const {
  const auto* const connected = std::get_if<Connected>(&halves_);
  return connected == nullptr ? std::nullopt : connected->requester.deadline_ns();
}

// What comes of it

void QueuePair::on_sent(const SendWork& work, ibv_wc_status status) {
  if (work.is_of_device) {
    rendezvous_->on_sent(work, status);
    return;
  }
  if (status == IBV_WC_SUCCESS && (work.flags & IBV_SEND_SIGNALED) == 0) return;
  Completion completion;
  completion.wc.wr_id = work.id;
  completion.wc.status = status;
  completion.wc.opcode = completion_opcode(work.opcode);
  completion.wc.byte_len = work.bytes;
  completion.wc.qp_num = number();
  complete(parts_.send_completions, completion);
}

void QueuePair::on_send_failure() {
  if (!context_.is_reliable()) {
    state_ = IBV_QPS_SQE;
    flush_sends();
    return;
  }
  enter_error();
}

ibv_wc_status QueuePair::do_local(SendWork& work) {
  if (work.opcode == IBV_WR_BIND_MW) return host_.bind(*this, sends_.bind(work));
  return host_.invalidate(*this, work.invalidate_key) ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR;
}

void QueuePair::on_received(const Received& received) {
  Completion completion;
  ibv_wc& wc = completion.wc;
  wc.wr_id = received.id;
  wc.status = received.status;
  wc.opcode = received.opcode;
  wc.byte_len = received.bytes;
  wc.qp_num = number();
  wc.src_qp = received.source_qp;
  wc.wc_flags = received.flags;
  wc.slid = received.source_lid;
  wc.sl = received.service_level;
  wc.pkey_index = attributes_.pkey_index;
  std::memcpy(&wc.imm_data, received.immediate.data(), received.immediate.size());
  if ((received.flags & IBV_WC_WITH_INV) != 0) wc.invalidated_rkey = received.invalidated_key;
  completion.solicited = received.solicited;
  completion.tag = received.tag;
  if (parts_.type != IBV_QPT_XRC_RECV) {
    complete(parts_.receive_completions, completion);
  } else if (const ReceiveTarget* const receives = target(received.receive_queue)) {
    complete(receives->completions, completion);
  }
}

void QueuePair::complete(queue::CompletionQueue* completions, const Completion& completion) {
  Completion timed = completion;
  timed.time_ns = host_.now_ns();
  if (completions == nullptr || completions->push(timed) || state_ == IBV_QPS_ERR) return;
  host_.raise(*this, IBV_EVENT_QP_FATAL);
  enter_error();
}

void QueuePair::on_established() {
  if (state_ == IBV_QPS_RTR) host_.raise(*this, IBV_EVENT_COMM_EST);
}

void QueuePair::on_receive_failure(std::optional<ibv_event_type> event) {
  if (event) host_.raise(*this, *event);
  enter_error();
}

bool QueuePair::invalidate(std::uint32_t key) { return host_.invalidate(*this, key); }

void QueuePair::on_rendezvous(const Transfer& transfer) {
  rendezvous_->begin(transfer);
  if (state_ == IBV_QPS_ERR) flush_sends();
}

bool QueuePair::take_receive(std::uint32_t receive_queue, std::uint64_t* id,
                             std::vector<ibv_sge>* entries) {
  queue::SharedReceiveQueue* shared = parts_.shared_receives;
  if (parts_.type == IBV_QPT_XRC_RECV) shared = target(receive_queue)->receives;
  queue::ReceiveQueue& ring = shared != nullptr ? shared->ring() : receives_;
  if (ring.is_empty()) return false;
  queue::ReceiveWork& work = ring.front();
  *id = work.id;
  const std::span<ibv_sge> from = ring.entries(work);
  entries->assign(from.begin(), from.end());
  if (shared != nullptr) {
    shared->pop();
  } else {
    ring.pop();
  }
  return true;
}

void QueuePair::on_drained() {
  if (!std::exchange(tells_when_drained_, false)) return;
  host_.raise(*this, IBV_EVENT_SQ_DRAINED);
}

}  // namespace softrdma::qp
