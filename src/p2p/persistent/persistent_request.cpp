#include "p2p/persistent/persistent_request.hpp"

namespace hawser::p2p {

PersistentRequest::PersistentRequest(core::RequestKind kind, Engine& engine,
                                     const Envelope& envelope, Datatype& type)
    : Request(kind, /*persistent=*/true, core::Completion::derived),
      engine_(engine),
      envelope_(envelope),
      comm_(Ref<Comm>::share(envelope.comm)),
      type_(Ref<Datatype>::share(&type)) {
  set_inactive();
}

Result<void> PersistentRequest::start() {
  HAWSER_TRY(restart());
  Result<Ref<Request>> posted = post();
  if (!posted) {
    set_inactive();
    return posted.take_error();
  }
  posted_ = std::move(*posted);
  return {};
}

Result<void> PersistentRequest::cancel() {
  if (!is_active()) {
    return core::Error(core::ErrorClass::request,
                       "the persistent request is not active: there is nothing to cancel");
  }
  if (!posted_) return {};
  return posted_->cancel();
}

void PersistentRequest::finish_status(Status& status) {
  if (posted_) {
    adopt(*posted_);
    posted_ = nullptr;
  }
  status = this->status();
}

}  // namespace hawser::p2p
