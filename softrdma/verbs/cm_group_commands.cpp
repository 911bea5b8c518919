// Multicast groups: what programs of librdmacm join. Queue pairs are attached by librdmacm itself.
#include <arpa/inet.h>
#include <rdma/rdma_user_cm.h>

#include <cerrno>

#include "softrdma/link/multicast.hpp"
#include "softrdma/link/numbers.hpp"
#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/cm_call.hpp"
#include "softrdma/verbs/cm_events.hpp"

namespace softrdma::verbs::command {
namespace {

constexpr std::uint16_t first_multicast_lid = 0xc000;
constexpr std::uint16_t multicast_lid_mask = 0x3ffe;

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

}  // namespace

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

}  // namespace softrdma::verbs::command
