#include "transport/verbs/connection.hpp"

#include <endian.h>

#include <algorithm>
#include <utility>

#include "platform/file.hpp"
#include "transport/verbs/reliable_constants.hpp"

namespace hawser::transport::verbs {

namespace {

/// Requests of which one is reported, and the bytes of a frame that is reported in any case.
constexpr std::uint64_t requests_per_report = 8;
constexpr std::size_t reported_bytes = 4096;

constexpr int access_of_peers = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/// Of memory that is not registered, and short enough to be copied at once.
ibv_sge piece_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<std::uint64_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()),
          0};
}

ibv_send_wr write_request(std::uint64_t to, std::uint32_t key) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.wr.rdma = {.remote_addr = to, .rkey = key};
  return request;
}

}  // namespace

std::unique_ptr<Connection> Connection::make(ReliableQueues& queues, SendBuffers& buffers,
                                             std::uint32_t number, Owner& owner) {
  std::unique_ptr<Connection> connection(new Connection(queues, buffers, number, owner));
  for (const Priority priority : {high, low}) {
    connection->queue_pairs_[priority] = queues.make_queue_pair(priority);
    if (!connection->queue_pairs_[priority] || !connection->make_ready(priority)) return nullptr;
  }
  for (const Priority priority : {high, low})
    queues.add(*connection->queue_pairs_[priority], priority, *connection);
  return connection;
}

Connection::Connection(ReliableQueues& queues, SendBuffers& buffers, std::uint32_t number,
                       Owner& owner)
    : queues_(queues),
      buffers_(buffers),
      number_(number),
      owner_(owner),
      work_{PostedWork(static_cast<std::size_t>(queues.settings().rc_queue_depth)),
            PostedWork(static_cast<std::size_t>(queues.settings().rc_queue_depth))} {
  // No secret: it keeps packets of an earlier connection from being taken for this one's.
  for (std::uint32_t& first : first_packets_)
    first = static_cast<std::uint32_t>(platform::random_number()) & 0xff'ffffU;
}

Connection::~Connection() {
  for (QueuePair& queue_pair : queue_pairs_)
    if (queue_pair) queues_.remove(std::move(queue_pair));
  for (PostedWork& work : work_) end_all(work);
  for (const Chained& chained : chain_) end(chained.posted, false);
}

/// What was done and not reported counts as not done; who waits for it tries another way.
void Connection::end_all(PostedWork& work) {
  bool has_failed = false;
  work.clear([&](const Posted& posted) {
    has_failed |= posted.is_operation;
    if (posted.is_chained && has_failed) *posted.frame = void_frame_class;
    end(posted, false);
  });
}

bool Connection::make_ready(Priority priority) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = queues_.port().number;
  attributes.qp_access_flags = access_of_peers;
  return ibv_modify_qp(queue_pairs_[priority].get(), &attributes,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0;
}

void Connection::describe(ConnectionMessage& message) const {
  const Port& port = queues_.port();
  for (const Priority priority : {high, low}) {
    message.queue_pairs[priority] = queue_pairs_[priority]->qp_num;
    message.first_packets[priority] = first_packets_[priority];
  }
  message.window = static_cast<std::uint16_t>(receive_window());
  message.mtu = port.mtu;
  message.reads = port.reads_max;
  message.eager_bytes = static_cast<std::uint32_t>(queues_.frame_bytes_max(high));
  message.large_bytes = static_cast<std::uint32_t>(queues_.frame_bytes_max(low));
  message.lid = port.lid;
  std::ranges::copy(port.gid.raw, message.gid);
}

std::uint32_t Connection::receive_window() const {
  return queues_.window(queue_pairs_[high]->qp_num);
}

bool Connection::connect(const ConnectionMessage& peer) {
  send_window_ = std::max<std::uint32_t>(peer.window, 1);
  frame_bytes_max_ = {std::min<std::size_t>(peer.eager_bytes, queues_.frame_bytes_max(high)),
                      std::min<std::size_t>(peer.large_bytes, queues_.frame_bytes_max(low))};
  constexpr std::size_t frame_bytes_min = 512;
  return frame_bytes_max_[high] >= frame_bytes_min && connect(high, peer) && connect(low, peer);
}

bool Connection::connect(Priority priority, const ConnectionMessage& peer) {
  const Port& port = queues_.port();
  PortAddress address{.mtu = peer.mtu, .lid = peer.lid};
  std::ranges::copy(peer.gid, address.gid);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = static_cast<ibv_mtu>(std::min(peer.mtu, port.mtu));
  attributes.dest_qp_num = peer.queue_pairs[priority];
  attributes.rq_psn = peer.first_packets[priority];
  attributes.max_dest_rd_atomic = port.reads_max;
  attributes.min_rnr_timer = reliable::not_ready_timer;
  attributes.ah_attr = port.route_to(address);
  ibv_qp* const queue_pair = queue_pairs_[priority].get();
  if (ibv_modify_qp(queue_pair, &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    return false;
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = reliable::timeout;
  attributes.retry_cnt = reliable::retries;
  attributes.rnr_retry = reliable::not_ready_retries;
  attributes.sq_psn = first_packets_[priority];
  attributes.max_rd_atomic = std::min(port.reads_max, peer.reads);
  return ibv_modify_qp(queue_pair, &attributes,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

/// Often enough that a queue never fills with what nobody reports.
unsigned Connection::report_flag(Priority priority) const {
  const bool is_due = work_[priority].next() % requests_per_report == 0;
  return is_due ? IBV_SEND_SIGNALED : 0;
}

/// Posts REQUEST about PIECE, which is copied at once where it is short.
void Connection::post(Priority priority, ibv_send_wr request, ibv_sge piece, const Posted& posted) {
  request.wr_id = ReliableQueues::id_of_sent(work_[priority].next());
  request.sg_list = &piece;
  request.num_sge = piece.length > 0 ? 1 : 0;
  request.send_flags |= report_flag(priority);
  if (piece.length > 0 && piece.length <= queues_.inline_bytes_max())
    request.send_flags |= IBV_SEND_INLINE;
  if (posted.frame != nullptr) SendBuffers::note_posted(posted.frame);
  queues_.note_started(piece.length);
  work_[priority].add(posted);
  ibv_send_wr* refused = nullptr;
  if (is_broken_ || ibv_post_send(queue_pairs_[priority].get(), &request, &refused) != 0)
    break_now();
}

void Connection::send(std::byte* frame, std::size_t bytes) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND;
  if (bytes >= reported_bytes) request.send_flags = IBV_SEND_SIGNALED;
  post(priority_of(bytes), request, SendBuffers::piece_of(frame, bytes), {.frame = frame});
}

bool Connection::send_control(std::uint32_t kind, std::span<const std::byte> body) {
  if (work_[high].is_full()) return false;
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = htobe32(kind);
  post(high, request, piece_of(body), {});
  return true;
}

void Connection::write(std::byte* frame, std::size_t bytes, std::uint64_t to, std::uint32_t key) {
  post(high, write_request(to, key), SendBuffers::piece_of(frame, bytes), {.frame = frame});
}

bool Connection::write_word(std::uint32_t word, std::uint64_t to, std::uint32_t key) {
  if (work_[high].is_full()) return false;
  post(high, write_request(to, key), piece_of(std::as_bytes(std::span(&word, 1))), {});
  return true;
}

bool Connection::start(const Operation& operation) {
  if (work_[low].room() < chain_.size() + 1 + reserved_for_control) return false;
  Chained& chained = chain_.emplace_back();
  chained.piece = {operation.local_address, static_cast<std::uint32_t>(operation.bytes),
                   operation.local_key};
  chained.request.opcode =
      operation.kind == Operation::Kind::get ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
  chained.request.num_sge = 1;
  chained.request.send_flags = IBV_SEND_SIGNALED;
  chained.request.wr.rdma = {.remote_addr = operation.remote_address, .rkey = operation.remote_key};
  chained.posted = {.operation = operation.token, .is_operation = true};
  if (!operation.is_chained) flush(nullptr, 0);
  return true;
}

void Connection::flush(std::byte* frame, std::size_t bytes) {
  if (frame != nullptr) {
    Chained& chained = chain_.emplace_back();
    chained.piece = SendBuffers::piece_of(frame, bytes);
    chained.request.opcode = IBV_WR_SEND;
    chained.request.num_sge = 1;
    // Behind reads: what they bring must be here before the peer hears that it was taken.
    chained.request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
    chained.posted = {.frame = frame, .is_chained = true};
  }
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    Chained& each = chain_[i];
    each.request.wr_id = ReliableQueues::id_of_sent(work_[low].next());
    each.request.sg_list = &each.piece;
    each.request.next = i + 1 < chain_.size() ? &chain_[i + 1].request : nullptr;
    if (each.posted.frame != nullptr) SendBuffers::note_posted(each.posted.frame);
    queues_.note_started(each.piece.length);
    work_[low].add(each.posted);
  }
  ibv_send_wr* refused = nullptr;
  if (!chain_.empty() && (is_broken_ || ibv_post_send(queue_pairs_[low].get(),
                                                      &chain_.front().request, &refused) != 0))
    break_now();
  chain_.clear();
}

void Connection::on_sent(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) {
    break_now();
    return;
  }
  const Priority priority = completion.qp_num == queue_pairs_[high]->qp_num ? high : low;
  work_[priority].on_reported(ReliableQueues::number_of_sent(completion.wr_id),
                              [this](const Posted& posted) { end(posted, true); });
}

void Connection::end(const Posted& posted, bool was_done) {
  if (posted.is_operation) owner_.on_operation_ended(posted.operation, was_done);
  if (posted.frame != nullptr) buffers_.note_left(posted.frame);
}

/// The peer's requests shall fail as ours do.
void Connection::break_now() {
  if (is_broken_) return;
  is_broken_ = true;
  owner_.on_broken();
  for (const QueuePair& queue_pair : queue_pairs_) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(queue_pair.get(), &attributes, IBV_QP_STATE);
  }
}

bool Connection::drain() {
  bool is_drained = true;
  for (const Priority priority : {high, low}) {
    if (work_[priority].size() == 0) continue;
    is_drained = false;
    if (has_marked_[priority] || work_[priority].is_full()) continue;
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND_WITH_IMM;
    request.imm_data = htobe32(static_cast<std::uint32_t>(FastPathMessage::Kind::drained));
    request.send_flags = IBV_SEND_SIGNALED;
    has_marked_[priority] = true;
    post(priority, request, {}, {});
  }
  return is_drained || is_broken_;
}

}  // namespace hawser::transport::verbs
