#include "transport/verbs/shared_receives.hpp"

namespace hawser::transport::verbs {

namespace {

/// Where less than one in so many buffers is left waiting, few are.
constexpr std::size_t buffers_per_few = 4;

}  // namespace

Result<std::unique_ptr<SharedReceives>> SharedReceives::open(const Port& port, ReceivePool& pool,
                                                             std::size_t buffers_max) {
  ibv_srq_init_attr wanted{};
  wanted.attr = {.max_wr = static_cast<std::uint32_t>(buffers_max), .max_sge = 1, .srq_limit = 0};
  SharedReceiveQueue queue(ibv_create_srq(port.protection_domain.get(), &wanted));
  if (!queue) return refusal("a shared receive queue");
  return std::unique_ptr<SharedReceives>(new SharedReceives(std::move(queue), pool));
}

void SharedReceives::watch() {
  if (is_watched_ || buffers_.posted() < buffers_per_few) return;
  ibv_srq_attr attributes{};
  attributes.srq_limit = static_cast<std::uint32_t>(buffers_.posted() / buffers_per_few);
  is_watched_ = ibv_modify_srq(queue_.get(), &attributes, IBV_SRQ_LIMIT) == 0;
}

}  // namespace hawser::transport::verbs
