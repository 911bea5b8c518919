#include "transport/verbs/datagrams.hpp"

#include <array>

#include "transport/verbs/receive_requests.hpp"

namespace hawser::transport::verbs {

namespace {

/// Sendings of which one is reported.
constexpr std::uint64_t posts_per_report = 16;

}  // namespace

Result<std::unique_ptr<Datagrams>> Datagrams::open(const Environment& environment,
                                                   const Settings& settings) {
  std::unique_ptr<Datagrams> datagrams(new Datagrams(environment, settings));
  HAWSER_TRY(datagrams->take_receive_buffers(environment.expects_many ? datagrams->receives_
                                                                      : datagrams->few_receives));
  HAWSER_TRY(datagrams->make_queues());
  HAWSER_TRY(datagrams->make_ready());
  return datagrams;
}

Datagrams::Datagrams(const Environment& environment, const Settings& settings)
    : port_(environment.port),
      channel_(environment.channel),
      buffers_(environment.buffers),
      queue_depth_(static_cast<std::size_t>(settings.ud_queue_depth)),
      receives_(static_cast<std::size_t>(settings.ud_receive_buffers)),
      receive_bytes_(global_route_bytes + mtu_bytes(port_.mtu)),
      registrar_(port_, PortRegistrar::Reach::local),
      receive_buffers_(registrar_, environment.ledger,
                       {.account = memory::Account::network_buffers,
                        .buffer_bytes = receive_bytes_,
                        .slab_buffers = environment.expects_many ? receives_ : few_receives,
                        .slabs_max = receives_}),
      posted_(queue_depth_) {}

Datagrams::~Datagrams() {
  queue_pair_.reset();  // nothing is under way any more
  posted_.clear([this](const Posted& posted) { buffers_.note_left(posted.frame); });
  for (Buffer* buffer : waiting_) receive_buffers_.give_back(buffer);
}

Result<void> Datagrams::take_receive_buffers(std::size_t buffers) {
  while (waiting_.size() < buffers) {
    Result<Buffer*> buffer = receive_buffers_.take();
    if (!buffer) return buffer.take_error();
    waiting_.push_back(*buffer);
  }
  return {};
}

Result<void> Datagrams::make_queues() {
  ibv_context* const context = port_.context.get();
  send_completions_.reset(
      ibv_create_cq(context, static_cast<int>(queue_depth_), nullptr, nullptr, 0));
  receive_completions_.reset(
      ibv_create_cq(context, static_cast<int>(receives_), nullptr, channel_, 0));
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
  HAWSER_TRY(port_.open_datagram_queue_pair(*queue_pair_, queue_key));
  post_receives(waiting_);
  return {};
}

void Datagrams::expect_many() {
  const std::size_t posted = waiting_.size();
  if (posted >= receives_) return;
  // What can't be had is done without: there are a few.
  static_cast<void>(take_receive_buffers(receives_));
  post_receives(std::span(waiting_).subspan(posted));
}

void Datagrams::post_receives(std::span<Buffer* const> buffers) {
  post_receive_requests(buffers, receive_bytes_, 0, [this](ibv_recv_wr* requests) {
    ibv_recv_wr* refused = nullptr;
    ibv_post_recv(queue_pair_.get(), requests, &refused);
  });
}

bool Datagrams::post(std::byte* frame, std::size_t bytes, ibv_ah* to, std::uint32_t queue_pair) {
  if (!has_room()) return false;
  const std::size_t datagram_bytes = sizeof(DatagramHeader) + bytes;
  ibv_sge piece{reinterpret_cast<std::uint64_t>(frame - sizeof(DatagramHeader)),
                static_cast<std::uint32_t>(datagram_bytes), SendBuffers::local_key(frame)};
  ibv_send_wr request{};
  request.wr_id = posted_.next();
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  if (request.wr_id % posts_per_report == 0) request.send_flags |= IBV_SEND_SIGNALED;
  if (datagram_bytes <= inline_bytes_max_) request.send_flags |= IBV_SEND_INLINE;
  request.wr.ud.ah = to;
  request.wr.ud.remote_qpn = queue_pair;
  request.wr.ud.remote_qkey = queue_key;
  ibv_send_wr* refused = nullptr;
  // One that the adapter refuses is as good as lost.
  if (ibv_post_send(queue_pair_.get(), &request, &refused) != 0) return true;
  SendBuffers::note_posted(frame);
  bytes_sent_ += datagram_bytes;
  posted_.add({.frame = frame});
  return true;
}

void Datagrams::reap_sends() {
  std::array<ibv_wc, completions_per_poll_max> completions;
  const int count =
      ibv_poll_cq(send_completions_.get(), completions_per_poll_max, completions.data());
  if (count <= 0) return;
  // The last of them stands for all before it.
  posted_.on_reported(completions[static_cast<std::size_t>(count) - 1].wr_id,
                      [this](const Posted& posted) { buffers_.note_left(posted.frame); });
}

/// What is not reported has left when the adapter had the time for it; it needs us no more.
bool Datagrams::is_drained() {
  reap_sends();
  return posted_.size() < posts_per_report;
}

}  // namespace hawser::transport::verbs
