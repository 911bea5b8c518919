#include "softrdma/verbs/process.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "platform/file.hpp"
#include "softrdma/udp/addresses.hpp"
#include "softrdma/udp/socket.hpp"
#include "softrdma/verbs/host_attachment.hpp"

namespace softrdma::verbs {
namespace {

constexpr int devices_max = 64;
constexpr int ports_max = 16;

bool lost = false;

std::optional<int> number_from(const char* name, int least, int most,
                               std::optional<int> usual = std::nullopt) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return usual.value_or(least);
  const std::string_view view(text);
  int value = 0;
  const auto [end, error] = std::from_chars(view.begin(), view.end(), value);
  if (error == std::errc() && end == view.end() && least <= value && value <= most) return value;
  std::fprintf(stderr, "softrdma: %s is \"%s\"; it has to be a number from %d to %d\n", name, text,
               least, most);
  return std::nullopt;
}

/// A share of packets, as millionths.
std::optional<std::uint32_t> share_from(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return 0;
  const std::string_view view(text);
  double value = -1;
  const auto [end, error] = std::from_chars(view.begin(), view.end(), value);
  if (error == std::errc() && end == view.end() && 0 <= value && value <= 1)
    return static_cast<std::uint32_t>(std::lround(value * 1e6));
  std::fprintf(stderr, "softrdma: %s is \"%s\"; it has to be a number from 0 to 1\n", name, text);
  return std::nullopt;
}

std::optional<link::Faults> faults() {
  link::Faults out;
  const std::pair<const char*, std::uint32_t link::Faults::*> variables[] = {
      {"SOFTRDMA_LOSS", &link::Faults::lost},
      {"SOFTRDMA_DUPLICATE", &link::Faults::repeated},
      {"SOFTRDMA_REORDER", &link::Faults::late},
      {"SOFTRDMA_FLIP", &link::Faults::flipped}};
  for (const auto& [name, member] : variables) {
    const std::optional<std::uint32_t> share = share_from(name);
    if (!share) return std::nullopt;
    out.*member = *share;
  }
  return out;
}

std::optional<bool> is_ethernet() {
  const char* const text = std::getenv("SOFTRDMA_LINK");
  const std::string_view view(text == nullptr ? "ib" : text);
  if (view == "ib") return false;
  if (view == "roce") return true;
  std::fprintf(stderr, "softrdma: SOFTRDMA_LINK is \"%s\"; it has to be ib or roce\n", text);
  return std::nullopt;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  hawser::platform::random_bytes(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

/// What the processes share that name the same fabric; an empty name is one for this process alone.
std::string fabric_of(int index) {
  const char* const text = std::getenv("SOFTRDMA_FABRIC");
  const std::string name(text == nullptr ? "default" : text);
  return name.empty() ? name : fmt::format("{}.{}", name, index);
}

using Addresses = std::vector<fabric::NetworkAddress>;

/// Those that the environment names; empty: all that there are.
std::optional<Addresses> chosen_addresses() {
  const char* const text = std::getenv("SOFTRDMA_ADDRESS");
  auto addresses = udp::parse_addresses(text == nullptr ? "" : text);
  if (addresses.ok()) return std::move(addresses.value());
  std::fprintf(stderr, "%s\n", addresses.error().sentence().c_str());
  return std::nullopt;
}

/// The way to other hosts. Without sockets there is none: another fabric, or another program, has
/// them.
fabric::Network open_network(const Addresses& chosen) {
  fabric::Network network;
  network.addresses = chosen.empty() ? udp::addresses_of_host() : chosen;
  auto sockets = udp::open_sockets(chosen);
  if (sockets.ok()) {
    network.sockets = std::move(sockets.value());
  } else if (!chosen.empty()) {
    std::fprintf(stderr, "%s; only this host is reached\n", sockets.error().sentence().c_str());
  }
  return network;
}

/// Null, and a sentence on standard error, if it can't be had.
std::unique_ptr<ListedDevice> make_device(int index, AdapterSettings settings,
                                          const HostSettings& host_settings,
                                          const Addresses& chosen) {
  auto host = fabric::Host::join(fabric_of(index), [&] { return open_network(chosen); });
  if (!host.ok()) {
    std::fprintf(stderr, "%s\n", host.error().sentence().c_str());
    return nullptr;
  }
  settings.secret = random_number();

  auto device = std::make_unique<ListedDevice>();
  device->index = index;
  // Until the process ends: programs end with everything open.
  device->adapter = new Adapter(
      settings, std::make_unique<HostAttachment>(host_settings, std::move(host.value())));
  ibv_device& visible = device->visible;
  visible.node_type = IBV_NODE_CA;
  visible.transport_type = IBV_TRANSPORT_IB;
  std::snprintf(visible.name, sizeof(visible.name), "softrdma%d", index);
  std::snprintf(visible.dev_name, sizeof(visible.dev_name), "uverbs%d", index);
  std::snprintf(visible.dev_path, sizeof(visible.dev_path), "/sys/class/infiniband_verbs/uverbs%d",
                index);
  std::snprintf(visible.ibdev_path, sizeof(visible.ibdev_path), "/sys/class/infiniband/%s",
                visible.name);
  return device;
}

using Devices = std::vector<std::unique_ptr<ListedDevice>>;

const Devices* known = nullptr;  // all that there are, for whoever must not make them

/// A child gets every lock free, so that destroying what it inherited does not wait for ever; but
/// it has no device any more.
void handle_forks(const Devices& devices) {
  known = &devices;
  const auto lock_all = [] {
    for (const auto& device : *known) device->adapter->lock().release();
  };
  const auto unlock_all = [] {
    for (const auto& device : *known) device->adapter->unlock_after_fork();
  };
  const auto lose_all = [] {
    lost = true;
    for (const auto& device : *known) {
      device->adapter->unlock_after_fork();
      device->adapter->lose();
    }
  };
  ::pthread_atfork(lock_all, unlock_all, lose_all);
}

std::optional<Devices> make_devices() {
  const std::optional<int> count = number_from("SOFTRDMA_DEVICES", 1, devices_max);
  const std::optional<int> ports = number_from("SOFTRDMA_PORTS", 1, ports_max);
  const std::optional<bool> ethernet = is_ethernet();
  const std::optional<Addresses> addresses = chosen_addresses();
  const std::optional<link::Faults> wanted_faults = faults();
  const std::optional<int> seed = number_from("SOFTRDMA_SEED", 0, INT_MAX);
  const std::optional<int> contexts = number_from("SOFTRDMA_CONTEXTS", 1, 1 << 24, 1024);
  const std::optional<int> queue_pairs = number_from("SOFTRDMA_MAX_QP", 1, 1 << 23, 1 << 23);
  if (!count || !ports || !ethernet || !addresses || !wanted_faults || !seed || !queue_pairs ||
      !contexts)
    return std::nullopt;
  const AdapterSettings settings{.secret = 0,
                                 .queue_pairs_max = static_cast<std::uint32_t>(*queue_pairs),
                                 .context_entries = static_cast<std::uint32_t>(*contexts),
                                 .context_miss_ns = 0};
  const HostSettings host_settings{.is_ethernet = *ethernet,
                                   .ports = static_cast<std::uint8_t>(*ports),
                                   .faults = *wanted_faults,
                                   .seed = static_cast<std::uint64_t>(*seed)};
  Devices devices;
  for (int i = 0; i < *count; ++i) {
    // Of several devices each has an address of its own.
    const auto own = static_cast<std::size_t>(i);
    const bool is_shared = *count == 1 || own >= addresses->size();
    auto device = make_device(i, settings, host_settings,
                              is_shared ? *addresses : Addresses{(*addresses)[own]});
    if (device == nullptr) return std::nullopt;
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace

const Devices* devices() {
  // Never destroyed: other threads may use them while the process ends.
  static const auto* const made = [] {
    const auto* const all = new std::optional<Devices>(make_devices());
    if (*all) handle_forks(**all);
    return all;
  }();
  if (!*made) errno = EINVAL;
  return *made ? &**made : nullptr;
}

bool is_device_node(std::string_view path) {
  constexpr std::string_view folder = "/dev/infiniband/";
  if (known == nullptr || !path.starts_with(folder)) return false;
  path.remove_prefix(folder.size());
  return std::ranges::any_of(*known,
                             [&](const auto& device) { return path == device->visible.dev_name; });
}

bool is_lost() { return lost; }

namespace {

/// A program that has what it wanted may end at once, and its peers have not heard that it has.
__attribute__((destructor)) void send_the_last() {
  if (known == nullptr || lost) return;
  for (const auto& device : *known) device->adapter->end();
}

}  // namespace

}  // namespace softrdma::verbs
