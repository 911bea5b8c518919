// The sending half of ChannelBackend: choosing a protocol and starting it.
#include <algorithm>

#include "base/cache_line.hpp"
#include "base/prefetch.hpp"
#include "p2p/protocol/channel_backend.hpp"
#include "p2p/protocol/pieces.hpp"

namespace hawser::p2p {

using channel::ChannelKind;
using channel::Endpoint;
using channel::Sequencing;
using wire::class_byte;
using wire::FrameClass;

namespace {

void pack(const ConstBuffer& buffer, std::uint64_t offset, std::byte* out, std::size_t bytes) {
  p2p::pack(buffer, static_cast<Count>(offset), out, static_cast<Count>(bytes));
}

/// Of a frame whose payload is BYTES of BUFFER from OFFSET on: if it is long, it shall stand in its
/// cache lines as it does in the user's; a short one at the start of a line, so that lines are
/// written as a whole.
std::size_t phase_of(const ConstBuffer& buffer, std::uint64_t offset, std::size_t bytes) {
  constexpr std::size_t unit_bytes = 8;
  if (bytes < base::long_copy_bytes || !buffer.type->is_dense()) return 0;
  const auto from = reinterpret_cast<std::uintptr_t>(first_byte(buffer.data, *buffer.type));
  return (from + offset) % base::cache_line_bytes / unit_bytes * unit_bytes;
}

wire::MatchHeader header_for(const Envelope& envelope, std::size_t payload_bytes) {
  return {(envelope.comm->peer_context(envelope.peer) << 2) |
              static_cast<std::uint32_t>(envelope.traffic),
          envelope.comm->rank(), envelope.tag, static_cast<std::uint32_t>(payload_bytes)};
}

/// Long messages may go unasked by a channel of KIND. Not by the queue of all local peers, which
/// they would fill, nor by the way to ourselves, which has no end.
bool carries_streams(ChannelKind kind) {
  return kind == ChannelKind::ring || kind == ChannelKind::ud_send ||
         kind == ChannelKind::rc_send || kind == ChannelKind::xrc_send || kind == ChannelKind::tcp;
}

/// Loads BYTES at DATA, which are copied next. A program that sends one piece of its memory after
/// the other, each as far from the last, goes through it in strides. A processor fetches ahead
/// along those if each is that of one instruction: so not by memcpy, which copies out of frames as
/// well. Out of cache, near, us: 64 to 256 B 0.28 to 0.32 -> 0.125 to 0.145, 512 B 0.37 -> 0.23,
/// 1 KiB 0.41 -> 0.36. Longer data the processor fetches as it goes through them.
constexpr std::size_t loaded_ahead_bytes_max = 1024;
[[gnu::always_inline]] inline void load_ahead(const std::byte* data, std::size_t bytes) {
#pragma GCC unroll 16
  for (std::size_t at = 0; at < loaded_ahead_bytes_max; at += base::cache_line_bytes) {
    if (at >= bytes) break;
    static_cast<void>(*static_cast<const volatile std::byte*>(data + at));
  }
  static_cast<void>(*static_cast<const volatile std::byte*>(data + bytes - 1));
}
/// Up to so many are copied without a call, by instructions that do nothing else.
constexpr std::size_t inline_payload_bytes = 32;

}  // namespace

// Inlined: it is part of the fast path of every send, as the two below.
[[gnu::always_inline]] inline Endpoint& ChannelBackend::endpoint_of(const Envelope& envelope) {
  Comm& comm = *envelope.comm;
  if (void* known = comm.peers().find(envelope.peer)) [[likely]]
    return *static_cast<Endpoint*>(known);
  return find_endpoint(comm, envelope.peer);
}

Endpoint& ChannelBackend::find_endpoint(Comm& comm, int peer) {
  Endpoint& endpoint = endpoints_.find_or_make(comm.peer_group().member(peer));
  if (comm.is_sound()) comm.peers().insert(peer, &endpoint);
  return endpoint;
}

/// For the short ways: null if COMM is not sound, where each operation is looked at.
Endpoint* ChannelBackend::sound_endpoint(Comm& comm, int peer) {
  return comm.is_sound() ? &find_endpoint(comm, peer) : nullptr;
}

SendSituation ChannelBackend::assess(const Endpoint& endpoint, ChannelKind kind, std::size_t bytes,
                                     SendMode mode) const {
  SendSituation situation{};
  situation.has_frames = transport::carries_frames(kind);
  situation.bytes = bytes;
  situation.eager_room = situation.has_frames ? eager_room(endpoint, kind) : 0;
  situation.inline_room = channel::frame_bytes_guaranteed - wire::rendezvous_overhead_max;
  situation.has_credit =
      bytes <= free_payload_bytes || endpoint.send_credit_bytes >= static_cast<std::int64_t>(bytes);
  situation.has_credit_inline =
      endpoint.send_credit_bytes >= static_cast<std::int64_t>(situation.inline_room);
  situation.is_synchronous = mode == SendMode::synchronous;
  situation.is_asked_first = is_asked_first(endpoint, kind, bytes);
  situation.is_streamed = situation.has_frames && is_streamed(endpoint, kind, bytes);
  return situation;
}

/// What of a message may go in one frame. Longer ones go in frames that both sides copy at the same
/// time, where that is how the channel is quick.
std::size_t ChannelBackend::eager_room(const Endpoint& endpoint, ChannelKind kind) {
  const std::size_t frame = endpoint.frame_bytes_max(kind);
  const std::size_t room = frame > wire::eager_overhead ? frame - wire::eager_overhead : 0;
  return kind == ChannelKind::ring ? std::min(room, fragment_bytes) : room;
}

/// A stream saves the time of question and answer. Behind another long message there is none to be
/// saved, and who is asked first keeps nothing that is unexpected.
bool ChannelBackend::is_streamed(const Endpoint& endpoint, ChannelKind kind,
                                 std::size_t bytes) const {
  return bytes > eager_room(endpoint, kind) && carries_streams(kind) && pipelines_.empty() &&
         bytes <= static_cast<std::size_t>(settings_.stream_bytes_max);
}

/// Nothing is sent unasked that the peer would rather copy once, as far as the rules let it.
bool ChannelBackend::is_asked_first(const Endpoint& endpoint, ChannelKind kind, std::size_t bytes) {
  if (bytes < asked_first_bytes_min || kind != ChannelKind::ring ||
      !endpoint.may_be_copied_once(bytes))
    return false;
  if (endpoint.copies_expected > 0) return true;
  transport::JointCopies* const copies = endpoint.link().joint_copies();
  return copies != nullptr && copies->is_asked_for(bytes);
}

[[gnu::always_inline]] inline void ChannelBackend::note_sent(Endpoint& endpoint, ChannelKind kind,
                                                             std::size_t bytes, std::size_t counted,
                                                             std::size_t unasked,
                                                             SendProtocol protocol) {
  endpoint.count_sent(kind, counted);
  sent_sizes_.add(bytes);
  ++sends_[static_cast<std::size_t>(protocol)];
  if (unasked > free_payload_bytes)
    endpoint.send_credit_bytes -= static_cast<std::int64_t>(unasked);
  if (endpoint.is_due_for_policy()) [[unlikely]]
    endpoints_.apply_policy(endpoint);
}

[[gnu::always_inline]] inline bool ChannelBackend::send_eager(Endpoint& endpoint, ChannelKind kind,
                                                              const ConstBuffer& buffer,
                                                              const Envelope& envelope,
                                                              std::size_t bytes) {
  const bool sent = endpoint.try_send_apart(
      kind, class_byte(FrameClass::eager), Sequencing::ordered, wire::eager_overhead, bytes,
      phase_of(buffer, 0, bytes),
      [&endpoint, &buffer, &envelope, bytes ](std::byte * body, std::byte * payload)
          __attribute__((always_inline)) {
            const wire::MatchHeader header = header_for(envelope, bytes);
            pack_frame(endpoint, buffer, 0, payload, bytes);
            wire::put(body, header);
          });
  if (sent) note_sent(endpoint, kind, bytes, bytes, bytes, SendProtocol::eager);
  return sent;
}

bool ChannelBackend::try_send(const ConstBuffer& buffer, const Envelope& envelope) {
  base::prefetch_for_read(first_byte(buffer.data, *buffer.type));
  auto* known = static_cast<Endpoint*>(envelope.comm->peers().find(envelope.peer));
  if (known == nullptr) [[unlikely]]
    known = sound_endpoint(*envelope.comm, envelope.peer);
  if (known == nullptr || !known->is_open()) [[unlikely]]
    return false;
  Endpoint& endpoint = *known;
  const auto bytes = static_cast<std::size_t>(bytes_of(buffer));
  const ChannelKind kind = endpoint.select(bytes);
  if (bytes + wire::eager_overhead > endpoint.frame_bytes_max(kind)) return false;
  if (bytes > inline_payload_bytes) {
    if (bytes <= loaded_ahead_bytes_max && buffer.type->is_dense())
      load_ahead(first_byte(buffer.data, *buffer.type), bytes);
    // What counts as a header needs no credit, and is no stream.
    if (bytes > free_payload_bytes &&
        (endpoint.send_credit_bytes < static_cast<std::int64_t>(bytes) ||
         is_streamed(endpoint, kind, bytes) || is_asked_first(endpoint, kind, bytes)))
      return false;
  }
  return send_eager(endpoint, kind, buffer, envelope, bytes);
}

Result<Ref<Request>> ChannelBackend::isend(const ConstBuffer& buffer, const Envelope& envelope,
                                           SendMode mode) {
  if (Trouble trouble = trouble_of(*envelope.comm, envelope.traffic)) [[unlikely]]
    return *std::move(trouble);
  Endpoint& endpoint = endpoint_of(envelope);
  SendRequest* request = send_pool_.take();
  auto handle = Ref<Request>::adopt(request);
  request->begin(buffer, envelope, mode, endpoint);
  if (!endpoint.has_waiting() && start(*request)) return handle;
  request->retain_unshared();  // the backend's, until it had its turn
  endpoint.defer(request);
  endpoints_.note_waiting(endpoint);
  return handle;
}

bool ChannelBackend::on_turn(void* message) {
  SendRequest& request = *static_cast<SendRequest*>(message);
  if (!start(request)) return false;
  let_go(request);
  return true;
}

/// False if there is no room, or no channel yet.
bool ChannelBackend::start(SendRequest& request) {
  Endpoint& endpoint = *request.endpoint;
  if (endpoint.is_lost()) [[unlikely]] {
    request.finish_with({base::ErrorClass::proc_failed, endpoint.loss()});
    return true;
  }
  if (Trouble trouble = trouble_of(*request.envelope.comm, request.envelope.traffic)) [[unlikely]] {
    request.finish_with(*std::move(trouble));
    return true;
  }
  if (!endpoint.is_open()) return false;
  const auto bytes = static_cast<std::size_t>(request.total);
  const ChannelKind kind = endpoint.select(bytes);
  const SendSituation situation = assess(endpoint, kind, bytes, request.mode);
  const SendProtocol protocol = choose(situation).protocol;
  if (protocol == SendProtocol::stream) return start_stream(request, kind);
  if (protocol == SendProtocol::eager) {
    if (!send_eager(endpoint, kind, request.buffer, request.envelope, bytes)) return false;
    request.finish();
    return true;
  }
  // A send that would have been eager with credit lets its user go; through a ring, a short one.
  SendSituation with_credit = situation;
  with_credit.has_credit = true;
  const bool keep_copy = (kind != ChannelKind::ring || bytes <= kept_by_ring_bytes_max) &&
                         choose(with_credit).protocol == SendProtocol::eager;
  return start_rendezvous(request, kind, situation, protocol, keep_copy);
}

/// Its peer may name it from now on; how.
std::uint64_t ChannelBackend::enlist(SendRequest& request) {
  ++request.endpoint->sends_under_way;
  return request.token = sends_in_rendezvous_.insert(&request);
}

/// No longer; what was held for it is given back.
void ChannelBackend::strike_out(SendRequest& request) {
  --request.endpoint->sends_under_way;
  sends_in_rendezvous_.erase(request.token);
  request.held.clear();
}

/// False if there is no room for the first frame.
bool ChannelBackend::start_stream(SendRequest& request, ChannelKind kind) {
  Endpoint& endpoint = *request.endpoint;
  const std::size_t payload =
      piece_of(request.total,
               std::min(fragment_bytes, endpoint.frame_bytes_max(kind) - wire::stream_overhead));
  const std::uint64_t token = enlist(request);
  const bool sent = endpoint.try_send_apart(
      kind, class_byte(FrameClass::stream), Sequencing::ordered, wire::stream_overhead, payload,
      phase_of(request.buffer, 0, payload), [&](std::byte* body, std::byte* first) {
        pack_frame(endpoint, request.buffer, 0, first, payload);
        body = wire::put(body, header_for(request.envelope, payload));
        wire::put(body, wire::StreamHeader{token, request.total});
      });
  if (!sent) {
    strike_out(request);
    return false;
  }
  request.retain_unshared();  // the backend's, until all is sent
  request.offset = payload;
  request.sent = payload;
  request.end = request.total;
  request.is_stream = true;
  const auto total = static_cast<std::size_t>(request.total);
  note_sent(endpoint, kind, total, total, total, SendProtocol::stream);
  push_pipeline(request, Pushing::at_once);
  if (request.offset < request.end) {
    pipelines_.push_back(&request);
  } else {
    complete_send(request);
  }
  return true;
}

/// False if there is no room. With KEEP_COPY the request is complete at once.
bool ChannelBackend::start_rendezvous(SendRequest& request, ChannelKind kind,
                                      const SendSituation& situation, SendProtocol protocol,
                                      bool keep_copy) {
  Endpoint& endpoint = *request.endpoint;
  const auto total = static_cast<std::size_t>(request.total);
  const bool has_data = protocol == SendProtocol::rendezvous_with_data ||
                        (settings_.rendezvous_inline && situation.has_credit_inline);
  const std::size_t payload = has_data ? std::min(total, situation.inline_room) : 0;
  wire::RendezvousHeader rendezvous{};
  if (kind == ChannelKind::rc_rdma && is_for_networks(request.total))
    endpoints_.seek_side_link(endpoint);
  note_checksum(request, kind);
  const std::size_t header_bytes =
      wire::eager_overhead +
      wire::rendezvous_bytes(transport::has_operations(kind), request.checksum.has_value());
  enlist(request);
  const bool sent =
      endpoint.try_send(endpoint.frame_channel(), class_byte(FrameClass::rendezvous),
                        Sequencing::ordered, header_bytes + payload, [&](std::byte* body) {
                          if (keep_copy) keep_data(request);
                          rendezvous = offer(request, kind);
                          body = wire::put(body, header_for(request.envelope, payload));
                          body = wire::put_rendezvous(body, rendezvous);
                          pack(request.buffer, 0, body, payload);
                        });
  if (!sent) {
    strike_out(request);
    return false;
  }
  request.sent = payload;
  request.retain_unshared();  // the backend's, until the receiver is done
  request.may_be_copied = rendezvous.offer == wire::Offer::frames_or_single_copy;
  const std::size_t counted = may_come_in_frames(rendezvous.offer) ? payload : total;
  note_sent(endpoint, channel_of(rendezvous.offer, endpoint.frame_channel()), total, counted,
            payload, protocol);
  // Over TCP, too, the receiver reads, but it is we who send what it asks for.
  const bool is_read_by_adapter = rendezvous.offer == wire::Offer::get &&
                                  kind == ChannelKind::rc_rdma && !is_for_networks(request.total);
  if (rendezvous.offer == wire::Offer::single_copy || is_read_by_adapter) request.leave_to_peer();
  if (keep_copy) request.finish();
  if (request.may_be_copied) fetch_undecided(endpoint);
  return true;
}

void ChannelBackend::keep_data(SendRequest& request) {
  const auto total = static_cast<std::size_t>(request.total);
  request.copy = std::make_unique_for_overwrite<std::byte[]>(total);
  pack(request.buffer, 0, request.copy.get(), total);
  ledger_.charge(memory::Account::sender_fifo, total);
}

/// Now, or once its last part has left.
void ChannelBackend::complete_send(SendRequest& request) {
  request.is_over = true;
  if (request.parts_leaving > 0) return;
  strike_out(request);
  if (request.copy) ledger_.refund(memory::Account::sender_fifo, request.total);
  if (!request.is_complete()) request.finish();
  let_go(request);
}

void ChannelBackend::on_clear_to_send(Endpoint& from, std::span<const std::byte> body) {
  const auto frame = wire::take<wire::ClearToSend>(body);
  SendRequest* request = frame ? sends_in_rendezvous_.find(frame->sender_token) : nullptr;
  if (request == nullptr || request->endpoint != &from || frame->offset > request->total ||
      request->is_over)
    return;
  if (request->may_be_copied && from.copies_expected > 0) --from.copies_expected;
  request->peer_token = frame->receiver_token;
  const std::uint64_t left = request->total - frame->offset;
  if (frame->bytes > left) return;
  // A part is what could not be read; of the others the receiver will tell.
  if (frame->bytes == 0) request->sent = frame->offset;
  send_by_frames(*request, frame->offset, frame->bytes == 0 ? left : frame->bytes);
}

/// BYTES from OFFSET on go by frames, after what does so already.
void ChannelBackend::send_by_frames(SendRequest& request, std::uint64_t offset,
                                    std::uint64_t bytes) {
  if (request.offset < request.end) {
    request.more.emplace_back(offset, offset + bytes);
    return;
  }
  request.offset = offset;
  request.end = offset + bytes;
  // It may still be among them, with all of its last range sent.
  if (std::ranges::find(pipelines_, &request) == pipelines_.end()) pipelines_.push_back(&request);
}

/// Sends the next frames as far as there is room; true if any left.
bool ChannelBackend::push_pipeline(SendRequest& request, Pushing how) {
  const auto is_put_off = [&] {
    return how == Pushing::patiently && request.endpoint->wants_reading_first();
  };
  bool moved = false;
  while (request.offset < request.end && !is_put_off() && push_fragment(request)) moved = true;
  return moved;
}

bool ChannelBackend::push_fragment(SendRequest& request) {
  Endpoint& endpoint = *request.endpoint;
  const ChannelKind kind = endpoint.bulk_channel();
  const std::size_t overhead = request.is_stream ? wire::stream_data_overhead : wire::data_overhead;
  const std::size_t bytes =
      piece_of(request.end - request.offset,
               std::min(fragment_bytes, endpoint.frame_bytes_max(kind) - overhead));
  const auto fill = [&](std::byte* payload) {
    if (request.copy) {
      base::copy_bytes(payload, request.copy.get() + request.offset, bytes);
    } else {
      pack_frame(endpoint, request.buffer, request.offset, payload, bytes);
    }
  };
  const std::size_t phase = request.copy ? 0 : phase_of(request.buffer, request.offset, bytes);
  const bool sent =
      request.is_stream
          ? endpoint.try_send_apart(kind, class_byte(FrameClass::stream_data), Sequencing::ordered,
                                    overhead, bytes, phase,
                                    [&](std::byte* body, std::byte* payload) {
                                      fill(payload);
                                      wire::put(body, wire::StreamDataHeader{request.token});
                                    })
          : endpoint.try_send_apart(
                kind, class_byte(FrameClass::data), Sequencing::none, overhead, bytes, phase,
                [&](std::byte* body, std::byte* payload) {
                  fill(payload);
                  wire::put(body, wire::DataHeader{request.peer_token, request.offset});
                });
  if (!sent) return false;
  request.offset += bytes;
  request.sent += bytes;
  if (request.is_stream) return true;  // counted as one message when it began
  endpoint.count_sent(kind, bytes);
  if (endpoint.is_due_for_policy()) endpoints_.apply_policy(endpoint);
  return true;
}

void ChannelBackend::on_finished(Endpoint& from, std::span<const std::byte> body) {
  const auto frame = wire::take<wire::Finished>(body);
  SendRequest* request = frame ? sends_in_rendezvous_.find(frame->sender_token) : nullptr;
  if (request == nullptr || request->endpoint != &from) return;
  std::erase(pipelines_, request);  // its last frames left when they were asked for
  constexpr std::uint8_t messages_remembered = 16;
  if (request->may_be_copied && request->sent < request->total) {
    from.count_sent(ChannelKind::single_copy, request->total - request->sent);
    if (!request->is_joined) from.copies_expected = messages_remembered;
  }
  complete_send(*request);
}

}  // namespace hawser::p2p
