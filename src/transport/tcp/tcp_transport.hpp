// TcpTransport: processes that a TCP connection reaches.
//
// One listening socket for all addresses, at a port of the kernel's choice; a connection with each
// peer that is talked to. Whoever comes has to prove first that it holds the job's key (wire.hpp):
// until then it costs a socket and a few hundred bytes.
// Ownership: owns its links and what they work with; borrows what its Environment names.
// Threads:   the lane lock.
// Bounds:    visitors_max that have proven nothing yet, each for visit_ns; the oldest has to go
//            when there are more. Connections: as many as descriptors, or the settings, allow; then
//            the one that was used least recently has to go, of those with nothing under way.
// Polling:   a round of progress is one system call where one peer is talked to, and few more where
//            there are many; none at all for most rounds where there is no peer, or nothing has
//            come for long. After arm() it looks at everything.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/tcp/greeting.hpp"
#include "transport/tcp/link_services.hpp"
#include "transport/tcp/settings.hpp"
#include "transport/tcp/tcp_link.hpp"
#include "transport/transport.hpp"

namespace hawser::transport::tcp {

class TcpTransport final : public Transport {
 public:
  struct Environment {
    Identity self;
    JobKey key{};                                // the job's
    const bootstrap::Keyring* others = nullptr;  // for processes of other jobs; null: none
    memory::Ledger* ledger;
    Sink* sink;
    std::function<std::uint64_t()> clock;           // nanoseconds; never goes back
    std::vector<InterfaceAddress> interfaces = {};  // for tests: instead of the host's
  };
  static constexpr std::size_t visitors_max = 128;
  static constexpr std::uint64_t visit_ns = 60'000'000'000;

  static Result<std::unique_ptr<TcpTransport>> open(const Environment& environment,
                                                    const Settings& settings);
  ~TcpTransport() override;

  [[nodiscard]] std::string_view name() const override { return network_name; }
  [[nodiscard]] Rail rail() const override { return {network_name}; }
  [[nodiscard]] bool reaches_other_jobs() const override {
    return services_.side.others != nullptr;
  }
  [[nodiscard]] std::vector<Traffic> traffic() const override;
  [[nodiscard]] PeerConnections connections() const override { return services_.connections; }
  Result<std::span<const std::byte>> address() override {
    return std::span<const std::byte>(address_);
  }
  Result<Link*> connect(const Identity& peer, std::span<const std::byte> address) override;
  void forget(const Identity& peer) override;
  bool progress() override;
  [[nodiscard]] bool is_drained() const override;
  void leave() override;
  void come_back() override;
  [[nodiscard]] int descriptor() const override { return services_.poll.descriptor(); }
  void arm() override;
  [[nodiscard]] std::uint64_t deadline_ns() const override;

  /// Connections that came and were not let in: strangers, and such of this job as gave up.
  [[nodiscard]] std::uint64_t turned_away() const { return turned_away_; }
  [[nodiscard]] std::size_t visitors() const { return visitors_.size(); }

 private:
  /// How often the listening socket is looked at where there is nothing else to look at.
  static constexpr std::uint64_t idle_look_ns = 100'000;
  /// Rounds for each that reads the clock to know.
  static constexpr std::uint32_t rounds_per_clock = 32;
  /// Rounds that look at the peer who sent last, for each that asks about all.
  static constexpr std::uint32_t rounds_per_look = 4;
  /// Likewise when it has just sent something, or has done so for long.
  static constexpr std::uint32_t rounds_per_look_beside_recent = 16;
  /// Rounds without anything after which that peer is one of many again.
  static constexpr std::uint32_t rounds_until_watched = 64;
  /// Rounds without anything after which only one in rounds_if_quiet looks at all: the process is
  /// likely to be busy with other channels.
  static constexpr std::uint32_t rounds_until_quiet = 2048;
  static constexpr std::uint32_t rounds_if_quiet = 8;
  static constexpr std::size_t accepted_per_look_max = 64;
  static constexpr std::uint64_t looks_per_timeout = 8;
  static constexpr std::uint64_t looks_per_idle_time = 4;
  /// Between two looks at rails that may carry nothing.
  static constexpr std::uint64_t rail_look_ns = 250'000'000;
  /// How long nobody is let in when there are no descriptors.
  static constexpr std::uint64_t shut_ns = 50'000'000;

  TcpTransport(const Environment& environment, const Settings& settings,
               platform::TcpSocket listener, platform::PollSet poll,
               std::vector<InterfaceAddress> own, std::vector<Interface> interfaces,
               const Address& address);

  TcpLink& link_for(const Identity& peer);
  bool poll();
  void watch_recent();
  bool look(std::uint64_t now_ns);
  void check_links(std::uint64_t now_ns);
  void accept_visitors(std::uint64_t now_ns);
  void shut(std::uint64_t now_ns);
  void open_again();
  void make_room(std::uint64_t now_ns);
  void serve_visitors(std::uint64_t now_ns);
  void welcome(Visitor& visitor, std::uint64_t now_ns);
  void turn_away(const Visitor& visitor);
  void flush_unsent();
  bool tell_unread();
  void serve_changed(std::uint64_t now_ns);
  void serve_timed(std::uint64_t now_ns);
  [[nodiscard]] bool is_idle() const { return links_.empty() && visitors_.empty(); }

  platform::TcpSocket listener_;
  LinkServices services_;
  std::vector<std::byte> address_;  // as published
  std::uint16_t port_;
  std::vector<std::unique_ptr<Visitor>> visitors_;  // the oldest first
  std::unordered_map<Identity, std::unique_ptr<TcpLink>> links_;
  std::uint64_t turned_away_ = 0;
  bool has_warned_ = false;  // of a stranger, on the standard error output
  std::uint64_t looked_ns_ = 0;
  std::uint64_t next_check_ns_ = 0;  // of hosts that are gone, and of connections nobody uses
  std::uint64_t shut_until_ns_ = never_ns;  // the listener is not listened to; never: it is
  std::uint32_t rounds_ = 0;
  std::uint32_t rounds_without_look_ = 0;
  std::uint32_t quiet_rounds_ = 0;
  bool is_armed_ = true;
};

}  // namespace hawser::transport::tcp
