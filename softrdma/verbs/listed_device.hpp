// ListedDevice: a device as programs see it before they open it, and how those of a host are made.
//
// Ownership: of its adapter. Threads: the number of contexts is used under the adapter's lock; the
// rest is constant.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "softrdma/fabric/host.hpp"
#include "softrdma/verbs/adapter.hpp"
#include "softrdma/verbs/host_attachment.hpp"

namespace softrdma::verbs {

// What may be asked for.
inline constexpr int devices_max = 64;  // of the list
inline constexpr int ports_max = 16;
inline constexpr int contexts_max = 1 << 24;
inline constexpr int queue_pairs_limit = 1 << 23;
inline constexpr int delay_us_max = 1'000'000;
inline constexpr double mishaps_per_second_max = 1000;

/// UCX reads past ibv_device, as if it were the larger structure of drivers.
struct ListedDevice {
  ListedDevice(int number, std::unique_ptr<Adapter> of);
  static ListedDevice& of(ibv_device* device) { return *reinterpret_cast<ListedDevice*>(device); }

  ibv_device visible{};
  std::byte padding[512]{};
  const int index;
  const std::unique_ptr<Adapter> adapter;
  int contexts = 0;     // open ones
  bool is_own = false;  // the program's, which destroys it
};

struct HostDeviceSettings {
  std::string fabric;
  int index_in_fabric = 0;  // devices of a fabric that have the same are one adapter
  std::vector<fabric::NetworkAddress> addresses;  // empty: all that the host has
  AdapterSettings adapter;                        // but for the secret, which is drawn
  HostSettings host;
};

/// Without a way to other hosts (another fabric, or another program, has the sockets) there is a
/// device still, and *no_network says why.
hawser::base::Result<std::unique_ptr<ListedDevice>> make_host_device(
    int index, HostDeviceSettings settings, std::optional<hawser::base::Error>* no_network);

}  // namespace softrdma::verbs
