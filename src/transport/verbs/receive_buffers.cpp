#include "transport/verbs/receive_buffers.hpp"

#include "transport/verbs/receive_requests.hpp"

namespace hawser::transport::verbs {

ReceiveBuffers::~ReceiveBuffers() {
  for (Buffer* buffer : posted_) pool_.buffers.give_back(buffer);
}

void ReceiveBuffers::set_target(std::size_t buffers) {
  target_ = buffers;
  std::vector<Buffer*> fresh;
  while (posted_.size() < target_) {
    const Result<Buffer*> buffer = pool_.buffers.take();
    if (!buffer) break;  // fewer will do, more slowly
    fresh.push_back(*buffer);
    posted_.push_back(*buffer);
  }
  post(fresh);
}

std::span<const std::byte> ReceiveBuffers::take(const ibv_wc& completion) {
  auto* const buffer = reinterpret_cast<Buffer*>(completion.wr_id - pool_.tag);
  taken_.push_back(buffer);
  return {buffer->data(), completion.status == IBV_WC_SUCCESS ? completion.byte_len : 0};
}

void ReceiveBuffers::repost() {
  while (!taken_.empty() && posted_.size() > target_) {
    std::erase(posted_, taken_.back());
    pool_.buffers.give_back(taken_.back());
    taken_.pop_back();
  }
  post(taken_);
  taken_.clear();
}

void ReceiveBuffers::post(std::span<Buffer* const> buffers) {
  post_receive_requests(buffers, pool_.frame_bytes, pool_.tag, [this](ibv_recv_wr* requests) {
    ibv_recv_wr* refused = nullptr;
    if (shared_ != nullptr) {
      ibv_post_srq_recv(shared_, requests, &refused);
    } else {
      ibv_post_recv(own_, requests, &refused);
    }
  });
}

}  // namespace hawser::transport::verbs
