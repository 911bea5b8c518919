// Persistent sends and receives (MPI-5.0 §3.9): a request that posts another one each time it is
// started, and is complete when that one is.
//
// Ownership: communicator and datatype are retained; the user's buffer is borrowed. The operation
//            in flight does not need this request: its handle may be freed while it is active.
// Threads:   start() and the waits for one request are serialised by the user.
#pragma once

#include "p2p/buffered/buffered_sends.hpp"
#include "p2p/engine.hpp"

namespace hawser::p2p {

class PersistentRequest : public Request {
 public:
  Result<void> start() override;
  Result<void> cancel() override;
  void finish_status(Status& status) override;
  [[nodiscard]] core::Object* error_object() const override { return comm_.get(); }

 protected:
  PersistentRequest(core::RequestKind kind, Engine& engine, const Envelope& envelope,
                    Datatype& type);
  /// Starts the operation; null if it is complete already.
  virtual Result<Ref<Request>> post() = 0;
  [[nodiscard]] Engine& engine() const { return engine_; }
  [[nodiscard]] const Envelope& envelope() const { return envelope_; }
  [[nodiscard]] bool are_parts_complete() const override {
    return !posted_ || posted_->is_complete();
  }
  [[nodiscard]] bool are_parts_interrupted() const override {
    return posted_ && posted_->is_interrupted();
  }

 private:
  Engine& engine_;
  const Envelope envelope_;
  const Ref<Comm> comm_;
  const Ref<Datatype> type_;
  Ref<Request> posted_;  // while active and not yet handed out
};

class PersistentSend final : public PersistentRequest {
 public:
  PersistentSend(Engine& engine, const ConstBuffer& buffer, const Envelope& envelope, SendMode mode)
      : PersistentRequest(core::RequestKind::send, engine, envelope, *buffer.type),
        buffer_(buffer),
        mode_(mode) {}

 private:
  Result<Ref<Request>> post() override { return engine().isend(buffer_, envelope(), mode_); }

  const ConstBuffer buffer_;
  const SendMode mode_;
};

class PersistentBufferedSend final : public PersistentRequest {
 public:
  PersistentBufferedSend(Engine& engine, BufferedSends& sends, const ConstBuffer& buffer,
                         const Envelope& envelope)
      : PersistentRequest(core::RequestKind::send, engine, envelope, *buffer.type),
        sends_(sends),
        buffer_(buffer) {}

 private:
  Result<Ref<Request>> post() override {
    HAWSER_TRY(sends_.send(buffer_, envelope()));
    return Ref<Request>();
  }

  BufferedSends& sends_;
  const ConstBuffer buffer_;
};

class PersistentReceive final : public PersistentRequest {
 public:
  PersistentReceive(Engine& engine, const Buffer& buffer, const Envelope& envelope)
      : PersistentRequest(core::RequestKind::receive, engine, envelope, *buffer.type),
        buffer_(buffer) {}

 private:
  Result<Ref<Request>> post() override { return engine().irecv(buffer_, envelope()); }

  const Buffer buffer_;
};

}  // namespace hawser::p2p
