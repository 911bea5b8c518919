// Attachment: what an adapter is attached to: the way of its packets, who has which number, what
// time it is, and who drives it while its program does not. To a host, or to a simulation.
//
// Ownership: the adapter's, which its device does not outlive. Threads: what takes a device is
// called under the adapter's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "softrdma/device/device.hpp"
#include "softrdma/fabric/host.hpp"
#include "softrdma/link/faults.hpp"
#include "softrdma/link/identity.hpp"
#include "softrdma/link/link.hpp"
#include "softrdma/link/numbers.hpp"
#include "softrdma/link/xrc_domains.hpp"

namespace softrdma::verbs {

/// How often one call goes round sending what is ready.
inline constexpr int send_rounds_max = 64;

class Attachment {
 public:
  virtual ~Attachment() = default;

  // Constant
  [[nodiscard]] virtual std::uint64_t guid() const = 0;
  /// At least one, the first of which is port 1.
  [[nodiscard]] virtual const std::vector<link::PortIdentity>& ports() const = 0;
  /// What packets go by, faults included.
  [[nodiscard]] virtual link::Link& link() = 0;
  [[nodiscard]] virtual link::Numbers& numbers() = 0;
  /// Under the adapter's lock.
  [[nodiscard]] virtual link::XrcDomains& xrc_domains() = 0;
  /// What happens to the device, by chance, and the seed of that, which no other adapter of the
  /// fabric has.
  [[nodiscard]] virtual link::MishapRates mishaps() const = 0;
  [[nodiscard]] virtual std::uint64_t seed() const = 0;
  /// By which hosts know one another; none in a simulation.
  [[nodiscard]] virtual std::span<const fabric::NetworkAddress> addresses() const { return {}; }
  /// Among the processes of the host.
  [[nodiscard]] virtual std::uint16_t process_number() const { return 0; }
  /// There is a way to other hosts.
  [[nodiscard]] virtual bool has_network() const = 0;
  /// Somebody drives the device while its program waits, so that waiting has an end.
  [[nodiscard]] virtual bool has_thread() const = 0;

  // Any thread
  [[nodiscard]] virtual std::uint64_t now_ns() const = 0;
  /// What the clock on the wall shows, since 1970.
  [[nodiscard]] virtual std::uint64_t wall_ns() const = 0;
  /// Not 0: the program polls, as far as is known.
  [[nodiscard]] virtual std::atomic<std::uint32_t>& polled_word() = 0;
  /// Whoever drives the device while the program does not, does so now. Neither allocates nor
  /// waits.
  virtual void wake() = 0;

  /// A program has opened DEVICE, which MUTEX is about: from now on it is driven, whether somebody
  /// polls or not.
  virtual void start(device::Device& device, std::mutex& mutex) = 0;
  /// The device is to be destroyed; from now on nobody drives it. Not under its lock.
  virtual void stop() = 0;
  /// In a child of fork(): what is attached to is the parent's.
  virtual void lose() = 0;

  /// From now on nobody reads a payload from the memory that it was sent from: it is copied at
  /// once.
  virtual void copy_always() = 0;
  /// Once around; true if anything moved.
  virtual bool drive(device::Device& device) = 0;
  /// Sends what is ready, but not for ever; what is left then goes later, by itself.
  virtual void send(device::Device& device) = 0;
  /// What is ready goes soon, by whoever drives next.
  virtual void leave(device::Device& device) = 0;
  /// What is late on purpose goes now: its sender ends.
  virtual void send_delayed() = 0;
  /// The program begins to poll; the word above says so already.
  virtual void on_polling() = 0;
};

}  // namespace softrdma::verbs
