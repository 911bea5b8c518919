// XrcReceives: the one receive queue of XRC in which the frames of all peers arrive that this
// process has granted one, by whichever target queue pair.
//
// A frame's immediate data is the number of its sender's grant, which tells whose it is; the number
// of the queue pair would tell it, too, but for one that somebody else has made anew.
// Like those of connections the queue grows with the logarithm of the number of peers, a window
// shares its buffers out, and after a while without a grant no buffers wait.
// Ownership: owns queue and buffers; borrows port, domain, ledger and the owners of grants.
// Threads:   the lane lock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "transport/verbs/receive_pool.hpp"
#include "transport/verbs/shared_receives.hpp"
#include "transport/verbs/wire.hpp"
#include "transport/verbs/xrc_domain.hpp"

namespace hawser::transport::verbs {

class XrcReceives {
 public:
  /// Who granted.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_xrc_frame(std::span<const std::byte> frame) = 0;
  };

  /// CHANNEL tells of what comes.
  static Result<std::unique_ptr<XrcReceives>> open(const Port& port, const XrcDomain& domain,
                                                   ibv_comp_channel* channel,
                                                   memory::Ledger& ledger,
                                                   const Settings& settings);

  /// The target queue pair that QUESTION names, or a new one for who asks; null where the adapter
  /// refuses, or there is no such one any more.
  [[nodiscard]] QueuePair target_for(const XrcMessage& question) const;
  /// The number of a new grant of OWNER; 0 where the adapter refuses.
  std::uint32_t add(Owner& owner);
  /// GRANT is over. WAS_BROKEN: a frame may have come in part, and its buffer be lost.
  void remove(std::uint32_t grant, bool was_broken);
  /// Fills in what whom it was granted needs to know.
  void describe(std::uint32_t grant, XrcMessage& answer) const;
  /// Frames that each of them may have on its way to us.
  [[nodiscard]] std::uint32_t window() const;

  /// Tells owners what has come; true if anything has: a few frames, or all where few buffers were
  /// left.
  bool poll();
  /// The same for all that is reported now.
  void poll_all();
  void on_event(const ibv_async_event& event);
  void arm();

 private:
  static constexpr int arrivals_per_poll_max = 16;
  /// Rounds without a grant after which no buffers wait any more.
  static constexpr std::uint32_t polls_until_idle = 4096;
  /// Frames that each peer can have on its way, at least.
  static constexpr std::size_t window_min = 4;

  XrcReceives(const Port& port, const XrcDomain& domain, CompletionQueue arrivals,
              memory::Ledger& ledger, const Settings& settings, std::size_t buffers_max);
  bool open_queue();
  void close_idle();
  void discard_arrivals();
  void fit_to_grants();
  bool poll_some();
  void on_arrival(const ibv_wc& completion);
  [[nodiscard]] QueuePair make_target(const XrcMessage& question) const;
  [[nodiscard]] QueuePair open_target(std::uint32_t number) const;

  const Port& port_;
  const XrcDomain& domain_;
  const Settings& settings_;
  const std::size_t buffers_max_;
  ReceivePool pool_;
  CompletionQueue arrivals_;
  std::unique_ptr<SharedReceives> shared_;  // null while there is none
  std::uint32_t number_ = 0;                // of it
  std::unordered_map<std::uint32_t, Owner*> grants_;
  std::uint32_t grants_made_ = 0;
  std::size_t lost_ = 0;  // buffers, at most
  std::uint32_t idle_polls_ = 0;
  bool runs_low_ = false;  // few buffers were left
};

}  // namespace hawser::transport::verbs
