#include "p2p/persistent/sendrecv.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "core/request/composite_request.hpp"

namespace hawser::p2p {
namespace {

/// The two halves of an exchange.
struct Exchange {
  Ref<Request> receive;
  Ref<Request> send;
};

Result<Exchange> start_exchange(Engine& engine, const ConstBuffer& from,
                                const Envelope& destination, const Buffer& to,
                                const Envelope& source) {
  Result<Ref<Request>> receive = engine.irecv(to, source);
  if (!receive) return receive.take_error();
  Result<Ref<Request>> send = engine.isend(from, destination, SendMode::standard);
  if (send) return Exchange{std::move(*receive), std::move(*send)};
  // The buffer goes back to the user now: the receive must let go of it.
  if ((*receive)->cancel().ok()) engine.wait(**receive);
  return send.take_error();
}

class ExchangeRequest final : public core::CompositeRequest {
 public:
  ExchangeRequest(Comm& comm, Exchange exchange, std::unique_ptr<std::byte[]> copy = nullptr,
                  Orphans* orphans = nullptr)
      : CompositeRequest(core::RequestKind::composite, Ref<Comm>::share(&comm),
                         {std::move(exchange.receive), std::move(exchange.send)}, 0),
        copy_(std::move(copy)),
        orphans_(orphans) {}

  Result<void> detach() override {
    if (copy_ != nullptr && !is_complete()) orphans_->keep(Ref<Request>::share(this));
    return {};
  }

 private:
  const std::unique_ptr<std::byte[]> copy_;  // of the data that is sent; may be null
  Orphans* const orphans_;                   // not null if there is a copy
};

}  // namespace

Result<void> sendrecv(Engine& engine, const ConstBuffer& from, const Envelope& destination,
                      const Buffer& to, const Envelope& source, Status* status) {
  if (engine.sends_at_once(from, destination, SendMode::standard))
    return engine.recv(to, source, status);
  const Attendance::Visit visit(engine.attendance());
  Result<Ref<Request>> receive = engine.irecv(to, source);
  if (!receive) return receive.take_error();
  Result<void> sent = engine.send(from, destination, SendMode::standard);
  if (!sent && !(*receive)->is_complete()) {
    // A peer that could not be sent to may never answer.
    static_cast<void>((*receive)->cancel());
  }
  Result<void> received = engine.wait_for_receive(**receive);
  if (status != nullptr) *status = (*receive)->status();
  if (!received) return received;
  return sent;
}

Result<Ref<Request>> isendrecv(Engine& engine, const ConstBuffer& from, const Envelope& destination,
                               const Buffer& to, const Envelope& source) {
  Result<Exchange> exchange = start_exchange(engine, from, destination, to, source);
  if (!exchange) return exchange.take_error();
  return Ref<Request>(base::make_ref<ExchangeRequest>(*source.comm, std::move(*exchange)));
}

Result<void> sendrecv_replace(Engine& engine, Datatype& byte_type, const Buffer& buffer,
                              const Envelope& destination, const Envelope& source, Status* status) {
  constexpr Count on_stack_bytes_max = 1024;
  std::byte on_stack[on_stack_bytes_max];
  std::unique_ptr<std::byte[]> on_heap;
  std::byte* copy = on_stack;
  const Count bytes = bytes_of(buffer);
  if (bytes > on_stack_bytes_max) {
    on_heap = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    copy = on_heap.get();
  }
  if (bytes > 0) buffer.type->pack(buffer.data, buffer.count, 0, copy, bytes);
  return sendrecv(engine, {copy, bytes, &byte_type}, destination, buffer, source, status);
}

Result<Ref<Request>> isendrecv_replace(Engine& engine, Datatype& byte_type, Orphans& orphans,
                                       const Buffer& buffer, const Envelope& destination,
                                       const Envelope& source) {
  const Count bytes = bytes_of(buffer);
  auto copy = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  if (bytes > 0) buffer.type->pack(buffer.data, buffer.count, 0, copy.get(), bytes);
  Result<Exchange> exchange =
      start_exchange(engine, {copy.get(), bytes, &byte_type}, destination, buffer, source);
  if (!exchange) return exchange.take_error();
  return Ref<Request>(base::make_ref<ExchangeRequest>(*source.comm, std::move(*exchange),
                                                      std::move(copy), &orphans));
}

}  // namespace hawser::p2p
