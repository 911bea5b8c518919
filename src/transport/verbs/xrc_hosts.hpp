// XrcHosts: the queue pairs of XRC by which this process sends, one for each host.
//
// Ownership: owns the hosts and the completion queue that tells of what they sent; borrows the
// rest. Threads:   the lane lock. Bounds:    verbs.xrc_hosts_max hosts, or as many as the adapter
// has queue pairs for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/verbs/xrc_host.hpp"

namespace hawser::transport::verbs {

class XrcHosts {
 public:
  /// One that found no room for its host.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    /// A host has ended. To be acted upon later; it waits no more.
    virtual void on_host_ended() = 0;
  };

  /// CHANNEL tells of what has left. QUEUE_PAIRS_MADE: counts those that have numbers of ours.
  static Result<std::unique_ptr<XrcHosts>> open(const Port& port, ibv_comp_channel* channel,
                                                SendBuffers& buffers, const Settings& settings,
                                                std::uint32_t& queue_pairs_made);

  /// The host of IDENTITY, made if it is not there, for one who is about to use it; null if there
  /// can't be another one.
  XrcHost* find_or_make(std::uint64_t identity);
  /// USER does without HOST, which ends with its last user.
  void leave(XrcHost& host, const XrcHost::User& user);
  /// WAITER, which does not wait yet, hears of the next host that ends; or it waits no more.
  void await_end(Waiter& waiter) { waiters_.push_back(&waiter); }
  void forget(Waiter& waiter) { std::erase(waiters_, &waiter); }
  [[nodiscard]] std::size_t size() const { return hosts_.size(); }

  /// Takes what is reported, a few at a time; true if anything was.
  bool poll();
  /// Some host broke: serve() is to be called.
  [[nodiscard]] bool has_broken() const { return common_.has_broken; }
  /// Ends what broke, and tells its users.
  void serve();
  void arm();
  [[nodiscard]] std::uint64_t bytes_started() const { return common_.bytes_started; }

 private:
  XrcHosts(const Port& port, CompletionQueue departures, SendBuffers& buffers,
           const Settings& settings, std::uint32_t& queue_pairs_made);
  bool fit_completions(std::size_t hosts);
  void poll_all();
  void end(std::unique_ptr<XrcHost> host);
  void tell_waiters();

  std::uint32_t& queue_pairs_made_;
  CompletionQueue departures_;
  XrcHost::Common common_;
  std::size_t hosts_max_;
  std::vector<std::unique_ptr<XrcHost>> hosts_;
  std::vector<Waiter*> waiters_;
};

}  // namespace hawser::transport::verbs
