// Datagram: the sending and receiving of a queue pair without connection (InfiniBand Architecture
// Specification, volume 1, §9.8.3): each message is one packet, to whom its work request says, and
// comes or does not.
//
// Ownership: borrows queue, regions, receives and listeners. Threads: the adapter's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "softrdma/qp/context.hpp"
#include "softrdma/qp/receive.hpp"
#include "softrdma/qp/requester.hpp"

namespace softrdma::qp {

class Datagram {
 public:
  /// Messages that were dropped, and why.
  struct Counters {
    std::uint64_t wrong_queue_key = 0;
    std::uint64_t without_receive = 0;
  };

  Datagram(const Context& context, queue::SendQueue& queue, const memory::RegionTable& regions,
           ReceiveSource& receives, RequesterListener& sends, ResponderListener& listener)
      : context_(context),
        queue_(queue),
        regions_(regions),
        receives_(receives),
        sends_(sends),
        listener_(listener) {}

  void start_receiving() { is_receiving_ = true; }
  void start_sending(std::uint32_t sequence) {
    is_sending_ = true;
    sequence_ = sequence & wire::number_mask;
  }
  void pause_sending() { is_sending_ = false; }
  void stop_receiving() { is_receiving_ = false; }
  /// Neither sends nor receives until it is started; the queue is empty.
  void forget() { is_sending_ = is_receiving_ = false; }
  /// Everything in the queue is over, as flushed.
  void flush();

  /// Who the next packet is for; nobody if there is none to send.
  [[nodiscard]] std::optional<Destination> destination() {
    if (!is_sending_ || queue_.is_empty()) return std::nullopt;
    queue::SendWork& work = queue_.front();
    return Destination{&queue_.address(work), work.remote_qp};
  }
  /// The next packet to send; false if there is none. Its work is over.
  bool next(Outgoing* out);
  void on_arrival(const Arrival& arrival);
  [[nodiscard]] std::uint32_t next_sequence() const { return sequence_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  ibv_wc_status build(queue::SendWork& work, Outgoing* out);
  ibv_wc_status store(const Arrival& arrival);

  const Context& context_;
  queue::SendQueue& queue_;
  const memory::RegionTable& regions_;
  ReceiveSource& receives_;
  RequesterListener& sends_;
  ResponderListener& listener_;
  bool is_sending_ = false;
  bool is_receiving_ = false;
  std::uint32_t sequence_ = 0;
  std::vector<ibv_sge> entries_;  // of the receive at hand
  ibv_ah_attr address_{};         // of the packet given out last
  Counters counters_;
};

}  // namespace softrdma::qp
