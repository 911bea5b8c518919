#include "launcher/placement/binding.hpp"

#include <hwloc.h>

#include <array>
#include <memory>

#include "launcher/placement/share.hpp"
#include "platform/process.hpp"

namespace hawser::launcher {

namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

/// The cores that we may use; nothing if hwloc can't tell.
Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  // Cores and nothing else: caches, devices and NUMA distances would cost time.
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_flags(
      raw, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}

Binding binding_to(hwloc_topology_t topology, const CoreShare& share) {
  const Bitmap cores(hwloc_bitmap_alloc());
  for (std::uint32_t i = 0; i < share.count; ++i) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, share.first + i);
    if (core != nullptr) hwloc_bitmap_or(cores.get(), cores.get(), core->cpuset);
  }
  Binding binding;
  const int words = hwloc_bitmap_nr_ulongs(cores.get());
  if (words <= 0 || hwloc_bitmap_iszero(cores.get())) return binding;
  binding.mask.resize(static_cast<std::size_t>(words));
  hwloc_bitmap_to_ulongs(cores.get(), static_cast<unsigned>(words), binding.mask.data());
  std::array<char, 256> text{};
  hwloc_bitmap_list_snprintf(text.data(), text.size(), cores.get());
  binding.text = std::string("cores ") + text.data();
  return binding;
}

}  // namespace

std::vector<Binding> bind_ranks(BindTo bind_to, std::uint32_t ranks, std::uint32_t busy_threads) {
  std::vector<Binding> bindings(ranks);
  const auto threads = static_cast<std::uint32_t>(platform::usable_cores());
  // There are at most as many cores as hardware threads.
  if (threads < 1 || !share_of(bind_to, 0, ranks, busy_threads, threads)) return bindings;
  const Topology topology = load_topology();
  const int cores = topology ? hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE) : 0;
  for (std::uint32_t rank = 0; cores > 0 && rank < ranks; ++rank) {
    const auto share =
        share_of(bind_to, rank, ranks, busy_threads, static_cast<std::uint32_t>(cores));
    if (share) bindings[rank] = binding_to(topology.get(), *share);
  }
  return bindings;
}

}  // namespace hawser::launcher
