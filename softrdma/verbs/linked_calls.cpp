// The functions of softrdma.h, which programs call that link the library.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "softrdma/udp/addresses.hpp"
#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/listed_device.hpp"
#include "softrdma/verbs/process.hpp"
#include "softrdma/verbs/simulation.hpp"
#include "softrdma/verbs/softrdma.h"

using softrdma::verbs::ListedDevice;

struct softrdma_simulation {
  softrdma::verbs::Simulation inner;
};

namespace softrdma::verbs {
namespace {

/// Why there is no device.
struct Refusal {
  int error = 0;
  std::string sentence;
};

bool is_share(double value) { return 0 <= value && value <= 1; }

bool is_rate(double value) { return 0 <= value && value <= mishaps_per_second_max; }

/// 0 asks for what is usual.
bool is_at_most(std::uint32_t value, int limit) {
  return value <= static_cast<std::uint32_t>(limit);
}

/// Nothing if one of them is out of its range.
std::optional<link::Faults> faults_of(const softrdma_faults& shares) {
  if (!is_share(shares.loss) || !is_share(shares.duplicate) || !is_share(shares.reorder) ||
      !is_share(shares.flip) || !is_at_most(shares.delay_us, delay_us_max) ||
      !is_rate(shares.qp_errors) || !is_rate(shares.port_flaps))
    return std::nullopt;
  return link::Faults{
      .lost = link::of_a_million(shares.loss),
      .repeated = link::of_a_million(shares.duplicate),
      .late = link::of_a_million(shares.reorder),
      .damaged = 0,
      .flipped = link::of_a_million(shares.flip),
      .delay_ns = std::uint64_t{shares.delay_us} * 1000,
      .mishaps = {.queue_pair_errors = shares.qp_errors, .port_flaps = shares.port_flaps}};
}

template <class Number>
Number or_usual(Number wanted, Number usual) {
  return wanted == 0 ? usual : wanted;
}

bool is_link_layer(int value) {
  return value == IBV_LINK_LAYER_UNSPECIFIED || value == IBV_LINK_LAYER_INFINIBAND ||
         value == IBV_LINK_LAYER_ETHERNET;
}

/// Empty, or what is wrong with ATTRIBUTES.
std::string check(const softrdma_device_attributes& attributes) {
  if (!is_link_layer(attributes.link_layer))
    return "softrdma: link_layer has to be 0, IBV_LINK_LAYER_INFINIBAND or IBV_LINK_LAYER_ETHERNET";
  if (!is_at_most(attributes.ports, ports_max)) return "softrdma: a device has at most 16 ports";
  if (!is_at_most(attributes.queue_pairs_max, queue_pairs_limit))
    return "softrdma: queue_pairs_max is at most 8388608";
  if (!is_at_most(attributes.contexts, contexts_max))
    return "softrdma: contexts is at most 16777216";
  if (!is_at_most(attributes.faults.delay_us, delay_us_max))
    return "softrdma: delay_us is at most 1000000";
  if (!is_rate(attributes.faults.qp_errors) || !is_rate(attributes.faults.port_flaps))
    return "softrdma: qp_errors and port_flaps are numbers from 0 to 1000";
  if (!faults_of(attributes.faults)) return "softrdma: each of the faults is a share, from 0 to 1";
  return {};
}

/// ATTRIBUTES, which were checked, but for the addresses.
HostDeviceSettings settings_of(const softrdma_device_attributes& attributes) {
  HostDeviceSettings settings;
  settings.fabric = attributes.fabric == nullptr ? "default" : attributes.fabric;
  settings.adapter.queue_pairs_max =
      or_usual(attributes.queue_pairs_max, settings.adapter.queue_pairs_max);
  settings.adapter.context_entries =
      or_usual(attributes.contexts, settings.adapter.context_entries);
  settings.adapter.is_strict = attributes.strict != 0;
  settings.host = {.is_ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET,
                   .ports = static_cast<std::uint8_t>(or_usual(attributes.ports, 1U)),
                   .faults = faults_of(attributes.faults).value_or(link::Faults{}),
                   .seed = attributes.seed};
  return settings;
}

std::unique_ptr<ListedDevice> make_own_device(const softrdma_device_attributes& attributes,
                                              Refusal* refusal) {
  if (std::string wrong = check(attributes); !wrong.empty()) {
    *refusal = {EINVAL, std::move(wrong)};
    return nullptr;
  }
  HostDeviceSettings settings = settings_of(attributes);
  auto addresses =
      udp::parse_addresses(attributes.addresses == nullptr ? "" : attributes.addresses);
  if (!addresses.ok()) {
    *refusal = {EINVAL, addresses.error().sentence()};
    return nullptr;
  }
  settings.addresses = std::move(addresses.value());
  const bool names_addresses = !settings.addresses.empty();
  std::optional<hawser::base::Error> no_network;
  auto device = make_host_device(next_own_index(), std::move(settings), &no_network);
  if (!device.ok()) {
    *refusal = {EIO, device.error().sentence()};
    return nullptr;
  }
  if (no_network && names_addresses) {
    *refusal = {EADDRINUSE, no_network->sentence()};
    return nullptr;
  }
  device.value()->is_own = true;
  return std::move(device.value());
}

/// What is posted goes out before its device goes.
void send_the_last(Adapter& adapter) {
  const auto lock = adapter.lock();
  adapter.send_the_last();
}

bool is_open(ListedDevice& device) {
  const auto lock = device.adapter->lock();
  return device.contexts > 0;
}

link::SimulationSettings network_of(const softrdma_simulation_attributes& attributes,
                                    const link::Faults& faults) {
  const link::SimulationSettings usual;
  return {.seed = attributes.seed,
          .latency_ns = or_usual(attributes.latency_ns, usual.latency_ns) + faults.delay_ns,
          .late_ns_max = or_usual(attributes.late_ns_max, usual.late_ns_max),
          .window_packets = or_usual(attributes.window_packets, usual.window_packets),
          .packets_max = usual.packets_max,
          .faults = faults};
}

}  // namespace

SOFTRDMA_EXPORT ibv_device* softrdma_create_device(const softrdma_device_attributes* attributes,
                                                   char* sentence, std::size_t sentence_bytes) {
  Refusal refusal{ENODEV, "softrdma: a child of fork() has no devices"};
  std::unique_ptr<ListedDevice> device;
  if (!is_lost())
    device = make_own_device(attributes == nullptr ? softrdma_device_attributes{} : *attributes,
                             &refusal);
  if (device == nullptr) {
    if (sentence != nullptr)
      std::snprintf(sentence, sentence_bytes, "%s", refusal.sentence.c_str());
    return refuse(refusal.error);
  }
  remember(*device);
  return &device.release()->visible;
}

SOFTRDMA_EXPORT int softrdma_destroy_device(ibv_device* device) {
  ListedDevice& object = ListedDevice::of(device);
  if (!object.is_own) return EINVAL;
  // Its thread and its seat are the parent's.
  if (is_lost()) return 0;
  if (is_open(object)) return EBUSY;
  forget(object);
  send_the_last(*object.adapter);
  delete &object;
  return 0;
}

SOFTRDMA_EXPORT int softrdma_set_port(ibv_device* device, std::uint32_t port, int is_up) {
  if (is_lost()) return ENODEV;
  Adapter& adapter = *ListedDevice::of(device).adapter;
  if (adapter.port(port) == nullptr) return EINVAL;
  const auto lock = adapter.lock();
  adapter.device().set_port(static_cast<std::uint8_t>(port), is_up != 0);
  return 0;
}

SOFTRDMA_EXPORT int softrdma_fail_queue_pair(ibv_device* device, std::uint32_t number) {
  if (is_lost()) return ENODEV;
  Adapter& adapter = *ListedDevice::of(device).adapter;
  const auto lock = adapter.lock();
  return adapter.device().fail(number) ? 0 : EINVAL;
}

SOFTRDMA_EXPORT softrdma_simulation* softrdma_create_simulation(
    const softrdma_simulation_attributes* wanted) {
  if (is_lost()) return refuse(ENODEV);
  const softrdma_simulation_attributes attributes =
      wanted == nullptr ? softrdma_simulation_attributes{} : *wanted;
  const std::optional<link::Faults> faults = faults_of(attributes.faults);
  if (!faults || !is_at_most(attributes.contexts, contexts_max) ||
      attributes.window_packets > link::SimulationSettings{}.packets_max)
    return refuse(EINVAL);
  const SimulatedAdapterSettings usual;
  return new softrdma_simulation{
      {network_of(attributes, *faults),
       {.context_entries = or_usual(attributes.contexts, usual.context_entries),
        .context_miss_ns = attributes.context_miss_ns}}};
}

SOFTRDMA_EXPORT int softrdma_destroy_simulation(softrdma_simulation* simulation) {
  const auto& devices = simulation->inner.devices();
  for (const auto& device : devices)
    if (is_open(*device)) return EBUSY;
  for (const auto& device : devices) forget(*device);
  delete simulation;
  return 0;
}

SOFTRDMA_EXPORT ibv_device* softrdma_simulation_add_device(softrdma_simulation* simulation) {
  if (is_lost()) return refuse(ENODEV);
  ListedDevice* const device = simulation->inner.add(next_own_index());
  if (device == nullptr) return refuse(ENOSPC);
  remember(*device);
  return &device->visible;
}

SOFTRDMA_EXPORT std::uint64_t softrdma_simulation_now_ns(const softrdma_simulation* simulation) {
  return simulation->inner.now_ns();
}

SOFTRDMA_EXPORT int softrdma_simulation_step(softrdma_simulation* simulation) {
  return simulation->inner.step() ? 1 : 0;
}

}  // namespace softrdma::verbs
