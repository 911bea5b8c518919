// Addresses of connections: binding, resolving, and what is known of them.
#include <arpa/inet.h>
#include <endian.h>
#include <rdma/rdma_user_cm.h>

#include <cerrno>

#include "softrdma/verbs/cm_call.hpp"
#include "softrdma/verbs/cm_events.hpp"

namespace softrdma::verbs::command {
namespace {

constexpr std::uint16_t usual_partition = 0xffff;
constexpr std::uint8_t exactly = 2;  // what a path record says of its numbers

// Addresses

/// The adapter that has ADDRESS; null if none has.
ConnectionAgent* agent_with(const ConnectionService& service, const IpEndpoint& endpoint) {
  for (const auto& agent : service.agents())
    if (agent->is_ours(endpoint)) return agent.get();
  return nullptr;
}

}  // namespace

int take_port(ConnectionService& service, Identifier& identifier, std::uint16_t wanted) {
  PortName name = service.port_name(identifier, wanted);
  identifier.port = wanted == 0 ? hold_free_port(&name) : hold_port(name, Holding::bound);
  if (!identifier.port.is_open()) return wanted == 0 ? EADDRNOTAVAIL : EADDRINUSE;
  identifier.source.port = name.port;
  return 0;
}

namespace {

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

}  // namespace

int bind_ip(const Call& call) {
  const auto command = call.as<rdma_ucm_bind_ip>();
  return bind_to(call, call.identifier(command.id), bytes_of(command.addr));
}

int bind_any(const Call& call) {
  const auto command = call.as<rdma_ucm_bind>();
  return bind_to(call, call.identifier(command.id), bytes_of(command.addr, command.addr_size));
}

namespace {

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
  const auto own = call.service.agents().front()->adapter().addresses();
  if (destination->is_any() && !own.empty()) destination->address = own.front().address;
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

}  // namespace

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

namespace {

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

}  // namespace

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

}  // namespace softrdma::verbs::command
