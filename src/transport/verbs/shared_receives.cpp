#include "transport/verbs/shared_receives.hpp"

#include <algorithm>
#include <array>

namespace hawser::transport::verbs {

namespace {

constexpr std::size_t buffers_per_slab = 16;

}  // namespace

Result<std::unique_ptr<SharedReceives>> SharedReceives::open(const Port& port,
                                                             ibv_comp_channel* channel,
                                                             memory::Ledger& ledger,
                                                             const Shape& shape) {
  std::unique_ptr<SharedReceives> receives(new SharedReceives(port, ledger, shape));
  receives->completions_.reset(
      ibv_create_cq(port.context.get(), static_cast<int>(shape.buffers_max), nullptr, channel, 0));
  if (!receives->completions_) return refusal("a completion queue");
  ibv_srq_init_attr wanted{};
  wanted.attr = {
      .max_wr = static_cast<std::uint32_t>(shape.buffers_max), .max_sge = 1, .srq_limit = 0};
  receives->queue_.reset(ibv_create_srq(port.protection_domain.get(), &wanted));
  if (!receives->queue_) return refusal("a shared receive queue");
  return receives;
}

SharedReceives::SharedReceives(const Port& port, memory::Ledger& ledger, const Shape& shape)
    : shape_(shape),
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

void SharedReceives::repost_or_free(std::span<Buffer* const> buffers) {
  std::size_t kept = buffers.size();
  for (; kept > 0 && posted_.size() > target_; --kept) {
    std::erase(posted_, buffers[kept - 1]);
    buffers_.give_back(buffers[kept - 1]);
  }
  post(buffers.first(kept));
}

void SharedReceives::post(std::span<Buffer* const> buffers) {
  while (!buffers.empty()) {
    std::array<ibv_recv_wr, completions_per_poll_max> requests{};
    std::array<ibv_sge, completions_per_poll_max> pieces{};
    const std::size_t count = std::min(buffers.size(), requests.size());
    for (std::size_t i = 0; i < count; ++i) {
      pieces[i] = {reinterpret_cast<std::uint64_t>(buffers[i]->data()),
                   static_cast<std::uint32_t>(shape_.frame_bytes),
                   PortRegistrar::local_key(buffers[i]->handle())};
      requests[i].wr_id = reinterpret_cast<std::uint64_t>(buffers[i]);
      requests[i].sg_list = &pieces[i];
      requests[i].num_sge = 1;
      requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
    }
    ibv_recv_wr* refused = nullptr;
    ibv_post_srq_recv(queue_.get(), requests.data(), &refused);
    buffers = buffers.subspan(count);
  }
}

}  // namespace hawser::transport::verbs
