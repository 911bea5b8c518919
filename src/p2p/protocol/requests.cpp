#include "p2p/protocol/requests.hpp"

#include <fmt/format.h>

#include "base/assert.hpp"
#include "p2p/protocol/channel_backend.hpp"

namespace hawser::p2p {

void SendRequest::begin(const ConstBuffer& from, const Envelope& to, SendMode how,
                        channel::Endpoint& peer) {
  activate();
  buffer = from;
  envelope = to;
  mode = how;
  endpoint = &peer;
  token = 0;
  peer_token = 0;
  total = static_cast<std::uint64_t>(bytes_of(from));
  offset = 0;
  end = 0;
  sent = 0;
  is_stream = false;
  may_be_copied = false;
  is_joined = false;
  checksum.reset();
  parts_leaving = 0;
  is_over = false;
  comm_ = Ref<Comm>::share(to.comm);
  type_ = hold(*from.type);
}

void SendRequest::dispose() const {
  auto* self = const_cast<SendRequest*>(this);
  self->comm_ = nullptr;
  self->type_ = nullptr;
  self->copy.reset();
  HAWSER_DEBUG_ASSERT(held.empty());
  self->more.clear();
  reset_references();
  pool_.give_back(self);
}

void ReceiveRequest::fail_truncated() {
  fail({base::ErrorClass::truncate,
        fmt::format("the message from rank {} with tag {} has {} bytes, the buffer {}",
                    status().source, status().tag, total, capacity)});
}

Result<void> ReceiveRequest::cancel() { return backend_->cancel(*this); }

void ReceiveRequest::drop_rdma() {
  put.reset();
  pieces.reset();
}

void ReceiveRequest::dispose() const {
  auto* self = const_cast<ReceiveRequest*>(this);
  self->comm_ = nullptr;
  self->type_ = nullptr;
  if (put || pieces) [[unlikely]]
    self->drop_rdma();
  reset_references();
  pool_.give_back(self);
}

}  // namespace hawser::p2p
