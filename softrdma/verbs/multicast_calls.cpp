// Multicast groups and the queue pairs that are attached to them. As with the Linux kernel, a queue
// pair that is attached to a group twice is so once.
#include <cerrno>

#include "softrdma/link/multicast.hpp"
#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/objects.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {
namespace {

/// InfiniBand has LIDs of groups, too; RoCE ignores them (IBA §4.1.3). Nothing here follows from
/// one.
bool is_group_lid(const Adapter& adapter, std::uint16_t lid) {
  constexpr std::uint32_t first_port = 1;
  constexpr std::uint16_t first_of_groups = 0xc000;
  constexpr std::uint16_t permissive = 0xffff;
  return adapter.port(first_port)->is_ethernet || (lid >= first_of_groups && lid != permissive);
}

/// CHANGE(device, queue pair), if QP may be attached to such a group at all.
template <class Change>
int with_group(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid, Change&& change) {
  if (is_lost()) return ENODEV;
  auto& object = object_of<QueuePair>(qp);
  Adapter& adapter = *object.context->adapter;
  if (qp->qp_type != IBV_QPT_UD || !link::is_multicast(link::address_of(*gid)) ||
      !is_group_lid(adapter, lid))
    return EINVAL;
  const auto lock = adapter.lock();
  return change(adapter.device(), *object.inner);
}

}  // namespace

SOFTRDMA_EXPORT int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return with_group(qp, gid, lid, [gid](device::Device& device, const qp::QueuePair& inner) {
    return device.attach(inner, *gid);
  });
}

SOFTRDMA_EXPORT int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return with_group(qp, gid, lid, [gid](device::Device& device, const qp::QueuePair& inner) {
    return device.detach(inner, *gid);
  });
}

}  // namespace softrdma::verbs
