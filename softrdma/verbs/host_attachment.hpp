// HostAttachment: an adapter's seat among the processes of its host, the sockets to other hosts,
// and a thread that drives it while nobody polls.
//
// Ownership: of host, link and thread. Threads: as Attachment says; the thread takes the lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "platform/clock.hpp"
#include "softrdma/fabric/fault_request.hpp"
#include "softrdma/fabric/host.hpp"
#include "softrdma/fabric/xrc_domains.hpp"
#include "softrdma/link/faulty.hpp"
#include "softrdma/link/identity.hpp"
#include "softrdma/udp/junction.hpp"
#include "softrdma/verbs/attachment.hpp"

namespace softrdma::verbs {

struct HostSettings {
  bool is_ethernet = false;
  std::uint8_t ports = 1;
  link::Faults faults;
  std::uint64_t seed = 0;  // of the faults
};

class HostAttachment final : public Attachment {
 public:
  HostAttachment(const HostSettings& settings, std::unique_ptr<fabric::Host> host);
  ~HostAttachment() override;
  HostAttachment(const HostAttachment&) = delete;
  HostAttachment& operator=(const HostAttachment&) = delete;

  [[nodiscard]] std::uint64_t guid() const override { return guid_; }
  [[nodiscard]] const std::vector<link::PortIdentity>& ports() const override { return ports_; }
  [[nodiscard]] link::Link& link() override { return outermost_link_; }
  [[nodiscard]] link::Numbers& numbers() override { return *host_; }
  [[nodiscard]] link::XrcDomains& xrc_domains() override { return xrc_domains_; }
  [[nodiscard]] link::MishapRates mishaps() const override { return mishaps_; }
  [[nodiscard]] std::uint64_t seed() const override { return seed_; }
  [[nodiscard]] std::span<const fabric::NetworkAddress> addresses() const override {
    return host_->addresses();
  }
  [[nodiscard]] std::uint16_t process_number() const override { return host_->seat(); }
  [[nodiscard]] bool has_network() const override { return !host_->sockets().empty(); }
  [[nodiscard]] bool has_thread() const override { return true; }
  [[nodiscard]] std::uint64_t now_ns() const override { return hawser::platform::monotonic_ns(); }
  [[nodiscard]] std::uint64_t wall_ns() const override;
  [[nodiscard]] std::atomic<std::uint32_t>& polled_word() override { return seat_.is_polled; }
  void wake() override { ring(); }

  void start(device::Device& device, std::mutex& mutex) override;
  void stop() override;
  void lose() override { host_->forget_in_child(); }
  void copy_always() override { link_.copy_always(); }
  bool drive(device::Device& device) override;
  void send(device::Device& device) override;
  void leave(device::Device& device) override { leave_to_thread(device); }
  void send_delayed() override {
    if (faulty_) faulty_->send_delayed();
  }
  void on_polling() override;

 private:
  /// What the thread did when it could drive: nothing, as the program does, or nothing to do.
  enum class Turn : std::uint8_t { left, idle, moved };
  /// What the thread drives.
  struct Driven {
    device::Device& device;
    std::mutex& mutex;
  };

  link::Link& with_faults(const HostSettings& settings);
  void run(const Driven& driven);
  void sleep(const Driven& driven);
  Turn take_turn(const Driven& driven);
  void linger(const Driven& driven);
  void ring();
  void suffer(device::Device& device);
  [[nodiscard]] bool suffer(device::Device& device, const fabric::FaultRequest& request) const;
  void leave_to_thread(const device::Device& device);
  void publish(device::Device& device, std::uint64_t now_ns);

  const std::unique_ptr<fabric::Host> host_;
  fabric::SharedXrcDomains xrc_domains_{*host_};
  const std::uint64_t guid_;
  fabric::SeatMemory& seat_;
  const std::vector<link::PortIdentity> ports_;
  const link::MishapRates mishaps_;
  const std::uint64_t seed_;  // of its faults
  udp::Junction link_;
  std::optional<link::Faulty> faulty_;  // around it, if there are faults
  link::Link& outermost_link_;
  std::uint64_t published_ns_ = 0;

  std::thread thread_;
  std::atomic<std::uint64_t> polled_ns_ = 0;  // when the program drove last
  std::uint64_t watch_ns_ = 1;                // how long it leaves the device to whoever polls
  std::atomic<std::uint64_t> wakes_ns_ = 0;   // when the thread wakes by itself
  std::atomic<bool> is_ending_ = false;
};

}  // namespace softrdma::verbs
