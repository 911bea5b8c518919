#include "softrdma/verbs/listed_device.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <span>
#include <utility>

#include "platform/file.hpp"
#include "softrdma/udp/addresses.hpp"
#include "softrdma/udp/socket.hpp"

namespace softrdma::verbs {

using hawser::base::Error;
using hawser::base::Result;

namespace {

fabric::Network open_network(const std::vector<fabric::NetworkAddress>& chosen,
                             std::optional<Error>* no_network) {
  fabric::Network network;
  network.addresses = chosen.empty() ? udp::addresses_of_host() : chosen;
  auto sockets = udp::open_sockets(chosen);
  if (sockets.ok()) {
    network.sockets = std::move(sockets.value());
  } else {
    *no_network = sockets.take_error();
  }
  return network;
}

/// What processes meet by; an empty name is one for this device alone.
std::string full_name(const HostDeviceSettings& settings) {
  if (settings.fabric.empty()) return {};
  return fmt::format("{}.{}", settings.fabric, settings.index_in_fabric);
}

}  // namespace

ListedDevice::ListedDevice(int number, std::unique_ptr<Adapter> of)
    : index(number), adapter(std::move(of)) {
  visible.node_type = IBV_NODE_CA;
  visible.transport_type = IBV_TRANSPORT_IB;
  std::snprintf(visible.name, sizeof(visible.name), "softrdma%d", index);
  std::snprintf(visible.dev_name, sizeof(visible.dev_name), "uverbs%d", index);
  std::snprintf(visible.dev_path, sizeof(visible.dev_path), "/sys/class/infiniband_verbs/uverbs%d",
                index);
  std::snprintf(visible.ibdev_path, sizeof(visible.ibdev_path), "/sys/class/infiniband/%s",
                visible.name);
}

Result<std::unique_ptr<ListedDevice>> make_host_device(int index, HostDeviceSettings settings,
                                                       std::optional<Error>* no_network) {
  auto host = fabric::Host::join(full_name(settings),
                                 [&] { return open_network(settings.addresses, no_network); });
  if (!host.ok()) return host.take_error();
  settings.adapter.secret = hawser::platform::random_number();
  return std::make_unique<ListedDevice>(
      index,
      std::make_unique<Adapter>(settings.adapter, std::make_unique<HostAttachment>(
                                                      settings.host, std::move(host.value()))));
}

}  // namespace softrdma::verbs
