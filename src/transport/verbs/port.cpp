#include "transport/verbs/port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <ranges>
#include <span>
#include <utility>

#include "transport/verbs/device_distance.hpp"

namespace hawser::transport::verbs {

namespace {

using DeviceList = std::unique_ptr<ibv_device*, GiveBack<ibv_free_device_list>>;

/// The index of the address that datagrams carry: on Ethernet the last of those for RoCE v2, which
/// routers know; elsewhere the first, which every port has.
std::uint8_t choose_gid(ibv_context* context, std::uint8_t port, const ibv_port_attr& attributes) {
  constexpr int gids_max = 255;
  std::uint8_t chosen = 0;
  if (attributes.link_layer != IBV_LINK_LAYER_ETHERNET) return chosen;
  for (int i = 0; i < std::min(attributes.gid_tbl_len, gids_max); ++i) {
    ibv_gid_entry entry{};
    if (ibv_query_gid_ex(context, port, static_cast<std::uint32_t>(i), &entry, 0) == 0 &&
        entry.gid_type == IBV_GID_TYPE_ROCE_V2)
      chosen = static_cast<std::uint8_t>(i);
  }
  return chosen;
}

/// softrdma promises it, and so do the mlx4 and mlx5 adapters, over a bus that does not reorder.
bool keeps_write_order(std::string_view device) {
  return device.starts_with("softrdma") || device.starts_with("mlx");
}

/// Of a port of SPEED and WIDTH, as the verbs number them: what a lane carries, times lanes.
std::uint64_t bits_per_second(std::uint8_t speed, std::uint8_t width) {
  constexpr std::uint64_t megabit = 1'000'000;
  struct Lane {
    std::uint8_t speed;
    std::uint64_t megabits;
  };
  constexpr std::array<Lane, 8> lanes_of = {{{1, 2500},
                                             {2, 5000},
                                             {4, 10000},
                                             {8, 10000},
                                             {16, 14000},
                                             {32, 25000},
                                             {64, 50000},
                                             {128, 100000}}};
  constexpr std::array<std::pair<std::uint8_t, std::uint64_t>, 5> lanes = {
      {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}}};
  const auto lane = std::ranges::find(lanes_of, speed, &Lane::speed);
  const auto count =
      std::ranges::find(lanes, width, &std::pair<std::uint8_t, std::uint64_t>::first);
  if (lane == lanes_of.end() || count == lanes.end()) return lanes_of.front().megabits * megabit;
  return lane->megabits * count->second * megabit;
}

/// Port NUMBER of DEVICE in its CONTEXT; the device's name is empty if it is not active.
Port open_port(ibv_device* device, Context opened, std::uint8_t number) {
  Port port;
  port.context = std::move(opened);
  ibv_context* const context = port.context.get();
  ibv_device_attr limits{};
  ibv_port_attr attributes{};
  if (context == nullptr || ibv_query_device(context, &limits) != 0 ||
      ibv_query_port(context, number, &attributes) != 0 || attributes.state != IBV_PORT_ACTIVE)
    return {};
  port.number = number;
  port.mtu = static_cast<std::uint8_t>(attributes.active_mtu);
  port.lid = attributes.lid;
  port.is_ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  port.bits_per_second = bits_per_second(attributes.active_speed, attributes.active_width);
  port.gid_index = choose_gid(context, number, attributes);
  port.protection_domain.reset(ibv_alloc_pd(context));
  if (ibv_query_gid(context, number, port.gid_index, &port.gid) != 0 || !port.protection_domain)
    return {};
  port.device = ibv_get_device_name(device);
  port.reads_max = static_cast<std::uint8_t>(std::clamp(limits.max_qp_rd_atom, 1, 16));
  port.has_xrc = (limits.device_cap_flags & IBV_DEVICE_XRC) != 0;
  port.keeps_write_order = keeps_write_order(port.device);
  return port;
}

/// Adds the active ports of DEVICE to PORTS, each with a context of its own, up to PORTS_MAX.
void open_ports(ibv_device* device, std::vector<Port>& ports, std::size_t ports_max) {
  Context context(ibv_open_device(device));
  ibv_device_attr limits{};
  if (!context || ibv_query_device(context.get(), &limits) != 0) return;
  for (std::uint8_t number = 1; number <= limits.phys_port_cnt && ports.size() < ports_max;
       ++number) {
    if (!context) context.reset(ibv_open_device(device));
    Port port = open_port(device, std::move(context), number);
    if (!port.device.empty()) ports.push_back(std::move(port));
  }
}

/// Whether NAME is in LIST, whose names have commas between them; an empty one has all.
bool is_listed(std::string_view list, std::string_view name) {
  if (list.empty()) return true;
  return std::ranges::any_of(std::views::split(list, ','),
                             [&](const auto part) { return std::ranges::equal(part, name); });
}

/// Before anything is registered. Kernels that give a child copies of registered pages need it not;
/// elsewhere a child does without those pages, so that the parent's stay the ones its adapter
/// knows. A program that registered memory itself has chosen already.
void prepare_for_forks() {
  if (ibv_is_fork_initialized() == IBV_FORK_DISABLED) ibv_fork_init();
}

std::string names_of(std::span<ibv_device*> devices) {
  std::string names;
  for (ibv_device* device : devices)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", ibv_get_device_name(device));
  return names.empty() ? "none" : names;
}

}  // namespace

Result<std::vector<Port>> Port::open_all(const Settings& settings) {
  prepare_for_forks();
  int count = 0;
  const DeviceList list(ibv_get_device_list(&count));
  if (!list)
    return Error(ErrorClass::other,
                 fmt::format("the RDMA devices cannot be listed: {}; where there is no adapter or "
                             "driver, set verbs.adapter to softrdma",
                             std::strerror(errno)));
  const std::span<ibv_device*> devices(list.get(), static_cast<std::size_t>(count));
  std::vector<ibv_device*> wanted(devices.begin(), devices.end());
  std::erase_if(wanted, [&](ibv_device* each) {
    return !is_listed(settings.device, ibv_get_device_name(each));
  });
  std::ranges::stable_sort(wanted, {}, [](ibv_device* each) { return distance_to(*each); });
  std::vector<Port> ports;
  const auto rails_max = static_cast<std::size_t>(settings.rails_max);
  for (ibv_device* device : wanted)
    if (ports.size() < rails_max) open_ports(device, ports, rails_max);
  if (!ports.empty()) return ports;
  const std::string missing = settings.device.empty()
                                  ? "no RDMA device has"
                                  : fmt::format("'{}' is not there or lacks", settings.device);
  return Error(ErrorClass::other,
               fmt::format("{} an active port (devices: {}); set verbs.device to one that has, or "
                           "verbs.adapter to softrdma",
                           missing, names_of(devices)));
}

Result<Port> Port::open(const Settings& settings) {
  Settings one = settings;
  one.rails_max = 1;
  auto ports = open_all(one);
  if (!ports) return ports.take_error();
  return std::move(ports->front());
}

Error refusal(std::string_view what) {
  return Error(ErrorClass::other,
               fmt::format("the adapter refuses {}: {}", what, std::strerror(errno)));
}

Result<void> Port::open_datagram_queue_pair(ibv_qp& queue_pair, std::uint32_t queue_key) const {
  ibv_qp_attr attributes{};
  // ibv_modify_qp returns what others leave in errno.
  const auto enter = [&](ibv_qp_state state, int given) {
    attributes.qp_state = state;
    errno = ibv_modify_qp(&queue_pair, &attributes, IBV_QP_STATE | given);
    return errno == 0;
  };
  attributes.port_num = number;
  attributes.qkey = queue_key;
  if (!enter(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
    return refusal("to initialise a datagram queue pair");
  if (!enter(IBV_QPS_RTR, 0)) return refusal("to receive by a datagram queue pair");
  if (!enter(IBV_QPS_RTS, IBV_QP_SQ_PSN)) return refusal("to send by a datagram queue pair");
  return {};
}

ibv_ah_attr Port::route_to(const PortAddress& peer) const {
  ibv_ah_attr attributes{};
  attributes.port_num = number;
  attributes.dlid = peer.lid;
  attributes.is_global = is_ethernet ? 1 : 0;
  attributes.grh.sgid_index = gid_index;
  attributes.grh.hop_limit = 64;
  std::memcpy(attributes.grh.dgid.raw, peer.gid, sizeof(peer.gid));
  return attributes;
}

AddressHandle Port::make_address_handle(const PortAddress& peer) const {
  ibv_ah_attr attributes = route_to(peer);
  return AddressHandle(ibv_create_ah(protection_domain.get(), &attributes));
}

AddressHandle Port::make_address_handle(ibv_wc& completion, std::byte* route) const {
  return AddressHandle(ibv_create_ah_from_wc(protection_domain.get(), &completion,
                                             reinterpret_cast<ibv_grh*>(route), number));
}

}  // namespace hawser::transport::verbs
