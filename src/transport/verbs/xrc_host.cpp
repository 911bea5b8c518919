#include "transport/verbs/xrc_host.hpp"

#include <endian.h>

#include <algorithm>

#include "platform/file.hpp"
#include "transport/verbs/reliable_constants.hpp"

namespace hawser::transport::verbs {

std::unique_ptr<XrcHost> XrcHost::make(Common& common, std::uint64_t identity,
                                       std::uint32_t number) {
  std::unique_ptr<XrcHost> host(new XrcHost(common, identity, number));
  return host->make_queue_pair() ? std::move(host) : nullptr;
}

XrcHost::XrcHost(Common& common, std::uint64_t identity, std::uint32_t number)
    : common_(common),
      identity_(identity),
      number_(number),
      // No secret: it keeps packets of an earlier queue pair from being taken for this one's.
      first_packet_(static_cast<std::uint32_t>(platform::random_number()) & 0xff'ffffU),
      work_(static_cast<std::size_t>(common.settings.rc_queue_depth)) {}

XrcHost::~XrcHost() {
  queue_pair_.reset();
  work_.clear([this](const Posted& posted) { common_.buffers.note_left(posted.frame); });
}

bool XrcHost::make_queue_pair() {
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_XRC_SEND;
  wanted.send_cq = common_.departures;
  wanted.cap.max_send_wr = static_cast<std::uint32_t>(common_.settings.rc_queue_depth);
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_inline_data = 128;
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD;
  wanted.pd = common_.port.protection_domain.get();
  queue_pair_.reset(ibv_create_qp_ex(common_.port.context.get(), &wanted));
  if (!queue_pair_) return false;
  inline_bytes_max_ = wanted.cap.max_inline_data;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = common_.port.number;
  return ibv_modify_qp(queue_pair_.get(), &attributes,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0;
}

bool XrcHost::connect(const XrcMessage& grant) {
  const Port& port = common_.port;
  PortAddress address{.mtu = grant.mtu, .lid = grant.lid};
  std::ranges::copy(grant.gid, address.gid);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = static_cast<ibv_mtu>(std::min(grant.mtu, port.mtu));
  attributes.dest_qp_num = grant.target;
  attributes.ah_attr = port.route_to(address);
  if (ibv_modify_qp(queue_pair_.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) !=
      0)
    return false;
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = reliable::timeout;
  attributes.retry_cnt = reliable::retries;
  attributes.rnr_retry = reliable::not_ready_retries;
  attributes.sq_psn = first_packet_;
  return ibv_modify_qp(queue_pair_.get(), &attributes,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

void XrcHost::add(User& user) {
  users_.push_back({&user, Phase::waits});
  advance();
}

void XrcHost::remove(const User& user) {
  std::erase_if(users_, [&](const Entry& entry) { return entry.user == &user; });
  advance();
  tell_of_answer();
}

std::vector<XrcHost::User*> XrcHost::take_users() {
  std::vector<User*> users;
  for (const Entry& entry : users_) users.push_back(entry.user);
  users_.clear();
  return users;
}

bool XrcHost::has_question() const {
  return std::ranges::count(users_, Phase::asks, &Entry::phase);
}

/// Who waits has its turn once there is a target, or if nobody asks for one.
void XrcHost::advance() {
  for (std::size_t i = 0; i < users_.size() && !is_broken_; ++i) {
    if (users_[i].phase != Phase::waits || (target_ == 0 && has_question())) continue;
    users_[i].phase = Phase::asks;
    users_[i].user->on_turn();
  }
}

void XrcHost::tell_of_answer() {
  if (has_question()) return;
  for (std::size_t i = 0; i < users_.size(); ++i)
    if (users_[i].phase == Phase::uses) users_[i].user->on_answered();
}

void XrcHost::describe(XrcMessage& question) const {
  question.queue_pair = queue_pair_->qp_num;
  question.first_packet = first_packet_;
  question.target = target_;
}

bool XrcHost::on_granted(const User& user, const XrcMessage& grant) {
  std::ranges::find(users_, &user, &Entry::user)->phase = Phase::uses;
  if (target_ == 0) {
    target_ = grant.target;
    if (target_ == 0 || mtu_bytes(grant.mtu) == 0 || !connect(grant)) break_now();
  }
  advance();
  tell_of_answer();
  return !is_broken_;
}

std::uint64_t XrcHost::send(std::byte* frame, std::size_t bytes, std::uint32_t receive_queue,
                            std::uint32_t grant) {
  ibv_sge piece = SendBuffers::piece_of(frame, bytes);
  ibv_send_wr request{};
  request.wr_id = work_.next();
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = htobe32(grant);
  request.qp_type.xrc.remote_srqn = receive_queue;
  request.sg_list = &piece;
  request.num_sge = 1;
  // Each is reported: who gives its channel back must know when its last one has arrived.
  request.send_flags = IBV_SEND_SIGNALED;
  if (bytes <= inline_bytes_max_) request.send_flags |= IBV_SEND_INLINE;
  SendBuffers::note_posted(frame);
  work_.add({.frame = frame});
  common_.bytes_started += bytes;
  ibv_send_wr* refused = nullptr;
  if (is_broken_ || ibv_post_send(queue_pair_.get(), &request, &refused) != 0) break_now();
  return request.wr_id;
}

void XrcHost::on_sent(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) {
    break_now();
    return;
  }
  work_.on_reported(completion.wr_id,
                    [this](const Posted& posted) { common_.buffers.note_left(posted.frame); });
}

void XrcHost::break_now() {
  if (is_broken_) return;
  is_broken_ = true;
  common_.has_broken = true;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE);
}

}  // namespace hawser::transport::verbs
