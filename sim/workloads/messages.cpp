// Random point-to-point programs (message_plan.hpp): every way to send against every way to
// receive.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "sim/workloads/message_plan.hpp"
#include "sim/workloads/payload.hpp"
#include "sim/workloads/workloads.hpp"

namespace hawser::sim {

namespace {

using p2p::Envelope;
using p2p::SendMode;

class Messages final : public Workload {
 public:
  Messages(Random& random, int ranks, const core::TypeTable& types)
      : greet_first(random.one_in(2)),
        messages(plan_messages(random, ranks)),
        byte(*types.find(0x247)),
        receive_started(messages.size()) {}
  void run(Rank& rank) override;

  const bool greet_first;
  const std::vector<MessagePlan> messages;
  Datatype& byte;
  std::vector<bool> receive_started;  // told by the receiver, so that senders can check on it
};

/// One rank's part of the program.
class Player {
 public:
  Player(Rank& self, Messages& program)
      : self_(self),
        program_(program),
        any_tag_comm_(self.check(self.process.comms().dup(*self.world, nullptr))),
        any_source_comm_(self.check(self.process.comms().dup(*self.world, nullptr))) {}

  void play() {
    self_.check(self_.process.buffered_sends().attach(nullptr, p2p::buffer_automatic, 0));
    for (std::size_t i = 0; i < program_.messages.size(); ++i) {
      const MessagePlan& message = program_.messages[i];
      if (message.from == self_.rank) send(i, message);
      if (message.to == self_.rank) receive(i, message);
      if (message.from == self_.rank || message.to == self_.rank) look_around();
    }
    finish();
  }

 private:
  struct Sending {
    Payload payload;
    Ref<Request> request;
    std::size_t number;
  };
  struct Receiving {
    Payload payload;
    Ref<Request> request;
    std::size_t number;  // of the message that was planned
    Status status{};
    bool checked = false;
  };

  Comm& comm_of(const MessagePlan& message) {
    switch (message.message_class) {
      case MessageClass::named:
        return *self_.world;
      case MessageClass::any_tag:
        return *any_tag_comm_;
      case MessageClass::any_source:
        return *any_source_comm_;
    }
    return *self_.world;
  }

  void send(std::size_t number, const MessagePlan& message) {
    self_.doing("message {}: form {} of {} bytes to {}, tag {}", number,
                static_cast<int>(message.send), message.bytes, message.to, message.tag);
    Payload payload(program_.byte, message.bytes, message.holes_at_sender);
    payload.fill(static_cast<std::uint32_t>(number));
    const Envelope envelope{&comm_of(message), message.to, message.tag};
    p2p::Engine& engine = self_.engine();
    switch (message.send) {
      case SendForm::bsend:
        self_.check(self_.process.buffered_sends().send(payload.const_buffer(), envelope));
        return;
      case SendForm::send:
        self_.check(engine.send(payload.const_buffer(), envelope, SendMode::standard));
        return;
      case SendForm::ssend:
        self_.check(engine.send(payload.const_buffer(), envelope, SendMode::synchronous));
        check_matched(number);
        return;
      case SendForm::isend:
      case SendForm::issend:
      case SendForm::count_:
        break;
    }
    const SendMode mode =
        message.send == SendForm::issend ? SendMode::synchronous : SendMode::standard;
    // Its memory must stay where it is while the request lasts.
    sends_.push_back({std::move(payload), nullptr, number});
    sends_.back().request =
        self_.check(engine.isend(sends_.back().payload.const_buffer(), envelope, mode));
  }

  /// A synchronous send must not complete before its receive was posted.
  void check_matched(std::size_t number) {
    const bool is_certain = program_.messages[number].message_class != MessageClass::any_source;
    self_.check(!is_certain || program_.receive_started[number],
                "message {}: the synchronous send completed before its receive was posted", number);
  }

  Envelope wanted(const MessagePlan& message) {
    const bool any_source = message.message_class == MessageClass::any_source;
    const bool any_tag = message.message_class == MessageClass::any_tag;
    return {&comm_of(message), any_source ? p2p::any_source : message.from,
            any_tag ? p2p::any_tag : message.tag};
  }

  void receive(std::size_t number, const MessagePlan& message) {
    self_.doing("message {}: receive form {} from {}, tag {}", number,
                static_cast<int>(message.receive), message.from, message.tag);
    Receiving& receiving = receives_.emplace_back(
        Receiving{Payload(program_.byte, message.room, message.holes_at_receiver), {}, number});
    Envelope envelope = wanted(message);
    switch (message.receive) {
      case ReceiveForm::recv:
      case ReceiveForm::irecv:
      case ReceiveForm::count_:
        break;
      case ReceiveForm::probe:
      case ReceiveForm::iprobe:
        envelope = probe(number, message, envelope);
        break;
      case ReceiveForm::mprobe:
      case ReceiveForm::improbe:
        receive_probed(receiving, message, envelope);
        return;
      case ReceiveForm::cancelled:
        if (!post_and_cancel(receiving, envelope)) return;
        break;
    }
    post(receiving, envelope);
    if (message.receive != ReceiveForm::irecv) finish(receiving);
  }

  void post(Receiving& receiving, const Envelope& envelope) {
    program_.receive_started[receiving.number] = true;
    receiving.request = self_.check(self_.engine().irecv(receiving.payload.buffer(), envelope));
  }

  /// What the message that was seen is then received by.
  Envelope probe(std::size_t number, const MessagePlan& message, const Envelope& envelope) {
    Status status;
    if (message.receive == ReceiveForm::probe) {
      self_.check(self_.engine().probe(envelope, &status));
    } else {
      while (!self_.check(self_.engine().iprobe(envelope, &status))) self_.scheduler.pause();
    }
    check_envelope(number, message, status);
    return {envelope.comm, status.source, status.tag};
  }

  void receive_probed(Receiving& receiving, const MessagePlan& message, const Envelope& envelope) {
    Ref<p2p::Message> found;
    if (message.receive == ReceiveForm::mprobe) {
      found = self_.check(self_.engine().mprobe(envelope));
    } else {
      while (!(found = self_.check(self_.engine().improbe(envelope)))) self_.scheduler.pause();
    }
    check_envelope(receiving.number, message, found->status());
    // Others may come and be received in between.
    self_.scheduler.maybe_pause(2);
    program_.receive_started[receiving.number] = true;
    receiving.request =
        self_.check(self_.engine().imrecv(receiving.payload.buffer(), std::move(found)));
    if (self_.random.one_in(2)) finish(receiving);
  }

  /// True if the cancellation came before the message.
  bool post_and_cancel(Receiving& receiving, const Envelope& envelope) {
    post(receiving, envelope);
    for (int polls = self_.random.between(0, 4); polls > 0; --polls) {
      self_.scheduler.pause();
      self_.engine().progress();
    }
    self_.check(receiving.request->cancel());
    Status status;
    const Result<void> result = p2p::wait(self_.engine(), receiving.request.get(), &status);
    if (status.cancelled) {
      self_.check(result);
      return true;
    }
    receiving.status = status;
    check_received(receiving, status, result);
    return false;
  }

  /// What a probe says of the message; sizes are those of the message, whatever the buffer.
  void check_envelope(std::size_t number, const MessagePlan& message, const Status& status) {
    if (message.message_class == MessageClass::any_source) {
      self_.check(status.tag == message.tag, "message {}: probed a message of tag {}", number,
                  status.tag);
      return;
    }
    self_.check(status.source == message.from && status.tag == message.tag &&
                    status.bytes == static_cast<Count>(message.bytes),
                "message {}: probed {} bytes from {}, tag {}", number, status.bytes, status.source,
                status.tag);
  }

  void finish(Receiving& receiving) {
    if (receiving.checked) return;
    Status status;
    const Result<void> result = p2p::wait(self_.engine(), receiving.request.get(), &status);
    check_received(receiving, status, result);
  }

  void check_received(Receiving& receiving, const Status& status, const Result<void>& result) {
    receiving.checked = true;
    receiving.status = status;
    const bool is_any =
        program_.messages[receiving.number].message_class == MessageClass::any_source;
    const std::size_t number = is_any ? receiving.payload.number() : receiving.number;
    self_.check(number < program_.messages.size(), "receive {}: the message is damaged",
                receiving.number);
    const MessagePlan& message = program_.messages[number];
    const bool is_truncated = message.bytes > receiving.payload.bytes();
    if (is_truncated) {
      self_.check(
          !result.ok() && result.error().code() == static_cast<int>(base::ErrorClass::truncate),
          "message {}: was not reported as truncated", number);
    } else {
      self_.check(result);
    }
    self_.check(status.source == message.from && status.tag == message.tag,
                "message {}: the status says source {}, tag {}", number, status.source, status.tag);
    if (is_truncated) return;
    self_.check(status.bytes == static_cast<Count>(message.bytes),
                "message {}: the status says {} bytes instead of {}", number, status.bytes,
                message.bytes);
    self_.check(receiving.payload.holds(static_cast<std::uint32_t>(number), message.bytes),
                "message {}: its data is damaged, or memory around it", number);
    if (is_any) {
      self_.check(message.to == self_.rank && message.message_class == MessageClass::any_source,
                  "receive {}: got message {}, which is for another", receiving.number, number);
    }
  }

  /// Between messages: waits, tests and time for others. Waits only for what is certain to come.
  void look_around() {
    self_.scheduler.maybe_pause(4);
    if (self_.random.one_in(4)) wait_for_some_sends();
    if (self_.random.one_in(4) && !receives_.empty()) test(self_.random.pick(receives_));
    if (!self_.random.one_in(4) || receives_.empty()) return;
    Receiving& receiving = self_.random.pick(receives_);
    const MessagePlan& message = program_.messages[receiving.number];
    if (message.message_class != MessageClass::any_source) finish(receiving);
  }

  void test(Receiving& receiving) {
    if (receiving.checked) return;
    Status status;
    p2p::TestOutcome outcome = p2p::test(self_.engine(), receiving.request.get(), &status);
    if (outcome.flag) check_received(receiving, status, outcome.result);
  }

  void wait_for_some_sends() {
    std::vector<Request*> requests;
    std::vector<Sending*> waited;
    for (Sending& sending : sends_) {
      if (!sending.request) continue;
      const MessagePlan& message = program_.messages[sending.number];
      if (message.message_class == MessageClass::any_source) continue;
      requests.push_back(sending.request.get());
      waited.push_back(&sending);
    }
    if (requests.empty()) return;
    const p2p::AnyOutcome outcome = p2p::wait_any(self_.engine(), requests, nullptr);
    self_.check(outcome.result);
    finish(*waited[static_cast<std::size_t>(outcome.index)]);
  }

  void finish(Sending& sending) {
    const MessagePlan& message = program_.messages[sending.number];
    if (message.send == SendForm::issend) check_matched(sending.number);
    sending.request = nullptr;
  }

  void finish() {
    self_.doing("wait for all that is left");
    std::vector<Request*> requests;
    for (Sending& sending : sends_) requests.push_back(sending.request.get());
    for (Receiving& receiving : receives_)
      requests.push_back(receiving.checked ? nullptr : receiving.request.get());
    std::vector<Status> statuses(requests.size());
    const p2p::AllOutcome outcome = p2p::wait_all(self_.engine(), requests, statuses);
    for (std::size_t i = 0; i < sends_.size(); ++i)
      self_.check(statuses[i].error == 0, "message {}: the send failed", sends_[i].number);
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      if (receives_[i].checked) continue;
      const Status& status = statuses[sends_.size() + i];
      check_received(receives_[i], status, result_of(status.error));
    }
    self_.check(outcome.flag, "wait_all returned before all requests were complete");
    self_.check(self_.process.buffered_sends().detach(nullptr));
    check_order();
  }

  static Result<void> result_of(int code) {
    if (code == 0) return {};
    return base::Error::from_code(code, "of wait_all");
  }

  /// Messages of one sender are received in the order in which they were sent (MPI-5.0 §3.5).
  void check_order() {
    std::map<std::pair<int, int>, std::uint32_t> last;  // by source and tag
    for (const Receiving& receiving : receives_) {
      const MessagePlan& planned = program_.messages[receiving.number];
      if (planned.message_class != MessageClass::any_source) continue;
      const std::uint32_t number = receiving.payload.number();
      const auto [previous, is_first] =
          last.try_emplace({receiving.status.source, receiving.status.tag}, number);
      if (is_first) continue;
      self_.check(number > previous->second, "message {} overtook message {}", previous->second,
                  number);
      previous->second = number;
    }
  }

  Rank& self_;
  Messages& program_;
  Ref<Comm> any_tag_comm_;
  Ref<Comm> any_source_comm_;
  std::deque<Sending> sends_;
  std::deque<Receiving> receives_;
};

/// The first contact of every pair is tried by both at once.
void greet_all(Rank& self, Datatype& byte) {
  self.doing("greet every rank");
  const int ranks = self.world->size();
  std::vector<Ref<Request>> sends;
  for (int peer = 0; peer < ranks; ++peer)
    sends.push_back(self.check(
        self.engine().isend({nullptr, 0, &byte}, {self.world.get(), peer, 0}, SendMode::standard)));
  for (int peer = 0; peer < ranks; ++peer)
    self.check(self.engine().recv({nullptr, 0, &byte}, {self.world.get(), peer, 0}, nullptr));
  for (const Ref<Request>& send : sends) self.check(p2p::wait(self.engine(), send.get(), nullptr));
}

void Messages::run(Rank& rank) {
  if (greet_first) greet_all(rank, byte);
  Player(rank, *this).play();
}

}  // namespace

std::unique_ptr<Workload> make_messages(Random& random, int ranks, const core::TypeTable& types) {
  return std::make_unique<Messages>(random, ranks, types);
}

}  // namespace hawser::sim
