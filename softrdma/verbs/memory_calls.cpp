// Protection domains, memory regions and address handles.
#include <arpa/inet.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

#include "softrdma/udp/addresses.hpp"
#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/objects.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {
namespace {

constexpr unsigned known_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_MW_BIND | IBV_ACCESS_HUGETLB | IBV_ACCESS_ON_DEMAND;

Adapter& adapter_of(ibv_context* context) { return *Context::of(context).adapter; }

/// Whoever may change it from afar may change it here (IBA §10.6.3.1).
bool is_consistent(unsigned access) {
  constexpr unsigned remote_changes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  return (access & remote_changes) == 0 || (access & IBV_ACCESS_LOCAL_WRITE) != 0;
}

/// Flags in the range of the optional ones may be ignored.
int check_access(unsigned access) {
  const unsigned needed = access & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE};
  if ((needed & ~known_access) != 0) return EOPNOTSUPP;
  return is_consistent(needed) ? 0 : EINVAL;
}

}  // namespace

ibv_mr* register_region(ibv_pd* pd, void* memory, std::size_t bytes, std::uint64_t address,
                        unsigned access) {
  if (is_lost()) return refuse(ENODEV);
  if (const int error = check_access(access); error != 0) return refuse(error);
  // All of a program's memory by one key: there is no such region.
  const bool is_implicit = memory == nullptr && bytes == SIZE_MAX;
  if (is_implicit) return refuse(EOPNOTSUPP);
  const auto start = reinterpret_cast<std::uintptr_t>(memory);
  if (start + bytes < start || address + bytes < address) return refuse(EINVAL);
  auto& domain = object_of<Domain>(pd);
  Adapter& adapter = adapter_of(pd->context);
  auto region = std::make_unique<Region>();
  const auto lock = adapter.lock();
  if (StrictMode* const strict = adapter.strict(); strict != nullptr)
    strict->before_registration({static_cast<const std::byte*>(memory), bytes}, access);
  const std::optional<std::uint32_t> key =
      adapter.device().regions().insert({.address = address,
                                         .bytes = bytes,
                                         .memory = static_cast<std::byte*>(memory),
                                         .domain = domain.number,
                                         .access = access & known_access});
  if (!key) return refuse(ENOMEM);
  ++domain.users;
  region->handle.visible = {.context = pd->context,
                            .pd = pd,
                            .addr = memory,
                            .length = bytes,
                            .handle = *key,
                            .lkey = *key,
                            .rkey = *key};
  region->handle.object = region.get();
  return &region.release()->handle.visible;
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  if (is_lost()) return refuse(ENODEV);
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return refuse(EINVAL);
  auto& domain = object_of<Domain>(pd);
  Adapter& adapter = adapter_of(pd->context);
  auto window = std::make_unique<Window>();
  const auto lock = adapter.lock();
  const std::optional<std::uint32_t> key = adapter.device().regions().insert(
      {.domain = domain.number,
       .kind =
           type == IBV_MW_TYPE_1 ? memory::RegionKind::window_1 : memory::RegionKind::window_2});
  if (!key) return refuse(ENOMEM);
  ++domain.users;
  window->handle.visible = {
      .context = pd->context, .pd = pd, .rkey = *key, .handle = *key, .type = type};
  window->handle.object = window.get();
  return &window.release()->handle.visible;
}

int dealloc_mw(ibv_mw* mw) {
  auto& window = object_of<Window>(mw);
  Adapter& adapter = adapter_of(mw->context);
  const auto lock = adapter.lock();
  // The tag may be one that the program chose and that no bind has made true.
  adapter.device().regions().erase_place(mw->rkey);
  --object_of<Domain>(mw->pd).users;
  delete &window;
  return 0;
}

SOFTRDMA_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (is_lost()) return refuse(ENODEV);
  auto domain = std::make_unique<Domain>();
  Adapter& adapter = adapter_of(context);
  const auto lock = adapter.lock();
  domain->number = adapter.device().new_domain();
  domain->handle.visible = {.context = context, .handle = domain->number};
  domain->handle.object = domain.get();
  return &domain.release()->handle.visible;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes) {
  if (is_lost()) return refuse(ENODEV);
  if (attributes->comp_mask != 0) return refuse(EINVAL);
  auto thread = std::make_unique<ThreadDomain>();
  thread->handle.visible.context = context;
  thread->handle.object = thread.get();
  return &thread.release()->handle.visible;
}

int dealloc_td(ibv_td* td) {
  auto& thread = object_of<ThreadDomain>(td);
  const auto lock = adapter_of(td->context).lock();
  if (thread.users > 0) return EBUSY;
  delete &thread;
  return 0;
}

/// Allocators of the program are refused: queues lie in memory of the library's own.
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  if (is_lost()) return refuse(ENODEV);
  if (attributes->pd == nullptr) return refuse(EINVAL);
  if ((attributes->comp_mask & ~unsigned{IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT}) != 0)
    return refuse(EOPNOTSUPP);
  auto domain = std::make_unique<Domain>();
  domain->parent = &object_of<Domain>(attributes->pd);
  domain->thread = attributes->td == nullptr ? nullptr : &object_of<ThreadDomain>(attributes->td);
  const auto lock = adapter_of(context).lock();
  domain->number = domain->parent->number;
  ++domain->parent->users;
  if (domain->thread != nullptr) ++domain->thread->users;
  domain->handle.visible = {.context = context, .handle = domain->number};
  domain->handle.object = domain.get();
  return &domain.release()->handle.visible;
}

SOFTRDMA_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
  auto& domain = object_of<Domain>(pd);
  const auto lock = adapter_of(pd->context).lock();
  if (domain.users > 0) return EBUSY;
  if (domain.parent != nullptr) --domain.parent->users;
  if (domain.thread != nullptr) --domain.thread->users;
  delete &domain;
  return 0;
}

SOFTRDMA_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* memory, std::size_t bytes, int access) {
  return register_region(pd, memory, bytes, reinterpret_cast<std::uintptr_t>(memory),
                         static_cast<unsigned>(access));
}

SOFTRDMA_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* memory, std::size_t bytes,
                                        std::uint64_t address, int access) {
  return register_region(pd, memory, bytes, address, static_cast<unsigned>(access));
}

SOFTRDMA_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* memory, std::size_t bytes,
                                         std::uint64_t address, unsigned access) {
  return register_region(pd, memory, bytes, address, access);
}

/// Pages come when they are touched: there is nothing to do but to see that the keys are right.
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* entries,
              std::uint32_t count) {
  constexpr std::uint32_t known_flags = IBV_ADVISE_MR_FLAG_FLUSH;
  if ((flags & ~known_flags) != 0) return EINVAL;
  const bool is_known = advice == IBV_ADVISE_MR_ADVICE_PREFETCH ||
                        advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ||
                        advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
  if (!is_known) return EOPNOTSUPP;
  const bool writes = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  Adapter& adapter = adapter_of(pd->context);
  const auto lock = adapter.lock();
  for (const ibv_sge& entry : std::span(entries, count)) {
    const memory::Region* const region = adapter.device().regions().find(entry.lkey);
    if (region == nullptr || (region->access & IBV_ACCESS_ON_DEMAND) == 0) return EINVAL;
    const memory::Opened opened = adapter.device().regions().open(
        entry.lkey, entry.addr, entry.length,
        {object_of<Domain>(pd).number, 0, writes ? unsigned{IBV_ACCESS_LOCAL_WRITE} : 0U});
    if (!opened.ok()) return opened.refusal == memory::Refusal::missing_right ? EPERM : EFAULT;
  }
  return 0;
}

SOFTRDMA_EXPORT int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* memory, std::size_t bytes,
                                 int access) {
  constexpr int known = IBV_REREG_MR_FLAGS_SUPPORTED;
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool regrants = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  const bool changes_domain = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const int error = regrants ? check_access(static_cast<unsigned>(access)) : 0;
  if ((flags & ~known) != 0 || flags == 0 || (moves && bytes == 0) ||
      (changes_domain && pd == nullptr) || error != 0) {
    errno = error != 0 ? error : EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  Adapter& adapter = adapter_of(mr->context);
  const auto lock = adapter.lock();
  memory::Region region = *adapter.device().regions().find(mr->lkey);
  const std::span<const std::byte> before(region.memory, region.bytes);
  if (moves) {
    if (StrictMode* const strict = adapter.strict(); strict != nullptr)
      strict->before_registration({static_cast<const std::byte*>(memory), bytes},
                                  regrants ? static_cast<unsigned>(access) : region.access);
    region.memory = static_cast<std::byte*>(memory);
    region.address = reinterpret_cast<std::uintptr_t>(memory);
    region.bytes = bytes;
    mr->addr = memory;
    mr->length = bytes;
  }
  if (regrants) region.access = static_cast<unsigned>(access) & known_access;
  if (changes_domain) {
    --object_of<Domain>(mr->pd).users;
    auto& domain = object_of<Domain>(pd);
    ++domain.users;
    region.domain = domain.number;
    mr->pd = pd;
  }
  if (moves) {
    adapter.device().regions().renew(mr->lkey, region);
  } else {
    adapter.device().regions().change(mr->lkey, region);
  }
  adapter.device().withdraw(before);
  return 0;
}

SOFTRDMA_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  auto& region = object_of<Region>(mr);
  Adapter& adapter = adapter_of(mr->context);
  const auto lock = adapter.lock();
  device::Device& device = adapter.device();
  const memory::Region registered = *device.regions().find(mr->lkey);
  if (registered.windows > 0) return EBUSY;
  const std::span<const std::byte> memory(registered.memory, registered.bytes);
  device.regions().erase(mr->lkey);
  device.withdraw(memory);
  --object_of<Domain>(mr->pd).users;
  if (region.device_memory != nullptr) --region.device_memory->users;
  delete &region;
  return 0;
}

SOFTRDMA_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  if (is_lost()) return refuse(ENODEV);
  Adapter& adapter = adapter_of(pd->context);
  const link::PortIdentity* const port = adapter.port(attributes->port_num);
  if (port == nullptr || (port->is_ethernet && attributes->is_global == 0) ||
      (attributes->is_global != 0 && attributes->grh.sgid_index >= port->gids.size()))
    return refuse(EINVAL);
  auto address = std::make_unique<AddressHandle>();
  address->attributes = *attributes;
  address->handle.visible = {.context = pd->context, .pd = pd, .handle = 0};
  address->handle.object = address.get();
  const auto lock = adapter.lock();
  ++object_of<Domain>(pd).users;
  return &address.release()->handle.visible;
}

SOFTRDMA_EXPORT int ibv_destroy_ah(ibv_ah* ah) {
  auto& address = object_of<AddressHandle>(ah);
  const auto lock = adapter_of(ah->context).lock();
  --object_of<Domain>(ah->pd).users;
  delete &address;
  return 0;
}

namespace {

/// Both ends of a packet as GIDs. Of IPv4 its header fills the last 20 bytes of HEADER.
struct Ends {
  ibv_gid source;
  ibv_gid destination;
};
Ends ends_of(const ibv_grh& header) {
  constexpr unsigned ipv6_version = 6;
  if (ntohl(header.version_tclass_flow) >> 28 == ipv6_version) return {header.sgid, header.dgid};
  constexpr std::size_t ipv4_at = 20;
  constexpr std::size_t source_at = ipv4_at + 12;
  const auto mapped = [&](std::size_t at) {
    in_addr ipv4;
    std::memcpy(&ipv4, reinterpret_cast<const std::byte*>(&header) + at, sizeof(ipv4));
    return udp::gid_of(udp::address_of(ipv4));
  };
  return {mapped(source_at), mapped(source_at + sizeof(in_addr))};
}

}  // namespace

/// The way back to whoever sent the message of WC; GRH: the first 40 bytes of its buffer.
SOFTRDMA_EXPORT int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t number, ibv_wc* wc,
                                        ibv_grh* grh, ibv_ah_attr* attributes) {
  const link::PortIdentity* const port = adapter_of(context).port(number);
  if (port == nullptr) return EINVAL;
  *attributes = {};
  attributes->dlid = wc->slid;
  attributes->sl = wc->sl;
  attributes->src_path_bits = wc->dlid_path_bits;
  attributes->port_num = number;
  if ((wc->wc_flags & IBV_WC_GRH) == 0) return 0;
  attributes->is_global = 1;
  const Ends ends = ends_of(*grh);
  attributes->grh.dgid = ends.source;
  attributes->grh.hop_limit = 0xff;
  for (std::size_t i = 0; i < port->gids.size(); ++i) {
    if (std::memcmp(port->gids[i].raw, ends.destination.raw, sizeof(ibv_gid)) != 0) continue;
    attributes->grh.sgid_index = static_cast<std::uint8_t>(i);
    return 0;
  }
  return EINVAL;
}

SOFTRDMA_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh,
                                              std::uint8_t number) {
  ibv_ah_attr attributes;
  if (const int error = ibv_init_ah_from_wc(pd->context, number, wc, grh, &attributes); error != 0)
    return refuse(error);
  return ibv_create_ah(pd, &attributes);
}

}  // namespace softrdma::verbs
