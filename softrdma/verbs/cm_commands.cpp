#include "softrdma/verbs/cm_commands.hpp"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "softrdma/cm/ip_service.hpp"
#include "softrdma/link/multicast.hpp"
#include "softrdma/link/numbers.hpp"
#include "softrdma/udp/addresses.hpp"
#include "softrdma/verbs/cm_events.hpp"
#include "softrdma/verbs/cm_service.hpp"

namespace softrdma::verbs {
namespace {

/// Of packets, if the program does not say otherwise: 4.096 us times 2^this.
constexpr std::uint8_t usual_packet_lifetime = 13;
constexpr std::uint8_t exponent_max = 31;
constexpr std::uint32_t backlog_max = 1024;
constexpr std::uint8_t retry_count_max = 7;
/// What datagrams of a port space have as queue key, unless the program chooses one.
constexpr std::uint32_t udp_queue_key = 0x01234567;
constexpr std::uint32_t ipoib_queue_key = 0x0b1b;
constexpr std::uint16_t permissive_lid = 0xffff;
constexpr std::uint16_t first_multicast_lid = 0xc000;
constexpr std::uint16_t multicast_lid_mask = 0x3ffe;
constexpr std::uint16_t usual_partition = 0xffff;
constexpr std::uint8_t exactly = 2;  // what a path record says of its numbers
constexpr std::uint8_t rate_of_port = IBV_RATE_100_GBPS;

/// A command on its way: from whom, and its bytes.
struct Call {
  ConnectionService& service;
  EventChannel& channel;
  std::span<const std::byte> input;
  std::size_t output_bytes;

  /// The command, filled up with zeros.
  template <class Command>
  [[nodiscard]] Command as() const {
    Command command{};
    std::memcpy(&command, input.data(), std::min(input.size(), sizeof(command)));
    return command;
  }
  /// ENOSPC if the program has less room than LEAST bytes of the answer.
  template <class Answer>
  [[nodiscard]] int answer(std::uint64_t address, const Answer& given,
                           std::size_t least = sizeof(Answer)) const {
    if (output_bytes < least) return ENOSPC;
    std::memcpy(reinterpret_cast<void*>(address), &given, std::min(output_bytes, sizeof(given)));
    return 0;
  }
  /// The identifier of this channel; null if there is none.
  [[nodiscard]] Identifier* identifier(std::uint32_t handle) const {
    Identifier* const found = service.find(handle);
    return found == nullptr || found->channel != &channel ? nullptr : found;
  }
};

std::uint64_t now_of(const Identifier& identifier) { return identifier.agent->adapter().now_ns(); }

template <class Address>
std::span<const std::byte> bytes_of(const Address& address, std::size_t bytes = sizeof(Address)) {
  return std::as_bytes(std::span(&address, 1)).first(std::min(bytes, sizeof(address)));
}

/// The consumer's part of a command's private data. Nothing if there is more than MOST bytes.
template <class Parameters>
std::optional<std::span<const std::byte>> private_data_of(const Parameters& parameters,
                                                          std::size_t most) {
  if (parameters.private_data_len > most) return std::nullopt;
  return std::as_bytes(std::span(parameters.private_data)).first(parameters.private_data_len);
}

// Identifiers

int create_identifier(const Call& call) {
  const auto command = call.as<rdma_ucm_create_id>();
  Identifier& identifier = call.service.add_identifier(call.channel);
  identifier.uid = command.uid;
  identifier.space = command.ps;
  identifier.queue_pair_type = command.qp_type;
  identifier.queue_key = command.ps == RDMA_PS_IPOIB ? ipoib_queue_key : udp_queue_key;
  identifier.packet_lifetime = usual_packet_lifetime;
  if (command.ps == RDMA_PS_UDP || command.ps == RDMA_PS_IPOIB)
    identifier.queue_pair_type = IBV_QPT_UD;
  const int error = call.answer(command.response, rdma_ucm_create_id_resp{.id = identifier.handle});
  if (error != 0) call.service.remove(identifier);
  return error;
}

int destroy_identifier(const Call& call) {
  const auto command = call.as<rdma_ucm_destroy_id>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  const rdma_ucm_destroy_id_resp answer{.events_reported = identifier->events_reported};
  call.service.remove(*identifier);
  return call.answer(command.response, answer);
}

int migrate_identifier(const Call& call) {
  const auto command = call.as<rdma_ucm_migrate_id>();
  Identifier* const identifier = call.service.find(command.id);
  const auto old = call.service.channel(static_cast<int>(command.fd));
  if (identifier == nullptr || old == nullptr || identifier->channel != old.get()) return ENOENT;
  call.service.move(*identifier, call.channel);
  return call.answer(command.response,
                     rdma_ucm_migrate_resp{.events_reported = identifier->events_reported});
}

// Addresses

/// The adapter that has ADDRESS; null if none has.
ConnectionAgent* agent_with(const ConnectionService& service, const IpEndpoint& endpoint) {
  for (const auto& agent : service.agents())
    if (agent->is_ours(endpoint)) return agent.get();
  return nullptr;
}

/// The port that SOURCE names, or any.
int take_port(ConnectionService& service, Identifier& identifier, std::uint16_t wanted) {
  PortName name = service.port_name(identifier, wanted);
  identifier.port = wanted == 0 ? hold_free_port(&name) : hold_port(name, Holding::bound);
  if (!identifier.port.is_open()) return wanted == 0 ? EADDRNOTAVAIL : EADDRINUSE;
  identifier.source.port = name.port;
  return 0;
}

int bind_to(const Call& call, Identifier* identifier, std::span<const std::byte> address) {
  if (identifier == nullptr) return ENOENT;
  if (identifier->stage != Stage::created) return EINVAL;
  const std::optional<IpEndpoint> source = endpoint_from(address);
  if (!source) return EAFNOSUPPORT;
  ConnectionAgent* const agent = source->is_any() ? nullptr : agent_with(call.service, *source);
  if (agent == nullptr && !source->is_any()) return EADDRNOTAVAIL;
  identifier->source = *source;
  if (const int error = take_port(call.service, *identifier, source->port); error != 0) {
    identifier->source = {};
    return error;
  }
  identifier->agent = agent;
  identifier->stage = Stage::bound;
  return 0;
}

int bind_ip(const Call& call) {
  const auto command = call.as<rdma_ucm_bind_ip>();
  return bind_to(call, call.identifier(command.id), bytes_of(command.addr));
}

int bind_any(const Call& call) {
  const auto command = call.as<rdma_ucm_bind>();
  return bind_to(call, call.identifier(command.id), bytes_of(command.addr, command.addr_size));
}

/// The adapter that reaches TO from SOURCE, which is filled in where it says nothing. Null if none.
ConnectionAgent* agent_to(const ConnectionService& service, const IpEndpoint& to,
                          IpEndpoint* source) {
  for (const auto& agent : service.agents()) {
    const bool is_open = !source->is_given() || source->is_any();
    if (!is_open && !agent->is_ours(*source)) continue;
    const std::optional<wire::Address> own =
        is_open ? agent->source_for(to) : std::optional(source->address);
    if (!own || !agent->adapter().reaches(agent->way(*own, to.address))) continue;
    *source = endpoint_of(*own, source->port);
    return agent.get();
  }
  return nullptr;
}

int resolve_to(const Call& call, Identifier* identifier, std::span<const std::byte> from,
               std::span<const std::byte> to) {
  if (identifier == nullptr) return ENOENT;
  if (identifier->stage != Stage::created && identifier->stage != Stage::bound) return EINVAL;
  std::optional<IpEndpoint> destination = endpoint_from(to);
  if (!destination) return EAFNOSUPPORT;
  IpEndpoint source = identifier->source;
  if (identifier->stage == Stage::created) source = endpoint_from(from).value_or(IpEndpoint{});
  // To any address of this host is to this host.
  if (destination->is_any()) {
    destination->address = call.service.agents().front()->adapter().addresses().empty()
                               ? destination->address
                               : call.service.agents().front()->adapter().addresses()[0].address;
  }
  ConnectionAgent* const agent = agent_to(call.service, *destination, &source);
  if (agent == nullptr) {
    call.service.tell(*identifier, cm_event::address_error, -EHOSTUNREACH);
    return 0;
  }
  identifier->source = source;
  if (!identifier->port.is_open())
    if (const int error = take_port(call.service, *identifier, source.port); error != 0)
      return error;
  identifier->destination = *destination;
  identifier->agent = agent;
  identifier->stage = Stage::address_resolved;
  call.service.tell(*identifier, cm_event::address_resolved);
  return 0;
}

int resolve_ip(const Call& call) {
  const auto command = call.as<rdma_ucm_resolve_ip>();
  return resolve_to(call, call.identifier(command.id), bytes_of(command.src_addr),
                    bytes_of(command.dst_addr));
}

int resolve_any(const Call& call) {
  const auto command = call.as<rdma_ucm_resolve_addr>();
  return resolve_to(call, call.identifier(command.id), bytes_of(command.src_addr, command.src_size),
                    bytes_of(command.dst_addr, command.dst_size));
}

int resolve_route(const Call& call) {
  const auto command = call.as<rdma_ucm_resolve_route>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  if (identifier->stage != Stage::address_resolved) return EINVAL;
  identifier->stage = Stage::route_resolved;
  call.service.tell(*identifier, cm_event::route_resolved);
  return 0;
}

// Questions

bool has_route(const Identifier& identifier) {
  return identifier.stage == Stage::route_resolved || identifier.stage == Stage::requested ||
         identifier.stage == Stage::connecting;
}

ib_user_path_rec path_record(const Identifier& identifier) {
  const ConnectionAgent& agent = *identifier.agent;
  const ibv_ah_attr way = agent.way(identifier.source.address, identifier.destination.address);
  ib_user_path_rec record{};
  std::memcpy(record.sgid, agent.gid_of(identifier.source.address).raw, sizeof(record.sgid));
  if (!identifier.destination.is_given()) return record;
  std::memcpy(record.dgid, agent.gid_of(identifier.destination.address).raw, sizeof(record.dgid));
  record.dlid = htons(way.dlid);
  record.slid = htons(agent.port().lid);
  record.hop_limit = way.grh.hop_limit;
  record.reversible = 1;
  record.numb_path = 1;
  record.pkey = htons(usual_partition);
  record.mtu_selector = record.rate_selector = record.packet_life_time_selector = exactly;
  record.mtu = agent.port().mtu;
  record.rate = rate_of_port;
  record.packet_life_time = identifier.packet_lifetime;
  return record;
}

int query_route(const Call& call) {
  const auto command = call.as<rdma_ucm_query>();
  const Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  rdma_ucm_query_route_resp answer{};
  write_endpoint(identifier->source, std::as_writable_bytes(std::span(&answer.src_addr, 1)));
  write_endpoint(identifier->destination, std::as_writable_bytes(std::span(&answer.dst_addr, 1)));
  answer.ibdev_index = ~std::uint32_t{0};
  if (identifier->agent != nullptr) {
    answer.node_guid = htobe64(identifier->agent->adapter().guid());
    answer.ibdev_index = static_cast<std::uint32_t>(identifier->agent->index());
    answer.port_num = connection_port;
    answer.num_paths = has_route(*identifier) ? 1 : 0;
    answer.ib_route[0] = path_record(*identifier);
  }
  return call.answer(command.response, answer, offsetof(rdma_ucm_query_route_resp, ibdev_index));
}

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

/// Types of service, shared ports and address families have nothing to change here.
int set_option(const Call& call) {
  const auto command = call.as<rdma_ucm_set_option>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  if (command.level != RDMA_OPTION_ID) return ENOSYS;
  switch (command.optname) {
    case RDMA_OPTION_ID_TOS:
    case RDMA_OPTION_ID_REUSEADDR:
    case RDMA_OPTION_ID_AFONLY:
      return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT: {
      if (command.optlen != sizeof(std::uint8_t)) return EINVAL;
      const std::uint8_t timeout = *reinterpret_cast<const std::uint8_t*>(command.optval);
      if (timeout > exponent_max) return EINVAL;
      identifier->packet_lifetime = timeout == 0 ? exponent_max : timeout - 1;
      return 0;
    }
    default:
      return ENOSYS;
  }
}

// Multicast groups

/// The group is what its address says, of both kinds of link.
ibv_ah_attr way_to_group(const Identifier& identifier, const IpEndpoint& group) {
  ibv_ah_attr way = identifier.agent->way(identifier.source.address, group.address);
  way.is_global = 1;
  std::memcpy(way.grh.dgid.raw, group.address.data(), group.address.size());
  if (identifier.agent->port().is_ethernet) return way;
  std::uint16_t low = 0;
  std::memcpy(&low, &group.address[14], sizeof(low));
  way.dlid = first_multicast_lid | (ntohs(low) & multicast_lid_mask);
  way.grh.hop_limit = 1;
  return way;
}

int join(const Call& call, Identifier* identifier, std::span<const std::byte> address,
         std::uint64_t uid, std::uint64_t response) {
  if (identifier == nullptr) return ENOENT;
  const std::optional<IpEndpoint> group = endpoint_from(address);
  if (!group) return EAFNOSUPPORT;
  const bool is_ready = identifier->agent != nullptr && identifier->is_datagram();
  if (!is_ready || !link::is_multicast(group->address)) return EINVAL;
  JoinedGroup& joined = call.service.add_group(*identifier);
  if (const int error = call.answer(response, rdma_ucm_create_id_resp{.id = joined.handle});
      error != 0) {
    call.service.remove_group(joined);
    return error;
  }
  QueuedEvent event{.identifier = identifier->handle, .group = joined.handle};
  event.shown.uid = uid;
  event.shown.id = identifier->handle;
  event.shown.event = cm_event::multicast_join;
  event.shown.param.ud.qp_num = link::multicast_number;
  event.shown.param.ud.qkey = identifier->queue_key;
  event.shown.param.ud.ah_attr = kernel_address(way_to_group(*identifier, *group));
  identifier->channel->push(event);
  return 0;
}

int join_ip(const Call& call) {
  const auto command = call.as<rdma_ucm_join_ip_mcast>();
  return join(call, call.identifier(command.id), bytes_of(command.addr), command.uid,
              command.response);
}

int join_any(const Call& call) {
  const auto command = call.as<rdma_ucm_join_mcast>();
  return join(call, call.identifier(command.id), bytes_of(command.addr, command.addr_size),
              command.uid, command.response);
}

int leave(const Call& call) {
  const auto command = call.as<rdma_ucm_destroy_id>();
  const JoinedGroup* const group = call.service.find_group(command.id);
  if (group == nullptr || call.identifier(group->identifier) == nullptr) return ENOENT;
  const rdma_ucm_destroy_id_resp answer{.events_reported = group->events_reported};
  call.service.remove_group(*group);
  return call.answer(command.response, answer);
}

// Events

bool is_blocking(int descriptor) { return (::fcntl(descriptor, F_GETFL) & O_NONBLOCK) == 0; }

/// Waits without the mutex. Who waits on a channel that the program closes waits for ever, as with
/// the kernel: programs leave threads behind so.
int get_event(ConnectionService& service, int descriptor, const rdma_ucm_get_event& command) {
  std::shared_ptr<EventChannel> channel;
  for (;;) {
    {
      const std::lock_guard guard(service.mutex());
      if (channel == nullptr) channel = service.channel(descriptor);
      if (channel == nullptr) return EBADF;
      if (!channel->is_empty()) {
        const rdma_ucm_event_resp event = service.fetch(*channel);
        std::memcpy(reinterpret_cast<void*>(command.response), &event, sizeof(event));
        return 0;
      }
    }
    if (!is_blocking(descriptor)) return EAGAIN;
    pollfd waited{.fd = descriptor, .events = POLLIN, .revents = 0};
    ::poll(&waited, 1, -1);
  }
}

using Command = int (*)(const Call&);

Command command_of(std::uint32_t number) {
  switch (number) {
    case RDMA_USER_CM_CMD_CREATE_ID:
      return create_identifier;
    case RDMA_USER_CM_CMD_DESTROY_ID:
      return destroy_identifier;
    case RDMA_USER_CM_CMD_BIND_IP:
      return bind_ip;
    case RDMA_USER_CM_CMD_RESOLVE_IP:
      return resolve_ip;
    case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
      return resolve_route;
    case RDMA_USER_CM_CMD_QUERY_ROUTE:
      return query_route;
    case RDMA_USER_CM_CMD_CONNECT:
      return connect;
    case RDMA_USER_CM_CMD_LISTEN:
      return listen;
    case RDMA_USER_CM_CMD_ACCEPT:
      return accept;
    case RDMA_USER_CM_CMD_REJECT:
      return reject;
    case RDMA_USER_CM_CMD_DISCONNECT:
      return disconnect;
    case RDMA_USER_CM_CMD_INIT_QP_ATTR:
      return queue_pair_attributes;
    case RDMA_USER_CM_CMD_SET_OPTION:
      return set_option;
    case RDMA_USER_CM_CMD_NOTIFY:
      return notify;
    case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
      return join_ip;
    case RDMA_USER_CM_CMD_LEAVE_MCAST:
      return leave;
    case RDMA_USER_CM_CMD_MIGRATE_ID:
      return migrate_identifier;
    case RDMA_USER_CM_CMD_BIND:
      return bind_any;
    case RDMA_USER_CM_CMD_RESOLVE_ADDR:
      return resolve_any;
    case RDMA_USER_CM_CMD_JOIN_MCAST:
      return join_any;
    default:
      return nullptr;
  }
}

}  // namespace

ib_uverbs_ah_attr kernel_address(const ibv_ah_attr& address) {
  ib_uverbs_ah_attr out{};
  std::memcpy(out.grh.dgid, address.grh.dgid.raw, sizeof(out.grh.dgid));
  out.grh.flow_label = address.grh.flow_label;
  out.grh.sgid_index = address.grh.sgid_index;
  out.grh.hop_limit = address.grh.hop_limit;
  out.grh.traffic_class = address.grh.traffic_class;
  out.dlid = address.dlid;
  out.sl = address.sl;
  out.src_path_bits = address.src_path_bits;
  out.static_rate = address.static_rate;
  out.is_global = address.is_global;
  out.port_num = address.port_num;
  return out;
}

int execute_command(ConnectionService& service, int descriptor,
                    std::span<const std::byte> command) {
  rdma_ucm_cmd_hdr header{};
  if (command.size() < sizeof(header)) return EINVAL;
  std::memcpy(&header, command.data(), sizeof(header));
  const std::span<const std::byte> input = command.subspan(sizeof(header));
  if (header.in > input.size()) return EINVAL;
  if (header.cmd == RDMA_USER_CM_CMD_GET_EVENT) {
    rdma_ucm_get_event wanted{};
    if (input.size() < sizeof(wanted)) return EINVAL;
    if (header.out < sizeof(rdma_ucm_event_resp)) return ENOSPC;
    std::memcpy(&wanted, input.data(), sizeof(wanted));
    return get_event(service, descriptor, wanted);
  }
  const Command known = command_of(header.cmd);
  if (known == nullptr) return ENOSYS;
  const std::lock_guard guard(service.mutex());
  const auto channel = service.channel(descriptor);
  if (channel == nullptr) return EBADF;
  return known({service, *channel, input.first(header.in), header.out});
}

}  // namespace softrdma::verbs
