// Host: the seat of this process on what the processes of a host share: one adapter, made of all of
// them.
//
// The processes of one network name space and user that name the same fabric share a block: an
// anonymous file, handed over by an abstract Unix socket, so that nothing with a name is left
// behind. Each takes a seat by a lock on one byte of the file, which the kernel gives back when the
// process ends, however it ends; each serves the file to those who come later.
//
// Ownership: of mapping, locks, sockets and the threads that serve and watch them. Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "platform/file.hpp"
#include "platform/local_socket.hpp"
#include "softrdma/fabric/inbox.hpp"
#include "softrdma/fabric/members.hpp"
#include "softrdma/link/numbers.hpp"
#include "softrdma/qp/target_state.hpp"
#include "softrdma/wire/icrc.hpp"
#include "softrdma/wire/packet.hpp"

namespace softrdma::fabric {

/// How the thread of a device sleeps.
enum class Sleep : std::uint32_t {
  none,     // it looks for itself
  deep,     // until it is woken
  watches,  // for a moment: a program polls, and it looks whether that goes on
};

/// What a device has and has done, for those who want to know.
struct Statistics {
  std::uint64_t queue_pairs;
  std::uint64_t regions;
  std::uint64_t region_bytes;
  std::uint64_t packets_sent;
  std::uint64_t packets_received;
  std::uint64_t bytes_read;    // of payload, out of other processes' memory
  std::uint64_t bytes_direct;  // written to or read from it without packets
  std::uint64_t udp_sent;      // packets to other hosts
  std::uint64_t udp_received;  // and from them
  std::uint64_t repeated;      // packets that were sent again
  std::uint64_t timeouts;
  std::uint64_t not_ready;  // answers that no receive was posted
  std::uint64_t notices;    // of congestion
  std::uint64_t dropped;    // packets for nobody, for a full inbox, or without payload
  std::uint64_t wrong_checksum;
  std::uint64_t context_misses;  // of the model of an adapter's cache
};

/// What the others see of a process.
struct SeatMemory {
  alignas(64) std::atomic<std::uint32_t> bell;  // it sleeps on this word
  std::atomic<Sleep> sleep;
  std::atomic<std::uint32_t> is_polled;  // a program drives it, as far as is known
  std::atomic<std::uint32_t> lingers;    // its thread looks around before it sleeps
  std::atomic<std::uint32_t> pid;
  std::atomic<std::uint64_t> cookie_address;  // where in its memory the cookie lies, which proves
  std::atomic<std::uint64_t> cookie;          // that a process number means the same to both
  std::atomic<std::uint64_t> groups;  // multicast groups that it may have joined: GroupFilter
  std::atomic<std::uint64_t> fault;   // that it is asked to suffer: fault_request.hpp
  std::atomic<std::uint32_t> has_management;     // it takes packets for queue pair 1
  alignas(64) std::atomic<std::uint32_t> epoch;  // pieces of its memory count with this number only
  /// 1 + the seat whose memory it copies to or from just now.
  alignas(64) std::atomic<std::uint32_t> visits;
  /// Words of Statistics, written now and then.
  alignas(64)
      std::array<std::atomic<std::uint64_t>, sizeof(Statistics) / sizeof(std::uint64_t)> statistics;
  alignas(64) std::array<std::atomic<std::uint8_t>,
                         seat_count> cannot_read;  // seats whose memory is closed
};

/// What others may look up, and its owner changes at any time: what readers took counts for nothing
/// if VERSION was odd, or is another one afterwards.
struct RegionCard {
  alignas(64) std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> key;
  std::atomic<std::uint64_t> owner;  // its cookie: what somebody before has left counts for nothing
  std::atomic<std::uint64_t> address;  // as work requests name it
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> memory;  // where that is in the owner's memory
  std::atomic<std::uint32_t> domain;
  std::atomic<std::uint32_t> access;
  std::atomic<std::uint32_t> only_for_qp;
};
struct QueuePairCard {
  alignas(32) std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> peer;
  std::atomic<std::uint64_t> owner;
  std::atomic<std::uint32_t> domain;
  std::atomic<std::uint32_t> access;
  std::atomic<std::uint32_t> target;  // of XRC: 1 + its place among those; not of the version
};
/// Of each process; a region whose card another one has is not published.
inline constexpr std::size_t region_cards = 8192;

/// A domain of XRC, that of a file (or of none: 0, 0).
struct XrcDomainMemory {
  std::atomic<std::uint64_t> device;
  std::atomic<std::uint64_t> inode;
  Members users;
};
inline constexpr std::size_t xrc_domains_max = 256;

/// An XRC target queue pair.
struct XrcTargetMemory {
  std::atomic<std::uint32_t> number;  // 0: there is none
  std::atomic<std::uint32_t> xrc_domain;
  Members holders;                  // who has it open
  std::atomic<std::uint32_t> lock;  // of what follows
  std::atomic<std::uint32_t> current;
  std::array<qp::TargetState, 2> states;  // one counts, the other is written
};
inline constexpr std::size_t xrc_targets_max = 4096;

struct Block;

/// An address of this host.
struct NetworkAddress {
  wire::Address address{};
  std::uint32_t interface = 0;  // the system's number of it
  std::uint32_t mtu = 0;        // of IP packets
};

/// The way to other hosts, which all processes of a host share.
struct Network {
  std::vector<NetworkAddress> addresses;                  // at most network_addresses_max
  std::vector<hawser::platform::FileDescriptor> sockets;  // network_sockets, or none
};
using OpenNetwork = std::function<Network()>;
inline constexpr std::size_t network_addresses_max = 32;
inline constexpr std::size_t network_sockets = 2;

/// What the processes of a host know together of its sockets.
struct NetworkMemory {
  std::atomic<std::uint32_t> reader;     // 1 + the seat of the process that empties them just now
  std::atomic<std::uint32_t> is_in_use;  // bits: the sockets by which somebody talks to other hosts
};

class Host final : public link::Numbers {
 public:
  /// FABRIC: any name; an empty one is private: nobody else can join. Errors: sentences.
  /// OPEN, if any, is called if this process is the first.
  static hawser::base::Result<std::unique_ptr<Host>> join(std::string_view fabric,
                                                          const OpenNetwork& open = {});
  ~Host() override;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] std::uint16_t seat() const { return seat_; }
  /// Random, and the same for all processes of the host.
  [[nodiscard]] std::uint64_t guid() const;
  [[nodiscard]] SeatMemory& seat_memory(std::uint16_t seat) const;
  [[nodiscard]] Inbox inbox(std::uint16_t seat) const;
  /// Asks the kernel.
  [[nodiscard]] bool is_alive(std::uint16_t seat) const;
  /// Wakes the thread of the device on SEAT if it sleeps, unless its program polls and will look by
  /// itself. What it is to see was written before.
  void ring(std::uint16_t seat) const;
  /// Seats from here on have never been taken.
  [[nodiscard]] std::uint16_t seats_end() const;

  void publish(const Statistics& statistics);
  [[nodiscard]] Statistics statistics_of(std::uint16_t seat) const;

  // Other hosts
  [[nodiscard]] std::span<const NetworkAddress> addresses() const;
  /// Descriptors; none if there is no way to other hosts.
  [[nodiscard]] std::span<const hawser::platform::FileDescriptor> sockets() const {
    return sockets_;
  }
  [[nodiscard]] NetworkMemory& network() const;
  /// From now on, until stop_watching(), READY is called on a thread of its own, with its place
  /// among sockets(), when one is readable and nobody looks at them: no program polls, and no
  /// device's thread lingers. OWN, if it is a descriptor: the same, with the place after those, but
  /// only this process looks at it.
  void watch_sockets(std::function<void(std::size_t)> ready, int own = -1);
  /// This process begins to look at the sockets; what it says in its seat says so, too.
  void note_poller();
  /// It does so no more.
  void look_again();
  void stop_watching();

  // Queue pairs
  std::optional<std::uint32_t> take() override;
  void give_back(std::uint32_t number) override;
  /// From now on the process on SEAT has it.
  void move(std::uint32_t number, std::uint16_t seat);
  [[nodiscard]] QueuePairCard& queue_pair_card(std::uint32_t number) const;
  /// Where the region of KEY would be published by the process on SEAT.
  [[nodiscard]] RegionCard& region_card(std::uint16_t seat, std::uint32_t key) const;
  /// The seat of the process that has queue pair NUMBER.
  [[nodiscard]] std::optional<std::uint16_t> owner_of(std::uint32_t number) const;

  // XRC
  [[nodiscard]] std::span<XrcDomainMemory> xrc_domains() const;
  /// Those that are or were.
  [[nodiscard]] std::span<XrcTargetMemory> xrc_targets() const;
  /// One more of those, for whoever holds the table's lock; null if there are xrc_targets_max.
  [[nodiscard]] XrcTargetMemory* add_xrc_target();
  /// For SharedLock: of both tables, where entries come and go.
  [[nodiscard]] std::atomic<std::uint32_t>& table_lock() const;
  /// Whether any of them lives.
  [[nodiscard]] bool has_members(const Members& members) const {
    return first_member(members).has_value();
  }

  /// In a child of fork(): the seat is the parent's.
  void forget_in_child();

 private:
  Host() = default;
  hawser::base::Result<void> sit_down(std::string_view name);
  void clear_seat();
  void clear_after_another();
  void leave_xrc();
  [[nodiscard]] std::optional<std::uint16_t> first_member(const Members& members) const;
  void take_network(Network network);
  void answer();
  void serve(hawser::platform::LocalSocket& socket) const;
  void watch();
  bool pause(int limit_ms);
  [[nodiscard]] int pause_of_watcher() const;
  [[nodiscard]] bool looks(std::uint16_t seat) const;

  hawser::platform::FileDescriptor file_;  // shared with everybody
  hawser::platform::FileDescriptor lock_;  // the same, opened anew: its locks are ours
  hawser::platform::Mapping mapping_;
  Block* block_ = nullptr;
  std::uint16_t seat_ = 0;
  std::uint64_t cookie_ = 0;
  hawser::platform::LocalSocket listener_;
  hawser::platform::FileDescriptor ending_;  // readable when the thread is to end
  std::thread server_;
  std::vector<hawser::platform::FileDescriptor> sockets_;
  std::function<void(std::size_t)> ready_;
  int own_ = -1;
  hawser::platform::FileDescriptor watcher_flag_;  // readable: there is something new for it
  std::atomic<bool> watcher_pauses_ = false;
  std::atomic<bool> watcher_waits_ = false;
  std::atomic<bool> watcher_ends_ = false;
  std::thread watcher_;
};

}  // namespace softrdma::fabric
