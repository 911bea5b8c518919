#include "softrdma/verbs/process.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "softrdma/udp/addresses.hpp"

namespace softrdma::verbs {
namespace {

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

/// From 0 to MOST; 0 if nobody says.
std::optional<double> fraction_from(const char* name, double most) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return 0;
  const std::string_view view(text);
  double value = -1;
  const auto [end, error] = std::from_chars(view.begin(), view.end(), value);
  if (error == std::errc() && end == view.end() && 0 <= value && value <= most) return value;
  std::fprintf(stderr, "softrdma: %s is \"%s\"; it has to be a number from 0 to %g\n", name, text,
               most);
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
    const std::optional<double> share = fraction_from(name, 1);
    if (!share) return std::nullopt;
    out.*member = link::of_a_million(*share);
  }
  const std::optional<double> errors = fraction_from("SOFTRDMA_QP_ERRORS", mishaps_per_second_max);
  const std::optional<double> flaps = fraction_from("SOFTRDMA_PORT_FLAPS", mishaps_per_second_max);
  if (!errors || !flaps) return std::nullopt;
  out.mishaps = {.queue_pair_errors = *errors, .port_flaps = *flaps};
  const std::optional<int> delay_us = number_from("SOFTRDMA_DELAY", 0, delay_us_max);
  if (!delay_us) return std::nullopt;
  out.delay_ns = static_cast<std::uint64_t>(*delay_us) * 1000;
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

using Addresses = std::vector<fabric::NetworkAddress>;

/// Those that the environment names; empty: all that there are.
std::optional<Addresses> chosen_addresses() {
  const char* const text = std::getenv("SOFTRDMA_ADDRESS");
  auto addresses = udp::parse_addresses(text == nullptr ? "" : text);
  if (addresses.ok()) return std::move(addresses.value());
  std::fprintf(stderr, "%s\n", addresses.error().sentence().c_str());
  return std::nullopt;
}

std::string fabric_name() {
  const char* const text = std::getenv("SOFTRDMA_FABRIC");
  return text == nullptr ? "default" : text;
}

/// Null, and a sentence on standard error, if it can't be had.
std::unique_ptr<ListedDevice> make_device(int index, const HostDeviceSettings& settings) {
  std::optional<hawser::base::Error> no_network;
  auto device = make_host_device(index, settings, &no_network);
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.error().sentence().c_str());
    return nullptr;
  }
  // Who named no addresses may not need any.
  if (no_network && !settings.addresses.empty())
    std::fprintf(stderr, "%s; only this host is reached\n", no_network->sentence().c_str());
  return std::move(device.value());
}

using Devices = std::vector<std::unique_ptr<ListedDevice>>;

const Devices* known = nullptr;  // all of the list, for whoever must not make them

hawser::platform::MemoryWatch* watching = nullptr;  // if there is one

/// Those that no list shows. Never destroyed: other threads may use it while the process ends.
struct OwnDevices {
  std::mutex mutex;
  std::vector<ListedDevice*> devices;
};

OwnDevices& own_devices() {
  static auto* const own = new OwnDevices;
  return *own;
}

/// VISIT(adapter) for each of the process. Under the mutex of own devices.
template <class Visit>
void for_each_adapter(Visit&& visit) {
  if (known != nullptr)
    for (const auto& device : *known) visit(*device->adapter);
  for (ListedDevice* device : own_devices().devices) visit(*device->adapter);
}

/// A child gets every lock free, so that destroying what it inherited does not wait for ever; but
/// it has no device any more.
void handle_forks() {
  const auto lock_all = [] {
    own_devices().mutex.lock();
    for_each_adapter([](Adapter& adapter) { adapter.lock().release(); });
  };
  const auto unlock_all = [] {
    for_each_adapter([](Adapter& adapter) { adapter.unlock_after_fork(); });
    own_devices().mutex.unlock();
  };
  const auto lose_all = [] {
    lost = true;
    if (watching != nullptr) watching->lose();
    for_each_adapter([](Adapter& adapter) {
      adapter.unlock_after_fork();
      adapter.lose();
    });
    own_devices().mutex.unlock();
  };
  [[maybe_unused]] static const int once = ::pthread_atfork(lock_all, unlock_all, lose_all);
}

std::optional<Devices> make_devices() {
  const std::optional<int> count = number_from("SOFTRDMA_DEVICES", 1, devices_max);
  const std::optional<int> ports = number_from("SOFTRDMA_PORTS", 1, ports_max);
  const std::optional<bool> ethernet = is_ethernet();
  const std::optional<Addresses> addresses = chosen_addresses();
  const std::optional<link::Faults> wanted_faults = faults();
  const std::optional<int> seed = number_from("SOFTRDMA_SEED", 0, INT_MAX);
  const std::optional<int> is_strict = number_from("SOFTRDMA_STRICT", 0, 1);
  const std::optional<int> contexts = number_from("SOFTRDMA_CONTEXTS", 1, contexts_max, 1024);
  const std::optional<int> queue_pairs =
      number_from("SOFTRDMA_MAX_QP", 1, queue_pairs_limit, queue_pairs_limit);
  if (!count || !ports || !ethernet || !addresses || !wanted_faults || !seed || !queue_pairs ||
      !contexts || !is_strict)
    return std::nullopt;
  HostDeviceSettings settings{
      .fabric = fabric_name(),
      .index_in_fabric = 0,
      .addresses = {},
      .adapter = {.secret = 0,
                  .queue_pairs_max = static_cast<std::uint32_t>(*queue_pairs),
                  .context_entries = static_cast<std::uint32_t>(*contexts),
                  .context_miss_ns = 0,
                  .is_strict = *is_strict == 1},
      .host = {.is_ethernet = *ethernet,
               .ports = static_cast<std::uint8_t>(*ports),
               .faults = *wanted_faults,
               .seed = static_cast<std::uint64_t>(*seed)}};
  Devices devices;
  for (int i = 0; i < *count; ++i) {
    // Of several devices each has an address of its own.
    const auto own = static_cast<std::size_t>(i);
    const bool is_shared = *count == 1 || own >= addresses->size();
    settings.index_in_fabric = i;
    settings.addresses = is_shared ? *addresses : Addresses{(*addresses)[own]};
    auto device = make_device(i, settings);
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
    if (*all) {
      handle_forks();
      // Not between what fork() does before and after.
      const std::lock_guard guard(own_devices().mutex);
      known = &**all;
    }
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

int next_own_index() {
  static std::atomic<int> next = devices_max;
  return next++;
}

void remember(ListedDevice& device) {
  handle_forks();
  OwnDevices& own = own_devices();
  const std::lock_guard guard(own.mutex);
  own.devices.push_back(&device);
}

void forget(ListedDevice& device) {
  OwnDevices& own = own_devices();
  const std::lock_guard guard(own.mutex);
  std::erase(own.devices, &device);
}

bool is_lost() { return lost; }

hawser::platform::MemoryWatch* memory_watch() {
  using hawser::platform::MemoryWatch;
  // Never destroyed: who unmaps memory while the process ends still waits for it.
  static MemoryWatch* const started = [] {
    auto made = MemoryWatch::start();
    if (!made.ok())
      std::fprintf(stderr, "softrdma: strict mode can't be had: %s\n",
                   made.error().sentence().c_str());
    return watching = made.ok() ? made.value().release() : nullptr;
  }();
  return started;
}

namespace {

/// A program that has what it wanted may end at once, and its peers have not heard that it has.
__attribute__((destructor)) void send_the_last() {
  if (lost) return;
  const std::lock_guard guard(own_devices().mutex);
  for_each_adapter([](Adapter& adapter) { adapter.end(); });
}

}  // namespace

}  // namespace softrdma::verbs
