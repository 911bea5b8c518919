// Connections, and what their queue pairs have to know.
#include <rdma/rdma_user_cm.h>

#include <cerrno>

#include "softrdma/cm/ip_service.hpp"
#include "softrdma/udp/addresses.hpp"
#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/cm_call.hpp"

namespace softrdma::verbs::command {
namespace {

constexpr std::uint32_t backlog_max = 1024;
constexpr std::uint8_t retry_count_max = 7;
constexpr std::uint16_t permissive_lid = 0xffff;

// Queue pairs

void fill_to_init(const Identifier& identifier, ib_uverbs_qp_attr* out) {
  out->qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  out->port_num = connection_port;
  if (identifier.is_datagram()) {
    out->qkey = identifier.queue_key;
    out->qp_attr_mask |= IBV_QP_QKEY;
    return;
  }
  out->qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
  if (!identifier.connection) return;
  out->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  const cm::Connection* const connection = identifier.agent->manager().find(*identifier.connection);
  if (connection != nullptr && connection->terms().responder_resources != 0)
    out->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

bool is_reliable(const Identifier& identifier) { return identifier.queue_pair_type != IBV_QPT_UC; }

void fill_to_receive(const Identifier& identifier, const cm::QueuePairTerms& terms,
                     ib_uverbs_qp_attr* out) {
  out->qp_attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  out->ah_attr = kernel_address(
      identifier.agent->way(identifier.source.address, identifier.destination.address));
  out->path_mtu = terms.path_mtu;
  out->dest_qp_num = terms.peer;
  out->rq_psn = terms.receive_sequence;
  if (!is_reliable(identifier) || identifier.queue_pair_type == IBV_QPT_XRC_SEND) return;
  out->qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  out->max_dest_rd_atomic = terms.responder_resources;
}

void fill_to_send(const Identifier& identifier, const cm::QueuePairTerms& terms,
                  ib_uverbs_qp_attr* out) {
  out->qp_attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  out->sq_psn = terms.send_sequence;
  if (!is_reliable(identifier)) return;
  out->qp_attr_mask |= IBV_QP_TIMEOUT;
  out->timeout = terms.ack_timeout;
  if (identifier.queue_pair_type == IBV_QPT_XRC_RECV) return;
  out->qp_attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  out->retry_cnt = terms.retry_count;
  out->rnr_retry = terms.not_ready_retry_count;
  out->max_rd_atomic = terms.initiator_depth;
}

}  // namespace

int queue_pair_attributes(const Call& call) {
  const auto command = call.as<rdma_ucm_init_qp_attr>();
  const Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  if (identifier->agent == nullptr || command.qp_state > IBV_QPS_ERR) return EINVAL;
  ib_uverbs_qp_attr out{};
  out.qp_state = command.qp_state;
  if (command.qp_state == IBV_QPS_INIT) {
    fill_to_init(*identifier, &out);
    return call.answer(command.response, out);
  }
  const cm::Connection* const connection =
      identifier->connection ? identifier->agent->manager().find(*identifier->connection) : nullptr;
  if (connection == nullptr) return EINVAL;
  if (command.qp_state == IBV_QPS_RTR) {
    fill_to_receive(*identifier, connection->terms(), &out);
  } else if (command.qp_state == IBV_QPS_RTS) {
    fill_to_send(*identifier, connection->terms(), &out);
  } else {
    return EINVAL;
  }
  return call.answer(command.response, out);
}

namespace {

// Connections

cm::Service transport_of(const Identifier& identifier) {
  switch (identifier.queue_pair_type) {
    case IBV_QPT_UC:
      return cm::Service::unreliable;
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      return cm::Service::extended;
    default:
      return cm::Service::reliable;
  }
}

void copy_gid(const ibv_gid& gid, cm::Gid* out) { std::memcpy(out->data(), gid.raw, out->size()); }

cm::PrimaryPath path_of(const Identifier& identifier) {
  const ConnectionAgent& agent = *identifier.agent;
  const ibv_ah_attr way = agent.way(identifier.source.address, identifier.destination.address);
  const bool is_ethernet = agent.port().is_ethernet;
  cm::PrimaryPath path{
      .local_lid = is_ethernet ? permissive_lid : agent.port().lid,
      .remote_lid = is_ethernet ? permissive_lid : way.dlid,
      .rate = rate_of_port,
      .hop_limit = way.grh.hop_limit,
      .is_subnet_local = !is_ethernet,
      .ack_timeout = std::min<std::uint8_t>(identifier.packet_lifetime + 1, exponent_max)};
  copy_gid(agent.gid_of(identifier.source.address), &path.local_gid);
  copy_gid(agent.gid_of(identifier.destination.address), &path.remote_gid);
  return path;
}

/// The addresses of both ends, and the consumer's data behind them. False if it is too long.
template <class Parameters>
bool fill_private_data(const Identifier& identifier, const Parameters& parameters,
                       std::span<std::byte> out) {
  const auto data = private_data_of(parameters, out.size() - cm::ip_header_bytes);
  if (!data) return false;
  cm::build_ip_header({.source_port = identifier.source.port,
                       .source = identifier.source.address,
                       .destination = identifier.destination.address},
                      out.first<cm::ip_header_bytes>());
  std::ranges::copy(*data, out.subspan(cm::ip_header_bytes).begin());
  return true;
}

int look_up_service(Identifier& identifier, const rdma_ucm_conn_param& parameters) {
  cm::ServiceRequest request{.service =
                                 cm::service_of(identifier.space, identifier.destination.port)};
  if (!fill_private_data(identifier, parameters, request.private_data)) return EINVAL;
  identifier.connection = identifier.agent->manager().look_up(
      request, identifier.destination.address, now_of(identifier));
  return identifier.connection ? 0 : ENOMEM;
}

int request_connection(Identifier& identifier, const rdma_ucm_conn_param& parameters) {
  cm::ConnectRequest request{
      .service = cm::service_of(identifier.space, identifier.destination.port),
      .queue_key = parameters.qkey,
      .queue_pair = parameters.qp_num & wire::number_mask,
      .responder_resources = parameters.responder_resources,
      .initiator_depth = parameters.initiator_depth,
      .transport = transport_of(identifier),
      .flow_control = parameters.flow_control != 0,
      .retry_count = std::min(parameters.retry_count, retry_count_max),
      .path_mtu = static_cast<std::uint8_t>(identifier.agent->port().mtu),
      .not_ready_retry_count = std::min(parameters.rnr_retry_count, retry_count_max),
      .has_shared_receives = parameters.srq != 0,
      .path = path_of(identifier)};
  if (!fill_private_data(identifier, parameters, request.private_data)) return EINVAL;
  identifier.connection = identifier.agent->manager().connect(
      request, identifier.destination.address, now_of(identifier));
  return identifier.connection ? 0 : ENOMEM;
}

}  // namespace

int connect(const Call& call) {
  const auto command = call.as<rdma_ucm_connect>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  if (identifier->stage != Stage::route_resolved || command.conn_param.valid == 0) return EINVAL;
  const int error = identifier->is_datagram() ? look_up_service(*identifier, command.conn_param)
                                              : request_connection(*identifier, command.conn_param);
  if (error == 0) identifier->stage = Stage::connecting;
  identifier->agent->note_change();
  return error;
}

/// Who listens without an address has any, and any port.
int listen(const Call& call) {
  const auto command = call.as<rdma_ucm_listen>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  if (identifier->stage != Stage::created && identifier->stage != Stage::bound) return EINVAL;
  if (identifier->stage == Stage::created) {
    identifier->source = {udp::address_of(in6addr_any), 0, AF_INET6};
    if (const int error = take_port(call.service, *identifier, 0); error != 0) return error;
  }
  identifier->listening =
      hold_port(call.service.port_name(*identifier, identifier->source.port), Holding::listening);
  if (!identifier->listening.is_open()) return EADDRINUSE;
  const bool is_usual = command.backlog == 0 || command.backlog > backlog_max;
  identifier->backlog = is_usual ? backlog_max : command.backlog;
  identifier->stage = Stage::listening;
  for (const auto& agent : call.service.agents())
    agent->manager().listen(identifier->listening_service());
  return 0;
}

namespace {

int accept_request(Identifier& identifier, const rdma_ucm_conn_param& parameters) {
  cm::Manager& manager = identifier.agent->manager();
  const std::uint64_t now_ns = now_of(identifier);
  if (identifier.is_datagram()) {
    cm::ServiceReply reply{
        .status = cm::service_status::valid,
        .queue_pair = parameters.qp_num & wire::number_mask,
        .queue_key = parameters.qkey != 0 ? parameters.qkey : identifier.queue_key};
    const auto data = private_data_of(parameters, reply.private_data.size());
    if (!data) return EINVAL;
    std::ranges::copy(*data, reply.private_data.begin());
    return manager.answer(*identifier.connection, reply, now_ns) ? 0 : EINVAL;
  }
  cm::ConnectReply reply{
      .queue_key = parameters.qkey,
      .queue_pair = parameters.qp_num & wire::number_mask,
      .responder_resources = parameters.responder_resources,
      .initiator_depth = parameters.initiator_depth,
      .flow_control = parameters.flow_control != 0,
      .not_ready_retry_count = std::min(parameters.rnr_retry_count, retry_count_max),
      .has_shared_receives = parameters.srq != 0};
  const auto data = private_data_of(parameters, reply.private_data.size());
  if (!data) return EINVAL;
  std::ranges::copy(*data, reply.private_data.begin());
  return manager.accept(*identifier.connection, reply, now_ns) ? 0 : EINVAL;
}

}  // namespace

/// Of the passive side, or, without parameters, the last word of the active one.
int accept(const Call& call) {
  const auto command = call.as<rdma_ucm_accept>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  if (!identifier->connection) return EINVAL;
  int error = 0;
  if (command.conn_param.valid != 0) {
    identifier->uid = command.uid;
    error = accept_request(*identifier, command.conn_param);
    if (error == 0) identifier->stage = Stage::connecting;
  } else if (!identifier->agent->manager().confirm(*identifier->connection)) {
    error = EINVAL;
  }
  identifier->agent->note_change();
  return error;
}

int reject(const Call& call) {
  const auto command = call.as<rdma_ucm_reject>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  if (!identifier->connection) return EINVAL;
  cm::Manager& manager = identifier->agent->manager();
  const auto data =
      private_data_of(command, identifier->is_datagram() ? sizeof(cm::ServiceReply::private_data)
                                                         : sizeof(cm::Rejection::private_data));
  if (!data) return EINVAL;
  bool was_possible = false;
  if (identifier->is_datagram()) {
    cm::ServiceReply reply{.status = cm::service_status::rejected};
    std::ranges::copy(*data, reply.private_data.begin());
    was_possible = manager.answer(*identifier->connection, reply, now_of(*identifier));
  } else {
    const std::uint16_t why = command.reason != 0 ? command.reason : cm::reason::consumer;
    was_possible = manager.reject(*identifier->connection, why, *data, now_of(*identifier));
  }
  identifier->agent->note_change();
  return was_possible ? 0 : EINVAL;
}

int disconnect(const Call& call) {
  const auto command = call.as<rdma_ucm_disconnect>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  if (!identifier->connection) return EINVAL;
  const bool was_possible =
      identifier->agent->manager().disconnect(*identifier->connection, now_of(*identifier));
  identifier->agent->note_change();
  return was_possible ? 0 : EINVAL;
}

int notify(const Call& call) {
  const auto command = call.as<rdma_ucm_notify>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  if (!identifier->connection || command.event != IBV_EVENT_COMM_EST) return EINVAL;
  identifier->agent->manager().note_established(*identifier->connection);
  identifier->agent->note_change();
  return 0;
}

}  // namespace softrdma::verbs::command
