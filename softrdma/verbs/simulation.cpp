#include "softrdma/verbs/simulation.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "softrdma/link/faulty.hpp"
#include "softrdma/verbs/attachment.hpp"

namespace softrdma::verbs {
namespace {

constexpr std::uint64_t no_moment = ~std::uint64_t{0};
/// Of InfiniBand: from 0xc000 on they are of groups.
constexpr std::size_t unicast_lids = 0xbfff;
/// How often all devices are driven at one moment; more than any one moment needs, as what an
/// arrival leads to arrives later.
constexpr int rounds_at_once_max = 1 << 16;

std::uint64_t guid_of_lid(std::uint16_t lid) {
  constexpr std::uint64_t administered_locally = std::uint64_t{2} << 56;
  return administered_locally | lid;
}

/// An adapter without thread: whoever moves the clock drives it, and so do posting and polling.
class SimulatedAttachment final : public Attachment {
 public:
  SimulatedAttachment(link::SimulatedNetwork& network, std::uint16_t lid,
                      const link::SimulationSettings& settings)
      : network_(network),
        guid_(guid_of_lid(lid)),
        mishaps_(settings.faults.mishaps),
        seed_(settings.seed + lid),
        port_(network.join(lid)) {
    // All but this one happens to the bytes of the wire, in the network.
    if (settings.faults.flipped != 0)
      flips_.emplace(*port_, link::Faults{.flipped = settings.faults.flipped}, seed_);
    ports_.front().lid = lid;
    ports_.front().gids = {link::link_local_gid(guid_)};
  }

  [[nodiscard]] std::uint64_t guid() const override { return guid_; }
  [[nodiscard]] const std::vector<link::PortIdentity>& ports() const override { return ports_; }
  [[nodiscard]] link::Link& link() override {
    return flips_ ? static_cast<link::Link&>(*flips_) : *port_;
  }
  [[nodiscard]] link::Numbers& numbers() override { return numbers_; }
  [[nodiscard]] link::XrcDomains& xrc_domains() override { return xrc_domains_; }
  [[nodiscard]] link::MishapRates mishaps() const override { return mishaps_; }
  [[nodiscard]] std::uint64_t seed() const override { return seed_; }
  [[nodiscard]] bool has_network() const override { return true; }
  [[nodiscard]] bool has_thread() const override { return false; }
  [[nodiscard]] std::uint64_t now_ns() const override { return network_.now_ns(); }
  [[nodiscard]] std::uint64_t wall_ns() const override { return now_ns(); }
  [[nodiscard]] std::atomic<std::uint32_t>& polled_word() override { return is_polled_; }
  void wake() override {}
  void start(device::Device& /*device*/, std::mutex& /*mutex*/) override {}
  void stop() override {}
  void lose() override {}
  void copy_always() override {}
  bool drive(device::Device& device) override { return device.drive(now_ns()); }
  void send(device::Device& device) override { device.send(now_ns()); }
  void leave(device::Device& device) override { send(device); }
  void send_delayed() override {}
  void on_polling() override {}

 private:
  link::SimulatedNetwork& network_;
  const std::uint64_t guid_;
  std::vector<link::PortIdentity> ports_ = std::vector<link::PortIdentity>(1);
  const link::MishapRates mishaps_;
  const std::uint64_t seed_;  // of its faults
  const std::unique_ptr<link::Link> port_;
  std::optional<link::Faulty> flips_;
  link::OwnNumbers numbers_;
  link::OwnXrcDomains xrc_domains_;
  std::atomic<std::uint32_t> is_polled_ = 0;
};

}  // namespace

ListedDevice* Simulation::add(int index) {
  if (devices_.size() == unicast_lids) return nullptr;
  const auto lid = static_cast<std::uint16_t>(devices_.size() + 1);
  AdapterSettings settings;
  settings.secret = settings_.seed + lid;
  settings.context_entries = adapters_.context_entries;
  settings.context_miss_ns = adapters_.context_miss_ns;
  auto attachment = std::make_unique<SimulatedAttachment>(network_, lid, settings_);
  devices_.push_back(std::make_unique<ListedDevice>(
      index, std::make_unique<Adapter>(settings, std::move(attachment))));
  return devices_.back().get();
}

bool Simulation::step() {
  settle();
  const std::uint64_t next = next_ns();
  if (next == no_moment) return false;
  network_.move_clock_to(std::max(next, now_ns() + 1));
  settle();
  return true;
}

/// Until nothing happens any more at the time that it is.
void Simulation::settle() {
  bool moved = true;
  for (int round = 0; moved && round < rounds_at_once_max; ++round) {
    moved = false;
    for (const auto& device : devices_) {
      const auto lock = device->adapter->lock();
      moved |= device->adapter->drive();
    }
  }
}

/// The first arrival or deadline of all.
std::uint64_t Simulation::next_ns() const {
  std::uint64_t next = network_.next_arrival_ns().value_or(no_moment);
  for (const auto& device : devices_)
    next = std::min(next, device->adapter->device().deadline_ns().value_or(no_moment));
  return next;
}

}  // namespace softrdma::verbs
