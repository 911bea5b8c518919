// Adapter: a device as a program of the verbs sees it: its ports and limits, its lock and events.
// What it is attached to, a host or a simulation, gives it the rest.
//
// Ownership: of what it is attached to. Threads: every member but the constant ones is used under
// lock().
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "softrdma/device/device.hpp"
#include "softrdma/link/identity.hpp"
#include "softrdma/link/xrc_domains.hpp"
#include "softrdma/verbs/attachment.hpp"
#include "softrdma/verbs/event_queue.hpp"
#include "softrdma/verbs/strict_mode.hpp"

namespace softrdma::verbs {

struct AdapterSettings {
  std::uint64_t secret = 0;  // random, but for simulation: of memory keys
  std::uint32_t queue_pairs_max = 1U << 23;
  // Of the model of an adapter's cache: its size, and what a miss takes, in simulated time.
  std::uint32_t context_entries = 1024;
  std::uint64_t context_miss_ns = 0;
  bool is_strict = false;  // what is accessed has to be what was registered
};

/// Told of events of the queue pairs that it has.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void on_event(ibv_event_type event) = 0;
};

class Adapter final : private device::DeviceListener {
 public:
  Adapter(const AdapterSettings& settings, std::unique_ptr<Attachment> attachment);
  ~Adapter() override;
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  // Constant
  [[nodiscard]] std::uint64_t guid() const { return attachment_->guid(); }
  /// Null if there is no port NUMBER, counted from 1.
  [[nodiscard]] const link::PortIdentity* port(std::uint32_t number) const {
    return number == 0 || number > ports_.size() ? nullptr : &ports_[number - 1];
  }
  [[nodiscard]] std::uint32_t queue_pairs_max() const { return settings_.queue_pairs_max; }
  [[nodiscard]] bool is_strict() const { return settings_.is_strict; }
  [[nodiscard]] std::uint8_t port_count() const { return static_cast<std::uint8_t>(ports_.size()); }
  [[nodiscard]] std::uint64_t now_ns() const { return attachment_->now_ns(); }
  /// What the clock on the wall shows, since 1970.
  [[nodiscard]] std::uint64_t wall_ns() const { return attachment_->wall_ns(); }
  /// The device is driven while the program waits, so that waiting has an end.
  [[nodiscard]] bool has_thread() const { return attachment_->has_thread(); }

  /// By which hosts know one another; none in a simulation.
  [[nodiscard]] std::span<const fabric::NetworkAddress> addresses() const {
    return attachment_->addresses();
  }
  /// Among the processes of the host.
  [[nodiscard]] std::uint16_t process_number() const { return attachment_->process_number(); }

  /// Held for as long as anything below is used.
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  /// What fork() locked, in parent and child.
  void unlock_after_fork() { mutex_.unlock(); }
  /// In a child of fork().
  void lose() { attachment_->lose(); }
  [[nodiscard]] device::Device& device() { return device_; }
  /// Once around; true if anything moved.
  bool drive() { return attachment_->drive(device_); }
  /// Sends what is ready after QUEUE_PAIR got work, but not for ever; what is left then goes
  /// later, by itself. Work that TAKES_LONG is left to whoever drives next, as an adapter would not
  /// keep the program meanwhile: the program if it polls, the device's thread if it does not.
  void send_for(qp::QueuePair& queue_pair, bool takes_long = false);
  /// The same, for whatever is ready.
  void send() { attachment_->send(device_); }
  /// Nothing waits to be sent any more.
  void send_all();
  /// The device ends: nor does what is late on purpose.
  void send_the_last();
  /// The process ends; its answers go out. Not under lock(), which it may have died
  /// with.
  void end();
  /// A program has opened the device: from now on it is driven, whether somebody polls or not.
  void start() { attachment_->start(device_, mutex_); }
  /// From now on WATCH tells which regions are stale.
  void watch(hawser::platform::MemoryWatch& watch) {
    if (strict_) return;
    attachment_->copy_always();
    strict_.emplace(watch, device_, *attachment_);
  }
  /// Null if nobody watches.
  [[nodiscard]] StrictMode* strict() { return strict_ ? &*strict_ : nullptr; }
  /// A program polls, so that others need not drive. True: it should yield its core for a moment.
  bool note_poll(bool found_something);
  /// A completion queue is armed: the program may wait for its event, whether it polled before or
  /// not, until it is seen to poll again and again.
  void note_arming(bool was_armed);
  /// One is so no more.
  void note_disarmed() { --armed_; }
  /// Waits, without the lock, until somebody called changed().
  void wait(std::unique_lock<std::mutex>& lock) { changed_.wait(lock); }
  void changed() { changed_.notify_all(); }

  /// Whether there is a way to ADDRESS.
  [[nodiscard]] bool reaches(const ibv_ah_attr& address) const;
  /// There are sockets for packets to other hosts.
  [[nodiscard]] bool has_network() const { return attachment_->has_network(); }

  /// Events of queue pair NUMBER go to LISTENER too, until ignore().
  void listen(std::uint32_t number, EventListener& listener);
  /// Returns whether anybody listens still.
  bool ignore(std::uint32_t number, EventListener& listener);
  /// Events of the ports go to EVENTS too, until ignore().
  void listen(EventQueue<ibv_async_event>& events) { port_events_.push_back(&events); }
  void ignore(EventQueue<ibv_async_event>& events) { std::erase(port_events_, &events); }
  [[nodiscard]] link::XrcDomains& xrc_domains() { return attachment_->xrc_domains(); }

 private:
  void on_event(qp::QueuePair& queue_pair, ibv_event_type event) override;
  void on_port_event(std::uint8_t number, ibv_event_type event) override;

  const AdapterSettings settings_;
  const std::unique_ptr<Attachment> attachment_;
  const std::vector<link::PortIdentity>& ports_;
  std::atomic<std::uint32_t>& is_polled_;  // the program polls, as far as is known
  std::mutex mutex_;
  device::Device device_;
  std::optional<StrictMode> strict_;
  std::unordered_multimap<std::uint32_t, EventListener*> listeners_;
  std::vector<EventQueue<ibv_async_event>*> port_events_;
  std::condition_variable changed_;
  int empty_polls_ = 0;         // in a row
  int armed_ = 0;               // completion queues
  int polls_since_arming_ = 0;  // while any is armed
};

}  // namespace softrdma::verbs
