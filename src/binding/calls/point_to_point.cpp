// Point-to-point communication (MPI-5.0 chapter 3): sends, receives and probes. Requests stand in
// requests.cpp.
#include "binding/generated/point_to_point.hpp"

#include "binding/calls/show.hpp"
#include "p2p/persistent/persistent_request.hpp"
#include "p2p/persistent/sendrecv.hpp"

namespace hawser::calls {

using core::Comm;
using core::Datatype;
using p2p::Envelope;
using p2p::SendMode;

namespace {

using RequestOut = HandleOut<core::Request>;

p2p::BufferedSends& buffered(Runtime& runtime) { return runtime.process()->buffered_sends(); }

Envelope envelope(Comm& comm, int peer, int tag) { return {&comm, peer, tag}; }

template <class PersistentSend, class... Arguments>
Result<void> show_persistent(RequestOut request, Arguments&&... arguments) {
  request.set(base::make_ref<PersistentSend>(std::forward<Arguments>(arguments)...));
  return {};
}

}  // namespace

Result<void> send(Runtime& runtime, const void* buf, Count count, Datatype& datatype, int dest,
                  int tag, Comm& comm) {
  return engine(runtime).send({buf, count, &datatype}, envelope(comm, dest, tag),
                              SendMode::standard);
}

Result<void> ssend(Runtime& runtime, const void* buf, Count count, Datatype& datatype, int dest,
                   int tag, Comm& comm) {
  return engine(runtime).send({buf, count, &datatype}, envelope(comm, dest, tag),
                              SendMode::synchronous);
}

Result<void> rsend(Runtime& runtime, const void* buf, Count count, Datatype& datatype, int dest,
                   int tag, Comm& comm) {
  return engine(runtime).send({buf, count, &datatype}, envelope(comm, dest, tag), SendMode::ready);
}

Result<void> bsend(Runtime& runtime, const void* buf, Count count, Datatype& datatype, int dest,
                   int tag, Comm& comm) {
  return buffered(runtime).send({buf, count, &datatype}, envelope(comm, dest, tag));
}

Result<void> recv(Runtime& runtime, void* buf, Count count, Datatype& datatype, int source, int tag,
                  Comm& comm, StatusOut status) {
  core::Status received;
  Result<void> result =
      engine(runtime).recv_posted({buf, count, &datatype}, envelope(comm, source, tag), &received);
  status.set(received);
  return result;
}

Result<void> isend(Runtime& runtime, const void* buf, Count count, Datatype& datatype, int dest,
                   int tag, Comm& comm, RequestOut request) {
  return show(
      engine(runtime).isend({buf, count, &datatype}, envelope(comm, dest, tag), SendMode::standard),
      request);
}

Result<void> issend(Runtime& runtime, const void* buf, Count count, Datatype& datatype, int dest,
                    int tag, Comm& comm, RequestOut request) {
  return show(engine(runtime).isend({buf, count, &datatype}, envelope(comm, dest, tag),
                                    SendMode::synchronous),
              request);
}

Result<void> irsend(Runtime& runtime, const void* buf, Count count, Datatype& datatype, int dest,
                    int tag, Comm& comm, RequestOut request) {
  return show(
      engine(runtime).isend({buf, count, &datatype}, envelope(comm, dest, tag), SendMode::ready),
      request);
}

Result<void> ibsend(Runtime& runtime, const void* buf, Count count, Datatype& datatype, int dest,
                    int tag, Comm& comm, RequestOut request) {
  return show(buffered(runtime).isend({buf, count, &datatype}, envelope(comm, dest, tag)), request);
}

Result<void> irecv(Runtime& runtime, void* buf, Count count, Datatype& datatype, int source,
                   int tag, Comm& comm, RequestOut request) {
  return show(engine(runtime).irecv({buf, count, &datatype}, envelope(comm, source, tag)), request);
}

Result<void> sendrecv(Runtime& runtime, const void* sendbuf, Count sendcount, Datatype& sendtype,
                      int dest, int sendtag, void* recvbuf, Count recvcount, Datatype& recvtype,
                      int source, int recvtag, Comm& comm, StatusOut status) {
  core::Status received;
  Result<void> result =
      p2p::sendrecv(engine(runtime), {sendbuf, sendcount, &sendtype}, envelope(comm, dest, sendtag),
                    {recvbuf, recvcount, &recvtype}, envelope(comm, source, recvtag), &received);
  status.set(received);
  return result;
}

Result<void> sendrecv_replace(Runtime& runtime, void* buf, Count count, Datatype& datatype,
                              int dest, int sendtag, int source, int recvtag, Comm& comm,
                              StatusOut status) {
  core::Status received;
  Result<void> result = p2p::sendrecv_replace(
      engine(runtime), runtime.process()->byte_type(), {buf, count, &datatype},
      envelope(comm, dest, sendtag), envelope(comm, source, recvtag), &received);
  status.set(received);
  return result;
}

Result<void> isendrecv(Runtime& runtime, const void* sendbuf, Count sendcount, Datatype& sendtype,
                       int dest, int sendtag, void* recvbuf, Count recvcount, Datatype& recvtype,
                       int source, int recvtag, Comm& comm, RequestOut request) {
  return show(p2p::isendrecv(engine(runtime), {sendbuf, sendcount, &sendtype},
                             envelope(comm, dest, sendtag), {recvbuf, recvcount, &recvtype},
                             envelope(comm, source, recvtag)),
              request);
}

Result<void> isendrecv_replace(Runtime& runtime, void* buf, Count count, Datatype& datatype,
                               int dest, int sendtag, int source, int recvtag, Comm& comm,
                               RequestOut request) {
  session::Process& process = *runtime.process();
  return show(p2p::isendrecv_replace(process.engine(), process.byte_type(), process.orphans(),
                                     {buf, count, &datatype}, envelope(comm, dest, sendtag),
                                     envelope(comm, source, recvtag)),
              request);
}

Result<void> send_init(Runtime& runtime, const void* buf, Count count, Datatype& datatype, int dest,
                       int tag, Comm& comm, RequestOut request) {
  return show_persistent<p2p::PersistentSend>(request, engine(runtime),
                                              p2p::ConstBuffer{buf, count, &datatype},
                                              envelope(comm, dest, tag), SendMode::standard);
}

Result<void> ssend_init(Runtime& runtime, const void* buf, Count count, Datatype& datatype,
                        int dest, int tag, Comm& comm, RequestOut request) {
  return show_persistent<p2p::PersistentSend>(request, engine(runtime),
                                              p2p::ConstBuffer{buf, count, &datatype},
                                              envelope(comm, dest, tag), SendMode::synchronous);
}

Result<void> rsend_init(Runtime& runtime, const void* buf, Count count, Datatype& datatype,
                        int dest, int tag, Comm& comm, RequestOut request) {
  return show_persistent<p2p::PersistentSend>(request, engine(runtime),
                                              p2p::ConstBuffer{buf, count, &datatype},
                                              envelope(comm, dest, tag), SendMode::ready);
}

Result<void> bsend_init(Runtime& runtime, const void* buf, Count count, Datatype& datatype,
                        int dest, int tag, Comm& comm, RequestOut request) {
  return show_persistent<p2p::PersistentBufferedSend>(request, engine(runtime), buffered(runtime),
                                                      p2p::ConstBuffer{buf, count, &datatype},
                                                      envelope(comm, dest, tag));
}

Result<void> recv_init(Runtime& runtime, void* buf, Count count, Datatype& datatype, int source,
                       int tag, Comm& comm, RequestOut request) {
  return show_persistent<p2p::PersistentReceive>(
      request, engine(runtime), p2p::Buffer{buf, count, &datatype}, envelope(comm, source, tag));
}

Result<void> probe(Runtime& runtime, int source, int tag, Comm& comm, StatusOut status) {
  core::Status found;
  HAWSER_TRY(engine(runtime).probe(envelope(comm, source, tag), &found));
  status.set(found);
  return {};
}

Result<void> iprobe(Runtime& runtime, int source, int tag, Comm& comm, int& flag,
                    StatusOut status) {
  core::Status found;
  const Result<bool> there = engine(runtime).iprobe(envelope(comm, source, tag), &found);
  if (!there) return there.error();
  flag = *there ? 1 : 0;
  if (*there) status.set(found);
  return {};
}

namespace {

/// A message without a sender has a predefined handle.
void show_message(Ref<p2p::Message> message, HandleOut<p2p::Message> handle, StatusOut status) {
  status.set(message->status());
  if (message->status().source == p2p::proc_null) {
    handle.set_predefined(MPI_MESSAGE_NO_PROC);
  } else {
    handle.set(std::move(message));
  }
}

/// Starts the receive of the message behind HANDLE, which it takes away; an empty one for
/// MPI_MESSAGE_NO_PROC.
Result<Ref<core::Request>> receive_message(Runtime& runtime, const p2p::Buffer& buffer,
                                           HandleInOut<p2p::Message> handle) {
  if (handle.handle() == MPI_MESSAGE_NO_PROC) {
    handle.take();
    return engine(runtime).irecv(buffer, {nullptr, p2p::proc_null, p2p::any_tag});
  }
  return engine(runtime).imrecv(buffer, handle.take());
}

}  // namespace

Result<void> mprobe(Runtime& runtime, int source, int tag, Comm& comm,
                    HandleOut<p2p::Message> message, StatusOut status) {
  Result<Ref<p2p::Message>> found = engine(runtime).mprobe(envelope(comm, source, tag));
  if (!found) return found.take_error();
  show_message(std::move(*found), message, status);
  return {};
}

Result<void> improbe(Runtime& runtime, int source, int tag, Comm& comm, int& flag,
                     HandleOut<p2p::Message> message, StatusOut status) {
  Result<Ref<p2p::Message>> found = engine(runtime).improbe(envelope(comm, source, tag));
  if (!found) return found.take_error();
  flag = *found ? 1 : 0;
  if (*found) show_message(std::move(*found), message, status);
  return {};
}

Result<void> mrecv(Runtime& runtime, void* buf, Count count, Datatype& datatype,
                   HandleInOut<p2p::Message> message, StatusOut status) {
  Result<Ref<core::Request>> request = receive_message(runtime, {buf, count, &datatype}, message);
  if (!request) return request.take_error();
  engine(runtime).wait(**request);
  status.set((*request)->status());
  if ((*request)->error() != nullptr) return *(*request)->error();
  return {};
}

Result<void> imrecv(Runtime& runtime, void* buf, Count count, Datatype& datatype,
                    HandleInOut<p2p::Message> message, RequestOut request) {
  return show(receive_message(runtime, {buf, count, &datatype}, message), request);
}

namespace {

Result<void> detach(Runtime& runtime, p2p::BufferedSends::Owner owner, void** address,
                    CountOut size) {
  const Result<p2p::BufferedSends::Attached> buffer = buffered(runtime).detach(owner);
  if (!buffer) return buffer.error();
  // The address is returned through a void* argument (MPI-5.0 §3.6).
  *address = buffer->data;
  size.set(buffer->bytes);
  return {};
}

}  // namespace

Result<void> buffer_attach(Runtime& runtime, void* buffer, Count size) {
  return buffered(runtime).attach(nullptr, buffer, size);
}
Result<void> comm_attach_buffer(Runtime& runtime, Comm& comm, void* buffer, Count size) {
  return buffered(runtime).attach(&comm, buffer, size);
}
Result<void> session_attach_buffer(Runtime& runtime, Session& session, void* buffer, Count size) {
  return buffered(runtime).attach(&session, buffer, size);
}

Result<void> buffer_detach(Runtime& runtime, void** buffer_addr, CountOut size) {
  return detach(runtime, nullptr, buffer_addr, size);
}
Result<void> comm_detach_buffer(Runtime& runtime, Comm& comm, void** buffer_addr, CountOut size) {
  return detach(runtime, &comm, buffer_addr, size);
}
Result<void> session_detach_buffer(Runtime& runtime, Session& session, void** buffer_addr,
                                   CountOut size) {
  return detach(runtime, &session, buffer_addr, size);
}

Result<void> buffer_flush(Runtime& runtime) { return buffered(runtime).flush(nullptr); }
Result<void> comm_flush_buffer(Runtime& runtime, Comm& comm) {
  return buffered(runtime).flush(&comm);
}
Result<void> session_flush_buffer(Runtime& runtime, Session& session) {
  return buffered(runtime).flush(&session);
}

Result<void> buffer_iflush(Runtime& runtime, RequestOut request) {
  return show(buffered(runtime).iflush(nullptr), request);
}
Result<void> comm_iflush_buffer(Runtime& runtime, Comm& comm, RequestOut request) {
  return show(buffered(runtime).iflush(&comm), request);
}
Result<void> session_iflush_buffer(Runtime& runtime, Session& session, RequestOut request) {
  return show(buffered(runtime).iflush(&session), request);
}

}  // namespace hawser::calls
