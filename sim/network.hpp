// Network: what lies between simulated processes: frames on their way, channels that overtake each
// other but keep their own order, bounded room, and connections that take their time.
//
// Every delay, refusal and bound is drawn from the seed. Datagrams (channel ud_send, and
// handshakes) are lost, repeated and overtake one another; what goes by a connection is lost when
// that breaks (connections.hpp); of everything else nothing is lost, unless a test plants it. A
// process may die at any time; those that talk to it hear of that after a while. Ownership:
// outlives the transports; owns the frames that are on their way. Threads:   one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "sim/connections.hpp"
#include "sim/crossings.hpp"
#include "sim/held_memory.hpp"
#include "sim/joint_claims.hpp"
#include "sim/probes.hpp"
#include "sim/random.hpp"
#include "sim/scheduler.hpp"
#include "transport/transport.hpp"

namespace hawser::sim {

/// The sudden end of a process, as if it were killed.
struct Death {
  std::uint32_t process = 0;
  std::uint64_t at_ns = 0;
};

/// A port that carries nothing for a while.
struct PortFailure {
  std::uint32_t process = 0;
  std::uint8_t rail = 0;
  std::uint64_t at_ns = 0;
  std::uint64_t for_ns = 0;  // 0: for good
  bool is_told = false;      // its process hears of it
};

/// How a network behaves.
struct NetworkSettings {
  std::string_view name = "sim";
  bool is_alone = true;  // processes have no other one
  std::array<std::uint64_t, transport::channel_kind_count> delay_ns_max{};
  std::uint64_t slow_one_in = 0;  // frames that take much longer
  std::uint64_t connect_ns_max = 0;
  std::size_t queue_slots = 1;  // in the queue that a process's peers share
  std::size_t ring_slots = 1;
  std::size_t queue_frame_bytes_max = 0;
  std::size_t ring_frame_bytes_max = 0;
  std::uint64_t no_room_one_in = 0;      // reservations that find none, though there is some
  std::uint64_t single_copy_one_in = 0;  // pairs that may copy; 0: none
  std::uint64_t single_copy_refused_one_in = 0;  // copies, in mid-message too
  std::uint64_t one_copy_pays_one_in = 0;        // messages that cross another one
  std::uint64_t joint_copy_one_in = 0;           // messages that cross none
  std::size_t joint_claims_max = 1;              // of one direction, at a time
  std::uint64_t preempted_one_in = 0;            // polls that let another process run first
  bool has_datagrams = false;                    // processes share ud_send instead of shared_queue
  std::uint64_t datagram_lost_one_in = 0;
  std::uint64_t datagram_repeated_one_in = 0;
  bool sends_once_along = false;               // as over TCP
  std::size_t connection_slots = 1;            // each way
  std::size_t fast_path_frame_bytes_max = 0;   // at most as long as a datagram
  std::uint64_t connection_broken_one_in = 0;  // sends that the connection does not survive
  std::uint64_t hold_refused_one_in = 0;       // of memory for operations
  std::uint64_t broken_noticed_ns_max = 1;     // after the connection broke
  std::uint64_t death_noticed_ns_max = 1;      // after a process died
  std::size_t crossings_max = 0;               // that come to one process; 0: no ud_zero_copy
  std::uint64_t crossing_part_bytes = 1;
  std::uint64_t crossing_timeout_ns = 1;
  std::uint64_t crossing_refused_one_in = 0;  // parts, by the sender's adapter
  std::uint8_t rails = 1;                     // of datagrams
  std::vector<PortFailure> port_failures;
  std::optional<Death> death;
  // Planted by tests of the simulator:
  std::optional<std::uint64_t> lost_frame;   // the frame of this number vanishes
  std::optional<std::uint64_t> fatal_frame;  // the frame of this number takes its link down
  bool forgets_refused = false;              // nobody is told when there is room again

  /// Something that was asked by a port may stay unanswered for ever.
  [[nodiscard]] bool fails_for_good() const {
    return std::ranges::any_of(port_failures, [](const auto& each) { return each.for_ns == 0; });
  }
  static NetworkSettings draw(Random& random);
  /// Which messages are copied once where that is a choice. From a stream of its own.
  void draw_copies(Random& random);
  /// What fails, in a job of PROCESSES with several rails.
  void draw_failures(Random& random, std::uint32_t processes);
};

/// What travels.
enum class Parcel : std::uint8_t {
  frame,
  hello,
  welcome,
  // About channels of one direction:
  ask,
  grant,
  refuse,
  give_back,
  recall,
  // About connections:
  handshake,        // a datagram
  broken,           // of one's own
  operation_ended,  // of one's own
  crossing,         // what became of a message without copies
  port_down,        // one's own
  port_up,
  lost
};

struct Arrival {
  std::uint32_t from;
  Parcel parcel;
  ChannelKind kind;
  std::unique_ptr<std::byte[]> data;
  std::size_t bytes;
  // What came by a connection:
  Connections::PairNumber pair = Connections::none;  // the receiver's
  Connections::PairNumber senders_pair = Connections::none;
};

class Network;

/// Where a process takes its arrivals from.
class Mailbox {
 public:
  [[nodiscard]] bool is_empty() const { return arrivals_.empty(); }
  Arrival take();
  /// The first frame of PEER's channel of KIND that has arrived, which may overtake what came by
  /// other ways; null if there is none.
  [[nodiscard]] const Arrival* front(std::uint32_t peer, ChannelKind kind) const;
  void drop_front(std::uint32_t peer, ChannelKind kind);

 private:
  friend class Network;
  [[nodiscard]] std::deque<Arrival>::const_iterator find_front(std::uint32_t peer,
                                                               ChannelKind kind) const;

  std::deque<Arrival> arrivals_;
  std::size_t queue_slots_used_ = 0;
  std::vector<std::size_t> refused_;  // fibers that shall look again once there is room
  bool closed_ = false;
};

/// Each process has a port at each rail, with a mailbox of its own: unless it says otherwise, what
/// sends and receives here is a port.
class Network {
 public:
  /// Process INDEX of the job runs on the fiber of this number.
  Network(Scheduler& scheduler, const NetworkSettings& settings, std::uint64_t seed,
          std::uint32_t processes);

  [[nodiscard]] std::uint32_t port_of(std::uint32_t process, std::uint8_t rail) const {
    return rail * processes_ + process;
  }
  [[nodiscard]] std::uint32_t process_of(std::uint32_t port) const { return port % processes_; }
  /// The process at PORT looks again.
  void wake(std::uint32_t port) { scheduler_.wake(process_of(port)); }
  /// Neither of these ports is down.
  [[nodiscard]] bool is_carrying(std::uint32_t port, std::uint32_t peer) const {
    return !is_down_[port] && !is_down_[peer];
  }

  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] const NetworkSettings& settings() const { return settings_; }
  [[nodiscard]] NetworkProbes& probes() { return probes_; }
  [[nodiscard]] Mailbox& mailbox(std::uint32_t port) { return mailboxes_[port]; }
  [[nodiscard]] Connections& connections() { return connections_; }
  [[nodiscard]] Crossings& crossings() { return crossings_; }
  [[nodiscard]] HeldMemories& held_memories() { return held_memories_; }
  [[nodiscard]] JointClaims& joint_claims() { return joint_claims_; }

  /// Nothing arrives any more; what is sent to it goes nowhere.
  void close(std::uint32_t port);
  [[nodiscard]] bool is_closed(std::uint32_t port) const { return mailboxes_[port].closed_; }
  /// PROCESS, whose number this is, has died; whoever has a link to it hears of it.
  void bury(std::uint32_t process);
  [[nodiscard]] bool is_dead(std::uint32_t port) const { return is_dead_[port]; }
  /// PORT has a link to PEER from now on.
  void note_link(std::uint32_t port, std::uint32_t peer);

  /// Whether a frame from FROM to TO finds room; if not, FROM is woken when it may.
  bool claim_room(std::uint32_t from, std::uint32_t to, ChannelKind kind);
  /// A frame for which room was claimed; a datagram needs room only where it arrives, and is lost
  /// if there is none.
  void send_frame(std::uint32_t from, std::uint32_t to, ChannelKind kind,
                  std::unique_ptr<std::byte[]> data, std::size_t bytes);
  /// Those about rings keep their order; give_back comes after the frames of the ring.
  void send_control(std::uint32_t from, std::uint32_t to, Parcel parcel);
  /// A datagram, which may be lost, come twice, or late.
  void send_datagram(std::uint32_t from, std::uint32_t to, Parcel parcel,
                     std::span<const std::byte> data);
  /// The receiver is done with a frame.
  void free_room(std::uint32_t from, std::uint32_t to, ChannelKind kind);
  void put_into_mailbox(std::uint32_t to, Arrival arrival);

  /// Handshakes between questions and answers, over all processes.
  [[nodiscard]] std::size_t restless_handshakes() const { return restless_handshakes_; }
  /// Everybody is woken when the last one has come to rest.
  void count_restless_handshakes(int more);

 private:
  struct Channel {
    std::uint64_t last_arrival_ns = 0;
    std::size_t slots_used = 0;
  };
  using ChannelKey = std::array<std::uint32_t, 3>;  // from, to, kind

  [[nodiscard]] std::uint64_t draw_delay_ns(ChannelKind kind);
  void deliver_at(std::uint64_t time_ns, std::uint32_t to, Arrival arrival);
  void announce_death(std::uint32_t port, std::uint32_t to);
  void set_port(const PortFailure& failure, bool is_up);
  void wake_refused(Mailbox& mailbox);

  Scheduler& scheduler_;
  const NetworkSettings settings_;
  const std::uint32_t processes_;
  Random random_;
  // By port:
  std::vector<Mailbox> mailboxes_;
  std::vector<std::set<std::uint32_t>> linked_;  // those that have a link to it
  std::vector<bool> is_dead_;
  std::vector<bool> is_down_;
  Connections connections_;
  Crossings crossings_;
  HeldMemories held_memories_;
  JointClaims joint_claims_;
  std::size_t restless_handshakes_ = 0;
  std::map<ChannelKey, Channel> channels_;
  NetworkProbes probes_;
  std::uint64_t frames_sent_ = 0;
};

}  // namespace hawser::sim
