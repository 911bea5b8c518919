// Adapter: a device as a program of the verbs sees it: its name and limits, its lock and clock, its
// seat among the processes of the host, and a thread that drives it while nobody polls.
//
// Ownership: one per device and process, until the process ends. Threads: every member but the
// constant ones is used under lock().
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "platform/clock.hpp"
#include "softrdma/device/device.hpp"
#include "softrdma/fabric/host.hpp"
#include "softrdma/fabric/xrc_domains.hpp"
#include "softrdma/link/faulty.hpp"
#include "softrdma/link/identity.hpp"
#include "softrdma/udp/junction.hpp"

namespace softrdma::verbs {

struct AdapterSettings {
  std::uint64_t secret = 0;  // random: of memory keys
  bool is_ethernet = false;
  std::uint8_t ports = 1;
  std::uint32_t queue_pairs_max = 1U << 23;
  std::uint32_t context_entries = 1024;  // of the model of an adapter's cache
  link::Faults faults;
  std::uint64_t seed = 0;  // of the faults
};

/// Told of events of the queue pairs that it has.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void on_event(ibv_event_type event) = 0;
};

class Adapter final : private device::DeviceListener {
 public:
  Adapter(const AdapterSettings& settings, std::unique_ptr<fabric::Host> host);
  ~Adapter() override;
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  // Constant
  [[nodiscard]] std::uint64_t guid() const { return guid_; }
  /// Null if there is no port NUMBER, counted from 1.
  [[nodiscard]] const link::PortIdentity* port(std::uint32_t number) const {
    return number == 0 || number > ports_.size() ? nullptr : &ports_[number - 1];
  }
  [[nodiscard]] std::uint32_t queue_pairs_max() const { return settings_.queue_pairs_max; }
  [[nodiscard]] std::uint8_t port_count() const { return settings_.ports; }
  [[nodiscard]] static std::uint64_t now_ns() { return hawser::platform::monotonic_ns(); }

  /// Held for as long as anything below is used.
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  /// What fork() locked, in parent and child.
  void unlock_after_fork() { mutex_.unlock(); }
  /// In a child of fork().
  void lose() { host_->forget_in_child(); }
  [[nodiscard]] device::Device& device() { return device_; }
  /// Once around; true if anything moved.
  bool drive();
  /// Sends what is ready after QUEUE_PAIR got work, but not for ever; what is left then is the
  /// thread's.
  void send_for(qp::QueuePair& queue_pair);
  /// Nothing waits to be sent any more.
  void send_all();
  /// The process ends; its answers go out. Not under lock(), which it may have died with.
  void end();
  /// A program has opened the device: from now on it is driven, whether somebody polls or not.
  void start();
  /// A program polls, so that others need not drive. True: it should yield its core for a moment.
  bool note_poll(bool found_something);
  /// A completion queue got armed (+1), or is so no more (-1). While one is, the program may wait
  /// for its event, whether it polled before or not.
  void note_armed(int change);
  /// Waits, without the lock, until somebody called changed().
  void wait(std::unique_lock<std::mutex>& lock) { changed_.wait(lock); }
  void changed() { changed_.notify_all(); }

  /// Whether there is a way to ADDRESS.
  [[nodiscard]] bool reaches(const ibv_ah_attr& address) const;
  /// There are sockets for packets to other hosts.
  [[nodiscard]] bool has_network() const { return !host_->sockets().empty(); }

  /// Events of queue pair NUMBER go to LISTENER too, until ignore().
  void listen(std::uint32_t number, EventListener& listener);
  /// Returns whether anybody listens still.
  bool ignore(std::uint32_t number, EventListener& listener);
  [[nodiscard]] link::XrcDomains& xrc_domains() { return xrc_domains_; }

 private:
  /// What the thread did when it could drive: nothing, as the program does, or nothing to do.
  enum class Turn : std::uint8_t { left, idle, moved };

  void on_event(qp::QueuePair& queue_pair, ibv_event_type event) override;
  void run();
  void sleep();
  Turn take_turn();
  void linger();
  void ring();
  void leave_to_thread();
  link::Link& outermost_link();
  void publish(std::uint64_t now_ns);

  const AdapterSettings settings_;
  const std::unique_ptr<fabric::Host> host_;
  const std::uint64_t guid_;
  fabric::SeatMemory& seat_;
  const std::vector<link::PortIdentity> ports_;
  std::mutex mutex_;
  udp::Junction link_;
  std::optional<link::Faulty> faulty_;  // around it, if there are faults
  device::Device device_;
  std::unordered_multimap<std::uint32_t, EventListener*> listeners_;
  fabric::SharedXrcDomains xrc_domains_{*host_};
  std::condition_variable changed_;
  std::uint64_t published_ns_ = 0;
  int empty_polls_ = 0;  // in a row
  int armed_ = 0;        // completion queues

  std::thread thread_;
  std::atomic<std::uint64_t> polled_ns_ = 0;  // when the program drove last
  std::uint64_t watch_ns_ = 1;                // how long it leaves the device to whoever polls
  std::atomic<std::uint64_t> wakes_ns_ = 0;   // when the thread wakes by itself
  std::atomic<bool> is_ending_ = false;
};

}  // namespace softrdma::verbs
