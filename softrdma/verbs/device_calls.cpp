// Devices, ports and their attributes.
#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "softrdma/memory/scatter_gather.hpp"
#include "softrdma/qp/context.hpp"
#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/objects.hpp"
#include "softrdma/verbs/process.hpp"
#include "softrdma/wire/tag_header.hpp"

namespace softrdma::verbs {
namespace {

constexpr std::uint16_t default_partition = 0xffff;
constexpr std::uint32_t vendor = 0x025344;  // locally administered: nobody's OUI

void fill_tables(verbs_context& context) {
  context.sz = sizeof(verbs_context);
  context.query_port = query_port;
  context.query_device_ex = query_device_ex;
  context.query_rt_values = query_rt_values;
  context.alloc_td = alloc_td;
  context.dealloc_td = dealloc_td;
  context.alloc_parent_domain = alloc_parent_domain;
  context.create_cq_ex = create_cq_ex;
  context.create_qp_ex = create_qp_ex;
  context.open_qp = open_qp;
  context.alloc_dm = alloc_dm;
  context.free_dm = free_dm;
  context.reg_dm_mr = reg_dm_mr;
  context.advise_mr = advise_mr;
  context.open_xrcd = open_xrcd;
  context.close_xrcd = close_xrcd;
  context.create_srq_ex = create_srq_ex;
  context.get_srq_num = get_srq_num;
  context.post_srq_ops = post_srq_ops;
  ibv_context_ops& ops = context.context.ops;
  ops.alloc_mw = alloc_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.bind_mw = bind_mw;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
  ops.post_srq_recv = post_srq_recv;
  context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

ibv_device_attr attributes_of(const Adapter& adapter) {
  constexpr int many = 1 << 24;
  ibv_device_attr out{};
  std::strcpy(out.fw_ver, "0.1");
  out.node_guid = out.sys_image_guid = htobe64(adapter.guid());
  out.max_mr_size = ~std::uint64_t{0};
  out.page_size_cap = 4096;
  out.vendor_id = vendor;
  out.vendor_part_id = 1;
  out.max_qp = static_cast<int>(adapter.queue_pairs_max());
  out.max_qp_wr = work_max;
  out.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
                         IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_SRQ_RESIZE |
                         IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_MEM_WINDOW |
                         IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC;
  out.max_sge = out.max_sge_rd = out.max_srq_sge = static_cast<int>(memory::entries_max);
  out.max_cq = out.max_mr = out.max_pd = out.max_ah = out.max_srq = out.max_mw = many;
  out.max_cqe = completions_max;
  out.max_qp_rd_atom = out.max_qp_init_rd_atom = static_cast<int>(qp::reads_limit);
  out.max_res_rd_atom = out.max_qp_rd_atom * out.max_qp;
  out.atomic_cap = IBV_ATOMIC_GLOB;
  out.max_srq_wr = work_max;
  out.max_mcast_grp = static_cast<int>(device::groups_max);
  out.max_mcast_qp_attach = static_cast<int>(device::members_max);
  out.max_total_mcast_qp_attach = out.max_mcast_grp * out.max_mcast_qp_attach;
  out.max_pkeys = 1;
  out.local_ca_ack_delay = 15;
  out.phys_port_cnt = adapter.port_count();
  return out;
}

ibv_port_attr port_attributes(const link::PortIdentity& port, bool is_up) {
  constexpr std::uint8_t link_up = 5;
  constexpr std::uint8_t disabled = 3;
  constexpr std::uint8_t width_4x = 2;
  constexpr std::uint8_t speed_edr = 32;
  ibv_port_attr out{};
  out.state = is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  out.max_mtu = IBV_MTU_4096;
  out.active_mtu = port.mtu;
  out.gid_tbl_len = static_cast<int>(port.gids.size());
  out.max_msg_sz = message_bytes_max;
  out.pkey_tbl_len = 1;
  out.lid = port.lid;
  out.sm_lid = port.lid;
  out.max_vl_num = 1;
  out.active_width = width_4x;
  out.active_speed = speed_edr;
  out.phys_state = is_up ? link_up : disabled;
  out.link_layer = port.is_ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  return out;
}

/// Memory is never pinned: every region is paged on demand, whether it asks for that or not.
void fill_paging(ibv_device_attr_ex& attributes) {
  constexpr std::uint32_t connectionless =
      IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
  constexpr std::uint32_t unreliable = connectionless | IBV_ODP_SUPPORT_WRITE;
  constexpr std::uint32_t reliable = unreliable | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
  attributes.odp_caps.general_caps = IBV_ODP_SUPPORT;
  attributes.odp_caps.per_transport_caps = {
      .rc_odp_caps = reliable, .uc_odp_caps = unreliable, .ud_odp_caps = connectionless};
  attributes.xrc_odp_caps = reliable;
}

const link::PortIdentity* port_of(ibv_context* context, std::uint32_t number) {
  return Context::of(context).adapter->port(number);
}

bool fill_gid_entry(const link::PortIdentity& port, std::uint32_t number, std::uint32_t index,
                    ibv_gid_entry* entry) {
  if (index >= port.gids.size()) return false;
  *entry = {};
  entry->gid = port.gids[index];
  entry->gid_index = index;
  entry->port_num = number;
  entry->gid_type = port.is_ethernet ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
  return true;
}

}  // namespace

std::nullptr_t refuse(int error) {
  errno = error;
  return nullptr;
}

int query_port(ibv_context* context, std::uint8_t number, ibv_port_attr* attributes,
               std::size_t bytes) {
  const link::PortIdentity* const port = port_of(context, number);
  if (port == nullptr) return EINVAL;
  Adapter& adapter = *Context::of(context).adapter;
  const auto is_up = [&] {
    const auto lock = adapter.lock();
    return adapter.device().is_port_up(number);
  };
  const ibv_port_attr known = port_attributes(*port, is_up());
  std::memset(attributes, 0, bytes);
  std::memcpy(attributes, &known, std::min(bytes, sizeof(known)));
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t bytes) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  ibv_device_attr_ex known{};
  known.orig_attr = attributes_of(*Context::of(context).adapter);
  known.completion_timestamp_mask = ~std::uint64_t{0};
  known.hca_core_clock = 1000000;  // kHz: time stamps count nanoseconds
  known.device_cap_flags_ex = known.orig_attr.device_cap_flags;
  known.max_dm_size = device_memory_bytes_max;
  fill_paging(known);
  known.tm_caps = {.max_rndv_hdr_size = wire::rendezvous_bytes_max,
                   .max_num_tags = tags_max,
                   .flags = IBV_TM_CAP_RC,
                   .max_ops = tag_operations_max,
                   .max_sge = queue::tag_entries_max};
  known.phys_port_cnt_ex = known.orig_attr.phys_port_cnt;
  std::memset(attributes, 0, bytes);
  std::memcpy(attributes, &known, std::min(bytes, sizeof(known)));
  return 0;
}

/// The clock of the time stamps, as it is now.
int query_rt_values(ibv_context* context, ibv_values_ex* values) {
  constexpr std::uint64_t second_ns = 1000000000;
  if ((values->comp_mask & ~unsigned{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return EINVAL;
  const std::uint64_t now_ns = Context::of(context).adapter->now_ns();
  values->raw_clock.tv_sec = static_cast<time_t>(now_ns / second_ns);
  values->raw_clock.tv_nsec = static_cast<long>(now_ns % second_ns);
  return 0;
}

SOFTRDMA_EXPORT ibv_device** ibv_get_device_list(int* count) {
  const auto* const all = devices();
  if (count != nullptr) *count = 0;
  if (all == nullptr || is_lost()) return refuse(all == nullptr ? EINVAL : ENODEV);
  auto** const list = static_cast<ibv_device**>(std::calloc(all->size() + 1, sizeof(ibv_device*)));
  if (list == nullptr) return refuse(ENOMEM);
  std::ranges::transform(*all, list, [](const auto& device) { return &device->visible; });
  if (count != nullptr) *count = static_cast<int>(all->size());
  return list;
}

SOFTRDMA_EXPORT void ibv_free_device_list(ibv_device** list) { std::free(list); }

SOFTRDMA_EXPORT const char* ibv_get_device_name(ibv_device* device) { return device->name; }

SOFTRDMA_EXPORT int ibv_get_device_index(ibv_device* device) {
  return ListedDevice::of(device).index;
}

SOFTRDMA_EXPORT __be64 ibv_get_device_guid(ibv_device* device) {
  return htobe64(ListedDevice::of(device).adapter->guid());
}

SOFTRDMA_EXPORT ibv_context* ibv_open_device(ibv_device* device) {
  if (is_lost()) return refuse(ENODEV);
  auto context = std::make_unique<Context>();
  if (context->events.descriptor() < 0 || !context->descriptor.is_open()) return refuse(EMFILE);
  ListedDevice& listed = ListedDevice::of(device);
  context->adapter = listed.adapter.get();
  if (!context->adapter->has_thread()) context->events.never_wait();
  hawser::platform::MemoryWatch* const watch =
      context->adapter->is_strict() ? memory_watch() : nullptr;
  if (context->adapter->is_strict() && watch == nullptr) return refuse(ENOSYS);
  {
    const auto lock = context->adapter->lock();
    if (watch != nullptr) context->adapter->watch(*watch);
    context->adapter->start();
    ++listed.contexts;
    context->adapter->listen(context->events);
  }
  fill_tables(context->visible);
  ibv_context& visible = context->visible.context;
  visible.device = device;
  visible.cmd_fd = context->descriptor.get();
  visible.async_fd = context->events.descriptor();
  visible.num_comp_vectors = 1;
  ::pthread_mutex_init(&visible.mutex, nullptr);
  return &context.release()->visible.context;
}

SOFTRDMA_EXPORT int ibv_close_device(ibv_context* context) {
  ListedDevice& listed = ListedDevice::of(context->device);
  Context& object = Context::of(context);
  {
    const auto lock = listed.adapter->lock();
    listed.adapter->ignore(object.events);
    --listed.contexts;
  }
  delete &object;
  return 0;
}

SOFTRDMA_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  *attributes = attributes_of(*Context::of(context).adapter);
  return 0;
}

/// The layout of libibverbs 1.0: what came later is missing.
SOFTRDMA_EXPORT int ibv_query_port(ibv_context* context, std::uint8_t number,
                                   _compat_ibv_port_attr* attributes) {
  return query_port(context, number, reinterpret_cast<ibv_port_attr*>(attributes),
                    offsetof(ibv_port_attr, port_cap_flags2));
}

SOFTRDMA_EXPORT int ibv_query_gid(ibv_context* context, std::uint8_t number, int index,
                                  ibv_gid* gid) {
  const link::PortIdentity* const port = port_of(context, number);
  ibv_gid_entry entry;
  if (port == nullptr || index < 0 ||
      !fill_gid_entry(*port, number, static_cast<std::uint32_t>(index), &entry)) {
    errno = EINVAL;
    return -1;
  }
  *gid = entry.gid;
  return 0;
}

/// Of the private interface of libibverbs, but ibv_devinfo and perftest call it. *type: 1 of
/// RoCEv2, else 0.
SOFTRDMA_EXPORT int ibv_query_gid_type(ibv_context* context, std::uint8_t number, unsigned index,
                                       int* type) {
  const link::PortIdentity* const port = port_of(context, number);
  if (port == nullptr || index >= port->gids.size()) {
    errno = EINVAL;
    return -1;
  }
  *type = port->is_ethernet ? 1 : 0;
  return 0;
}

SOFTRDMA_EXPORT int _ibv_query_gid_ex(ibv_context* context, std::uint32_t number,
                                      std::uint32_t index, ibv_gid_entry* entry,
                                      std::uint32_t flags, std::size_t entry_bytes) {
  const link::PortIdentity* const port = port_of(context, number);
  ibv_gid_entry known;
  if (flags != 0 || port == nullptr) return EINVAL;
  if (!fill_gid_entry(*port, number, index, &known)) return EINVAL;
  std::memcpy(entry, &known, std::min(entry_bytes, sizeof(known)));
  return 0;
}

SOFTRDMA_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                                             std::size_t entries_max, std::uint32_t flags,
                                             std::size_t entry_bytes) {
  if (flags != 0) return -EINVAL;
  std::size_t count = 0;
  const Adapter& adapter = *Context::of(context).adapter;
  auto* out = reinterpret_cast<std::byte*>(entries);
  for (std::uint32_t number = 1; number <= adapter.port_count(); ++number) {
    ibv_gid_entry known;
    for (std::uint32_t i = 0; fill_gid_entry(*adapter.port(number), number, i, &known); ++i) {
      if (count == entries_max) return -EINVAL;
      std::memcpy(out + count++ * entry_bytes, &known, std::min(entry_bytes, sizeof(known)));
    }
  }
  return static_cast<ssize_t>(count);
}

SOFTRDMA_EXPORT int ibv_query_pkey(ibv_context* context, std::uint8_t number, int index,
                                   __be16* key) {
  if (port_of(context, number) == nullptr || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *key = htobe16(default_partition);
  return 0;
}

SOFTRDMA_EXPORT int ibv_get_pkey_index(ibv_context* context, std::uint8_t number, __be16 key) {
  if (port_of(context, number) != nullptr && key == htobe16(default_partition)) return 0;
  errno = EINVAL;
  return -1;
}

/// Memory is never pinned, so that fork() needs no preparation.
SOFTRDMA_EXPORT int ibv_fork_init() { return 0; }
SOFTRDMA_EXPORT ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
SOFTRDMA_EXPORT int ibv_dontfork_range(void*, std::size_t) { return 0; }
SOFTRDMA_EXPORT int ibv_dofork_range(void*, std::size_t) { return 0; }

}  // namespace softrdma::verbs
