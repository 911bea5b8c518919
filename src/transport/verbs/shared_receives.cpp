#include "transport/verbs/shared_receives.hpp"

#include <algorithm>

#include "transport/verbs/receive_requests.hpp"

namespace hawser::transport::verbs {

namespace {

constexpr std::size_t buffers_per_slab = 16;
/// Where less than one in so many buffers is left waiting, few are.
constexpr std::size_t buffers_per_few = 4;

}  // namespace

Result<std::unique_ptr<SharedReceives>> SharedReceives::open(const Port& port,
                                                             memory::Ledger& ledger,
                                                             const Shape& shape,
                                                             std::uint64_t tag) {
  std::unique_ptr<SharedReceives> receives(new SharedReceives(port, ledger, shape, tag));
  ibv_srq_init_attr wanted{};
  wanted.attr = {
      .max_wr = static_cast<std::uint32_t>(shape.buffers_max), .max_sge = 1, .srq_limit = 0};
  receives->queue_.reset(ibv_create_srq(port.protection_domain.get(), &wanted));
  if (!receives->queue_) return refusal("a shared receive queue");
  return receives;
}

SharedReceives::SharedReceives(const Port& port, memory::Ledger& ledger, const Shape& shape,
                               std::uint64_t tag)
    : shape_(shape),
      tag_(tag),
      registrar_(port, PortRegistrar::Reach::local),
      buffers_(registrar_, ledger,
               {.account = memory::Account::network_buffers,
                .buffer_bytes = shape.frame_bytes,
                .slab_buffers = buffers_per_slab,
                .slabs_max = (shape.buffers_max + buffers_per_slab - 1) / buffers_per_slab}) {}

SharedReceives::~SharedReceives() {
  queue_.reset();
  for (Buffer* buffer : posted_) buffers_.give_back(buffer);
}

void SharedReceives::set_target(std::size_t buffers) {
  target_ = std::min(buffers, shape_.buffers_max);
  std::vector<Buffer*> fresh;
  while (posted_.size() < target_) {
    const Result<Buffer*> buffer = buffers_.take();
    if (!buffer) break;  // fewer will do, more slowly
    fresh.push_back(*buffer);
    posted_.push_back(*buffer);
  }
  post(fresh);
}

std::span<const std::byte> SharedReceives::take(const ibv_wc& completion) {
  auto* const buffer = reinterpret_cast<Buffer*>(completion.wr_id - tag_);
  taken_.push_back(buffer);
  return {buffer->data(), completion.status == IBV_WC_SUCCESS ? completion.byte_len : 0};
}

void SharedReceives::repost() {
  while (!taken_.empty() && posted_.size() > target_) {
    std::erase(posted_, taken_.back());
    buffers_.give_back(taken_.back());
    taken_.pop_back();
  }
  post(taken_);
  taken_.clear();
}

void SharedReceives::watch() {
  if (is_watched_ || posted_.size() < buffers_per_few) return;
  ibv_srq_attr attributes{};
  attributes.srq_limit = static_cast<std::uint32_t>(posted_.size() / buffers_per_few);
  is_watched_ = ibv_modify_srq(queue_.get(), &attributes, IBV_SRQ_LIMIT) == 0;
}

void SharedReceives::post(std::span<Buffer* const> buffers) {
  post_receive_requests(buffers, shape_.frame_bytes, tag_, [this](ibv_recv_wr* requests) {
    ibv_recv_wr* refused = nullptr;
    ibv_post_srq_recv(queue_.get(), requests, &refused);
  });
}

}  // namespace hawser::transport::verbs
