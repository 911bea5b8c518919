// EndpointTable: the peers that this process talks to, found by identity and made at first use; the
// sink of all transports.
//
// It resolves addresses, connects, asks for channels that a peer has earned, grants what others ask
// for, takes back what lies idle when others want it, brings frames into order and hands them up.
// Ownership: owns endpoints; borrows transports, bootstrap and ledger.
// Threads:   the lane lock.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bootstrap/address_book.hpp"
#include "channel/endpoint/dedicated_slots.hpp"
#include "channel/endpoint/endpoint.hpp"
#include "channel/endpoint/pacer.hpp"

namespace hawser::channel {

using transport::Sink;
using transport::Transport;

class EndpointTable final : public Sink {
 public:
  struct Environment {
    Identity self;
    bootstrap::AddressBook* addresses;
    bootstrap::Bootstrap* bootstrap;  // who has ended
    memory::Ledger* ledger;
    Policy* policy;
    PolicySettings settings;
    std::int64_t eager_credit_bytes;  // that a peer's endpoint starts with, both ways
    AssuranceSettings assurance;
    DeliveryChannels delivery;             // what assurance says of channels
    std::function<std::uint64_t()> clock;  // nanoseconds
  };
  explicit EndpointTable(const Environment& environment)
      : environment_(environment),
        timers_(environment.clock),
        census_(environment.bootstrap->look_interval_ns()),
        slots_(environment.settings, *environment.ledger),
        flipper_(environment.assurance.flip_one_in) {}

  /// In the order in which they are asked for an address: the first that a peer published wins.
  void add_transport(Transport& transport) {
    transports_.push_back(&transport);
    has_rails_ |= transport.rail().number > 0;
    has_networks_ |= transport.rail().network != transports_.front()->rail().network;
    if (!transport.is_for_one_host()) vigil_.set_interval(environment_.assurance.watch_ns);
  }
  /// The transport to this very process.
  void set_self_transport(Transport& transport) { self_transport_ = &transport; }
  void set_handler(FrameHandler& handler) { handler_ = &handler; }

  /// The endpoint of PEER; null if it is silent.
  [[nodiscard]] Endpoint* find(const Identity& peer) const {
    const auto found = endpoints_.find(peer);
    return found == endpoints_.end() ? nullptr : found->second.get();
  }
  /// The endpoint of PEER; made, and its connection started, if there is none.
  Endpoint& find_or_make(const Identity& peer);
  /// PROCESS, of this job, is known to have ended.
  [[nodiscard]] bool has_ended(const Identity& process) const {
    return process.index < ended_.size() && ended_[process.index] &&
           process.job == environment_.self.job;
  }
  /// PROCESS, of this job, is gone, for CAUSE.
  void lose(const Identity& process, std::string_view cause) {
    if (Endpoint* const known = find(process)) return lose(*known, cause);
    if (!has_ended(process)) lose(make(process), cause);
  }
  /// Looks at the policy again for an endpoint that is due: its table, and what it has earned.
  void apply_policy(Endpoint& endpoint);
  /// The policy has changed: its old tables are gone.
  void on_policy_changed();
  /// Makes a connection to process INDEX, whether it earned one or not, unless that is to ask.
  void connect_to(std::uint32_t index);
  /// It has one, or can't have one; connect_to() was called for it.
  [[nodiscard]] bool is_connected_to(std::uint32_t index) const;
  /// Connects ENDPOINT, which is open, by another network as well, if one reaches it: once.
  void seek_side_link(Endpoint& endpoint);
  /// Nobody earns anything any more: what is said from now on is a farewell.
  void stop_earning() { earns_ = false; }
  /// Of channels of KIND, one of transport::earned_kinds, that this process asked for, or that are
  /// mutual.
  [[nodiscard]] Slots<Endpoint>::Counts dedicated(ChannelKind kind) const {
    return slots_.asked(kind).counts();
  }
  /// See BitFlipper: for what crosses outside of frames.
  [[nodiscard]] std::uint64_t flip_one_in() const { return environment_.assurance.flip_one_in; }
  /// Queued frames of ENDPOINT shall be sent by progress().
  void note_waiting(Endpoint& endpoint);

  bool progress();
  /// Nothing that we were told to send is still on this side, but for peers that are away.
  [[nodiscard]] bool is_drained() const;
  /// When progress() has something to do by itself, in nanoseconds of the clock: 0 at once,
  /// never_ns not at all.
  [[nodiscard]] std::uint64_t deadline_ns() const;
  /// See Transport::arm().
  void arm();
  /// Sends each peer whose link may lose frames a last one: is_drained() waits until they have
  /// come. IS_JOB_AT_END: all processes of the job do that by now, and expect nothing else.
  void part(bool is_job_at_end);
  /// Forgets the processes of other jobs that have ended, as far as their channels tell, but for
  /// those of which IS_NEEDED is true. Not from inside progress().
  void forget_ended(const std::function<bool(const Identity&)>& is_needed);
  /// Tells all peers that there will be no progress() here until come_back().
  void leave();
  void come_back();
  /// Transports are about to end: nothing is sent again.
  void give_frames_back();
  /// Last comes one that stands for all that were forgotten, if there were any: of no job.
  void for_each(const std::function<void(const Endpoint&)>& visit) const;

  void on_frame(Link& link, ChannelKind kind, std::span<const std::byte> frame) override;
  void on_frame_apart(Link& link, ChannelKind kind, const transport::FrameView& frame) override;
  void on_link(Link& link, const Identity& peer) override;
  bool on_channel_asked(Link& link, ChannelKind kind) override;
  void on_channels_changed(Link& link) override;
  void on_link_state(Link& link) override;
  void on_channel_refused(Link& link, ChannelKind kind) override;
  void on_channel_given_back(Link& link, ChannelKind kind) override;
  void on_channel_recalled(Link& link, ChannelKind kind) override;
  void on_undelivered(Link& link, transport::ChannelSet kinds) override;
  void on_operation_done(Link& link, std::uint64_t token, bool was_done) override;
  void on_clearance(Link& link, std::uint64_t token,
                    const transport::Clearance& clearance) override;
  void on_lost(Link& link, std::string_view cause) override;
  std::vector<std::byte> address_of(const Identity& peer, std::string_view name) override;

 private:
  static Endpoint& endpoint_of(const Link& link) { return *static_cast<Endpoint*>(link.user); }
  Endpoint& make(const Identity& peer);
  /// Finds an address of the peer and connects; false if it has published none yet.
  bool try_connect(Endpoint& endpoint);
  void lose(Endpoint& endpoint, std::string_view cause);
  void forget(Endpoint& endpoint);
  /// Processes of the job have ended: what they had sent is taken, then they are lost.
  void lose_ended();
  /// The send table that holds for ENDPOINT's channels now.
  void refresh_table(Endpoint& endpoint);
  /// Asks for a channel of KIND to ENDPOINT if it has earned one.
  void earn(Endpoint& endpoint, ChannelKind kind);
  [[nodiscard]] bool asks_at_start(const Endpoint& endpoint) const;
  bool reserve(ChannelKind kind);
  /// ENDPOINT has earned a channel of KIND that this side can't have while others keep theirs.
  void press_for_room(Endpoint& endpoint, ChannelKind kind);
  /// Somebody found no channel of KIND to ask for: one that lies idle is given back.
  void turn_away(ChannelKind kind);
  /// Takes a channel back that was granted, or is mutual.
  bool take_back(Endpoint& endpoint, ChannelKind kind);
  /// Takes one back if all together take too much memory.
  void keep_within_memory();
  void ask(Endpoint& endpoint, Link& link, ChannelKind kind);
  /// Of all links of ENDPOINT, or of LINK. False: there is none, or no room to say so now.
  bool give_back(Endpoint& endpoint, ChannelKind kind);
  bool give_back(Endpoint& endpoint, Link& link, ChannelKind kind);
  /// The kinds that stand beside the link in use alone, from another one.
  void give_back_unshared(Endpoint& endpoint, Link& link);
  /// LINK of ENDPOINT has no channel of KIND any more, and asks for none.
  void forget_channel(Endpoint& endpoint, Link& link, ChannelKind kind);
  /// Slots follow the channels that ENDPOINT has by any of its links.
  void settle_slots(Endpoint& endpoint, ChannelKind kind);
  void attach(Endpoint& endpoint, Link& link);
  void attach_beside(Endpoint& endpoint, Link& link);
  /// LINK, by which ENDPOINT has reached us, is of another network than that which both of us use.
  [[nodiscard]] bool is_beside(const Endpoint& endpoint, const Link& link) const;
  struct Way {
    Transport* transport = nullptr;
    std::vector<std::byte> address;
  };
  [[nodiscard]] bool can_reach(const Transport& transport, const Identity& peer) const;
  /// By the first transport that can reach PEER and for which PEER has published an address; by
  /// null if it has for none.
  [[nodiscard]] Result<Way> preferred_way(const Identity& peer) const;
  static bool takes_plain(Endpoint& endpoint, const FramePrefix& prefix);
  /// What is not simply the next of the peer's frames.
  [[gnu::noinline]] void on_other_frame(Link& link, ChannelKind kind, const FramePrefix& prefix,
                                        FrameView frame);
  /// FRAME without its checksum; empty if that failed.
  std::span<const std::byte> check(Endpoint& endpoint, std::span<const std::byte> frame);
  void deliver(Link& link, ChannelKind kind, FrameView frame);
  void deliver_early(Link& link, ChannelKind kind);
  static void on_control(const Link& link, std::span<const std::byte> frame);

  // Peers that may have vanished:
  void keep_watch(std::uint64_t now_ns);
  /// Of all that could be awaited: those that have not answered yet, and a further one.
  void await_in_turn(std::vector<Endpoint*>& awaited);
  void watch(Endpoint& endpoint, std::uint64_t now_ns);
  /// So that nobody would tell: it is on another host, and there as far as we know.
  static bool may_vanish(const Endpoint& endpoint) {
    return !endpoint.lost_ && endpoint.is_open() && !endpoint.same_host_ && !endpoint.is_away();
  }
  void on_side_link_lost(Endpoint& endpoint, Link& link, std::string_view cause);
  void connect_side_link(Endpoint& endpoint);

  // Several rails:
  void connect_rails(Endpoint& endpoint);
  /// Makes it so that the best rail is used.
  void choose_rail(Endpoint& endpoint);
  /// The link in use has left so much unanswered that another one may do better.
  void on_silence(Endpoint& endpoint);
  std::uint64_t serve(Endpoint& endpoint, std::uint64_t now_ns);
  void earn_further(Endpoint& endpoint, ChannelKind kind);

  static constexpr std::uint32_t busy_rounds_per_look = 4;
  static constexpr int last_rounds_max = 1'000'000;  // that take what a process has left behind
  /// Between two channels that are taken back, so that the memory of the first can come free.
  static constexpr std::uint32_t rounds_per_memory_look = 1024;
  /// Attempts in a row without an answer, after which other rails are tried.
  static constexpr std::uint32_t silent_attempts = 2;

  const Environment environment_;
  std::vector<Transport*> transports_;
  Transport* self_transport_ = nullptr;
  FrameHandler* handler_ = nullptr;
  Timers timers_;
  Pacer census_;    // when to look for processes that have ended, where nobody tells of them
  Pacer vigil_{0};  // when to look after peers that something waits for
  Identity last_in_turn_ = {};
  std::unordered_map<Identity, std::unique_ptr<Endpoint>> endpoints_;
  std::unique_ptr<Endpoint> forgotten_;  // has counted what they have
  std::vector<Endpoint*> unresolved_;    // whose address is not published yet
  std::vector<Endpoint*> waiting_;       // with frames in their FIFO
  DedicatedSlots slots_;
  BitFlipper flipper_;
  std::vector<std::byte> flipped_;  // the frame that it has damaged
  std::uint32_t busy_rounds_ = 0;
  std::uint32_t ended_known_ = 0;    // processes of the job that have ended and were lost for it
  std::vector<bool> ended_;          // by index; empty until one has ended
  std::uint32_t memory_rounds_ = 0;  // since the last look
  bool earns_ = true;
  bool has_rails_ = false;     // some transport is not the only one of its network
  bool has_networks_ = false;  // its transports are of several
};

}  // namespace hawser::channel
