// Device: the queue pairs of one process on one adapter, and the work that moves them.
//
// Somebody drives it: each call takes in what has come, looks at the timers and sends what may go.
// It owns no thread and no clock.
// Ownership: of its queue pairs and regions; link, numbers and listener are borrowed. Threads:
// under one lock, its owner's.
#pragma once

#include <infiniband/verbs.h>

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "softrdma/device/context_cache.hpp"
#include "softrdma/device/management_agent.hpp"
#include "softrdma/device/mishaps.hpp"
#include "softrdma/device/multicast_groups.hpp"
#include "softrdma/link/link.hpp"
#include "softrdma/link/numbers.hpp"
#include "softrdma/memory/region_table.hpp"
#include "softrdma/qp/queue_pair.hpp"

namespace softrdma::device {

class DeviceListener {
 public:
  virtual ~DeviceListener() = default;
  /// An asynchronous event of a queue pair.
  virtual void on_event(qp::QueuePair& queue_pair, ibv_event_type event) = 0;
  /// One of port NUMBER.
  virtual void on_port_event(std::uint8_t /*number*/, ibv_event_type /*event*/) {}
};

struct DeviceSettings {
  std::uint64_t secret = 0;  // of memory keys; random, but for simulation
  std::uint32_t queue_pairs_max = 1U << 23;
  std::uint32_t datagram_bytes_max = 4096;
  // A model of hardware: how many contexts of queue pairs it holds, and what fetching one takes.
  // With a real clock nothing is charged.
  std::uint32_t context_entries = 1024;
  std::uint64_t context_miss_ns = 0;
  // Peers of the host may copy by themselves to and from what the program lets them use.
  bool lets_peers_in = true;
  link::MishapRates mishaps = {};
  std::uint64_t mishap_seed = 0;
  std::uint8_t ports = 1;
};

class Device final : private qp::QueuePairHost, private link::Sink {
 public:
  struct Counters {
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t without_queue_pair = 0;  // arrived for a number that nobody has
    std::uint64_t from_others = 0;         // of another host than the queue pair is connected to
    std::uint64_t lost_at_ports = 0;       // that were down
    std::uint64_t context_misses = 0;  // packets whose queue pair an adapter would have to fetch
  };

  Device(const DeviceSettings& settings, link::Link& link, link::Numbers& numbers,
         DeviceListener& listener)
      : settings_(settings),
        link_(link),
        numbers_(numbers),
        listener_(listener),
        regions_(settings.secret, settings.lets_peers_in ? link.direct() : nullptr),
        contexts_(settings.context_entries) {
    if (settings.mishaps.any())
      mishaps_.emplace(settings.mishaps, settings.ports, settings.mishap_seed);
  }
  ~Device() override;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] memory::RegionTable& regions() { return regions_; }
  /// A number for a protection domain that nobody had before.
  std::uint32_t new_domain() { return ++domains_; }

  /// PARTS: all but the number, which is given here. Null if there are queue_pairs_max.
  qp::QueuePair* create_queue_pair(qp::QueuePairParts parts);
  /// Its completions that were not polled go with it; it is attached to no group. An XRC target
  /// queue pair goes on if other processes have it.
  void destroy(qp::QueuePair& queue_pair);
  /// The XRC target queue pair NUMBER of XRC_DOMAIN, whoever made it; null if there is none.
  qp::QueuePair* open_target(std::uint32_t number, std::uint32_t xrc_domain);
  /// Null if nobody has NUMBER.
  [[nodiscard]] qp::QueuePair* find(std::uint32_t number) const {
    const auto found = queue_pairs_.find(number);
    return found == queue_pairs_.end() ? nullptr : found->second->queue_pair.get();
  }
  [[nodiscard]] std::size_t queue_pair_count() const { return queue_pairs_.size(); }

  // Faults
  /// Queue pair NUMBER fails, as with a fault of hardware. False if nobody has it, or another
  /// process that does so too does not let go of it.
  bool fail(std::uint32_t number);
  /// A port that is down loses all packets of its queue pairs, those that come and those that go;
  /// nor does anybody copy directly.
  void set_port(std::uint8_t number, bool is_up);
  [[nodiscard]] bool is_port_up(std::uint8_t number) const { return !ports_down_[number]; }

  /// When this returns nobody copies from MEMORY, which no key opens any more.
  void withdraw(std::span<const std::byte> memory) { link_.withdraw(memory); }

  /// QUEUE_PAIR, of datagrams, gets a copy of what is sent to the multicast group GID. That it does
  /// already is no error. ENOMEM: a limit of ours or of the system's.
  int attach(const qp::QueuePair& queue_pair, const ibv_gid& gid);
  /// EINVAL: it is not attached.
  int detach(const qp::QueuePair& queue_pair, const ibv_gid& gid);
  /// To any group.
  [[nodiscard]] bool is_attached(const qp::QueuePair& queue_pair) const {
    return groups_.is_attached(queue_pair.number());
  }

  /// From now on AGENT, which outlives the device, has queue pair 1.
  void manage(ManagementAgent& agent);
  /// Sends DATAGRAM from queue pair 1 to that at ADDRESS; what is lost, nobody tells.
  void send_management(std::span<const std::byte, management_bytes> datagram,
                       const ibv_ah_attr& address);

  /// A receive queue of XRC; returns its number, or nothing if there are too many. What it points
  /// to stays until remove_target().
  std::optional<std::uint32_t> add(const qp::ReceiveTarget& target);
  void remove_target(std::uint32_t number);

  /// QUEUE_PAIR got work, or a state in which it has some.
  void note_work(qp::QueuePair& queue_pair);
  /// Sends what is ready, takes in what has come, and answers it; but answers without payload may
  /// stay until the next drive(). True if anything happened.
  bool drive(std::uint64_t now_ns);
  /// The first part of that.
  bool send(std::uint64_t now_ns);
  /// Whether send() has something to do, as far as is known.
  [[nodiscard]] bool is_ready() const {
    return !ready_.empty() || link_.has_waiting() || (agent_ != nullptr && agent_->due_ns() == 0);
  }
  /// When drive() has something to do, if nothing comes in before.
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const;
  [[nodiscard]] const Counters& counters() const { return counters_; }
  /// Of all queue pairs, also those that are no more. Looks at each.
  [[nodiscard]] qp::Requester::Counters requester_counters() const;

 private:
  struct Entry {
    std::unique_ptr<qp::QueuePair> queue_pair;
    bool is_ready = false;       // in ready_
    bool is_timed = false;       // in timed_
    std::uint64_t ready_ns = 0;  // it sends nothing before: its context is being fetched
  };

  // QueuePairHost
  void raise(qp::QueuePair& queue_pair, ibv_event_type event) override;
  std::optional<qp::Path> path_to(const ibv_ah_attr& address, ibv_mtu mtu) override;
  std::uint32_t datagram_bytes_max(std::uint8_t port) override;
  ibv_wc_status bind(qp::QueuePair& queue_pair, const queue::BindWork& work) override;
  bool invalidate(qp::QueuePair& queue_pair, std::uint32_t key) override;
  std::uint64_t now_ns() override { return now_ns_; }
  const qp::ReceiveTarget* receive_target(std::uint32_t number) override {
    const auto found = targets_.find(number);
    return found == targets_.end() ? nullptr : &found->second;
  }
  void withdraw_payloads() override { link_.withdraw_all(); }
  void open_to_peer(const qp::PeerAccess& access, const ibv_ah_attr& peer) override;
  void close_to_peer(std::uint32_t queue_pair) override;
  bool copy_directly(const qp::QueuePair& queue_pair, const qp::DirectCopy& copy) override;
  qp::Turn begin_turn(std::uint32_t number, qp::TargetState* state) override;
  void end_turn(std::uint32_t number, const qp::TargetState& state) override;
  // Sink
  void on_arrival(const qp::Arrival& arrival) override;
  void on_group_arrival(const qp::Arrival& arrival);
  void on_management_arrival(const qp::Arrival& arrival);
  bool let_agent_act();

  qp::QueuePair& make_queue_pair(const qp::QueuePairParts& parts);
  /// Where other processes may have queue pairs of TYPE, too; null: they have none.
  [[nodiscard]] link::XrcTargets* targets_with(ibv_qp_type type) {
    return type == IBV_QPT_XRC_RECV ? link_.xrc_targets() : nullptr;
  }
  qp::QueuePair* adopt_target(std::uint32_t number);
  static void catch_up(qp::QueuePair& target);
  void drop(qp::QueuePair& queue_pair);
  void drop_gone_targets();
  void suffer_mishaps(std::uint64_t now_ns);
  void fail_any();
  void make_ready(Entry& entry);
  void watch_timer(Entry& entry);
  bool look_at_timers();
  bool send_ready();
  void touch(Entry& entry);
  void deliver(Entry& entry, const qp::Arrival& arrival);
  bool send_from(Entry& entry);

  const DeviceSettings settings_;
  link::Link& link_;
  link::Numbers& numbers_;
  DeviceListener& listener_;
  memory::RegionTable regions_;
  ContextCache contexts_;
  std::bitset<256> ports_down_;     // by number
  std::optional<Mishaps> mishaps_;  // if there are to be any
  std::unordered_map<std::uint32_t, std::unique_ptr<Entry>> queue_pairs_;
  std::unordered_map<std::uint32_t, qp::ReceiveTarget> targets_;
  std::vector<std::uint32_t> adopted_;  // numbers of target queue pairs that others made
  MulticastGroups groups_;
  ManagementAgent* agent_ = nullptr;
  std::uint32_t management_sequence_ = 0;
  std::uint32_t domains_ = 0;
  std::uint64_t now_ns_ = 0;
  std::vector<Entry*> ready_;    // may have packets to send
  std::vector<Entry*> in_turn_;  // within drive(): who was ready when it came
  std::vector<Entry*> timed_;    // have a deadline, or had one lately
  std::uint64_t next_deadline_ns_ = ~std::uint64_t{0};  // none of timed_ is earlier
  Counters counters_;
  qp::Requester::Counters past_;  // of queue pairs that are no more
};

}  // namespace softrdma::device
