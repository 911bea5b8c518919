#include "transport/verbs/datagrams.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace hawser::transport::verbs {

namespace {

/// Sendings of which one is reported.
constexpr std::uint64_t posts_per_report = 16;

Error refusal(const char* what) {
  return Error(ErrorClass::other,
               fmt::format("the adapter refuses {}: {}", what, std::strerror(errno)));
}

memory::BufferPoolSettings send_pool(const Port& port, const Settings& settings) {
  const auto per_slab = static_cast<std::size_t>(settings.ud_send_buffers);
  const auto most = static_cast<std::size_t>(settings.ud_send_buffers_max);
  return {.account = memory::Account::network_buffers,
          .buffer_bytes = 64 + mtu_bytes(port.mtu),
          .slab_buffers = per_slab,
          .slabs_max = std::max<std::size_t>(most / per_slab, 1)};
}

}  // namespace

Result<std::unique_ptr<Datagrams>> Datagrams::open(const Port& port, const Settings& settings,
                                                   memory::Ledger& ledger) {
  std::unique_ptr<Datagrams> datagrams(new Datagrams(port, settings, ledger));
  HAWSER_TRY(datagrams->take_receive_buffers());
  HAWSER_TRY(datagrams->make_queues());
  HAWSER_TRY(datagrams->make_ready());
  return datagrams;
}

Datagrams::Datagrams(const Port& port, const Settings& settings, memory::Ledger& ledger)
    : port_(port),
      queue_depth_(static_cast<std::size_t>(settings.ud_queue_depth)),
      receives_(static_cast<std::size_t>(settings.ud_receive_buffers)),
      receive_bytes_(global_route_bytes + mtu_bytes(port.mtu)),
      taken_if_scarce_(static_cast<std::size_t>(settings.ud_send_buffers_max) / 4 * 3),
      registrar_(port),
      kept_buffers_(registrar_, ledger, send_pool(port, settings)),
      brief_buffers_(registrar_, ledger,
                     {.account = memory::Account::network_buffers,
                      .buffer_bytes = sizeof(Note) + mtu_bytes(1),
                      .slab_buffers = brief_buffers,
                      .slabs_max = 1}),
      receive_buffers_(registrar_, ledger,
                       {.account = memory::Account::network_buffers,
                        .buffer_bytes = receive_bytes_,
                        .slab_buffers = receives_,
                        .slabs_max = 1}) {}

Datagrams::~Datagrams() {
  queue_pair_.reset();  // nothing is under way any more
  for (std::byte* datagram : std::exchange(under_way_, {})) {
    --note_of(datagram).under_way;
    free_if_done(datagram);
  }
  for (Buffer* buffer : waiting_) receive_buffers_.give_back(buffer);
}

Result<void> Datagrams::take_receive_buffers() {
  for (std::size_t i = 0; i < receives_; ++i) {
    Result<Buffer*> buffer = receive_buffers_.take();
    if (!buffer) return buffer.take_error();
    waiting_.push_back(*buffer);
  }
  return {};
}

Result<void> Datagrams::make_queues() {
  ibv_context* const context = port_.context.get();
  channel_.reset(ibv_create_comp_channel(context));
  if (!channel_) return refusal("a completion channel");
  ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  send_completions_.reset(
      ibv_create_cq(context, static_cast<int>(queue_depth_), nullptr, nullptr, 0));
  receive_completions_.reset(
      ibv_create_cq(context, static_cast<int>(receives_), nullptr, channel_.get(), 0));
  if (!send_completions_ || !receive_completions_) return refusal("a completion queue");
  ibv_qp_init_attr wanted{};
  wanted.send_cq = send_completions_.get();
  wanted.recv_cq = receive_completions_.get();
  wanted.cap = {.max_send_wr = static_cast<std::uint32_t>(queue_depth_),
                .max_recv_wr = static_cast<std::uint32_t>(receives_),
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 64};
  wanted.qp_type = IBV_QPT_UD;
  queue_pair_.reset(ibv_create_qp(port_.protection_domain.get(), &wanted));
  if (!queue_pair_) return refusal("a datagram queue pair");
  inline_bytes_max_ = wanted.cap.max_inline_data;
  return {};
}

Result<void> Datagrams::make_ready() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_.number;
  attributes.qkey = queue_key;
  if (ibv_modify_qp(queue_pair_.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) != 0)
    return refusal("to initialise the datagram queue pair");
  post_receives(waiting_);
  attributes.qp_state = IBV_QPS_RTR;
  if (ibv_modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE) != 0)
    return refusal("to receive by the datagram queue pair");
  attributes.qp_state = IBV_QPS_RTS;
  if (ibv_modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0)
    return refusal("to send by the datagram queue pair");
  return {};
}

void Datagrams::post_receives(std::span<Buffer* const> buffers) {
  while (!buffers.empty()) {
    std::array<ibv_recv_wr, completions_per_poll_max> requests{};
    std::array<ibv_sge, completions_per_poll_max> pieces{};
    const std::size_t count = std::min(buffers.size(), requests.size());
    for (std::size_t i = 0; i < count; ++i) {
      pieces[i] = {reinterpret_cast<std::uint64_t>(buffers[i]->data()),
                   static_cast<std::uint32_t>(receive_bytes_),
                   PortRegistrar::local_key(buffers[i]->handle())};
      requests[i].wr_id = reinterpret_cast<std::uint64_t>(buffers[i]);
      requests[i].sg_list = &pieces[i];
      requests[i].num_sge = 1;
      requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
    }
    ibv_recv_wr* refused = nullptr;
    ibv_post_recv(queue_pair_.get(), requests.data(), &refused);
    buffers = buffers.subspan(count);
  }
}

std::byte* Datagrams::reserve_from(memory::BufferPool& pool) {
  if (pool.is_exhausted() || is_queue_full()) [[unlikely]] {
    reap_sends();
    if (pool.is_exhausted() || is_queue_full()) return nullptr;
  }
  // Memory that cannot be had now may be had later; until then there is no room.
  const Result<Buffer*> buffer = pool.take();
  if (!buffer) return nullptr;
  if (&pool == &kept_buffers_) ++taken_;
  auto* const note = new ((*buffer)->data()) Note{&pool, *buffer, 0, false};
  return reinterpret_cast<std::byte*>(note + 1);
}

bool Datagrams::post(std::byte* datagram, std::size_t bytes, ibv_ah* to, std::uint32_t queue_pair) {
  if (is_queue_full()) reap_sends();
  if (is_queue_full()) return false;
  Note& note = note_of(datagram);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(datagram), static_cast<std::uint32_t>(bytes),
                PortRegistrar::local_key(note.buffer->handle())};
  ibv_send_wr request{};
  request.wr_id = posted_ + 1;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  if (request.wr_id % posts_per_report == 0) request.send_flags |= IBV_SEND_SIGNALED;
  if (bytes <= inline_bytes_max_) request.send_flags |= IBV_SEND_INLINE;
  request.wr.ud.ah = to;
  request.wr.ud.remote_qpn = queue_pair;
  request.wr.ud.remote_qkey = queue_key;
  ibv_send_wr* refused = nullptr;
  // One that the adapter refuses is as good as lost.
  if (ibv_post_send(queue_pair_.get(), &request, &refused) != 0) return true;
  ++posted_;
  ++note.under_way;
  under_way_.push_back(datagram);
  return true;
}

void Datagrams::release(std::byte* datagram) {
  note_of(datagram).is_released = true;
  free_if_done(datagram);
}

void Datagrams::free_if_done(std::byte* datagram) {
  const Note& note = note_of(datagram);
  if (!note.is_released || note.under_way > 0) return;
  if (note.pool == &kept_buffers_) --taken_;
  note.pool->give_back(note.buffer);
}

void Datagrams::reap_sends() {
  std::array<ibv_wc, completions_per_poll_max> completions;
  const int count =
      ibv_poll_cq(send_completions_.get(), completions_per_poll_max, completions.data());
  // The last of them stands for all before it.
  if (count > 0) note_sent_up_to(completions[static_cast<std::size_t>(count) - 1].wr_id);
}

void Datagrams::note_sent_up_to(std::uint64_t number) {
  for (; reported_ < number && !under_way_.empty(); ++reported_) {
    std::byte* const datagram = under_way_.front();
    under_way_.pop_front();
    --note_of(datagram).under_way;
    free_if_done(datagram);
  }
}

void Datagrams::arm() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) ibv_ack_cq_events(queue, 1);
  ibv_req_notify_cq(receive_completions_.get(), 0);
}

/// What is not reported has left when the adapter had the time for it; it needs us no more.
bool Datagrams::is_drained() {
  reap_sends();
  return under_way_.size() < posts_per_report;
}

}  // namespace hawser::transport::verbs
