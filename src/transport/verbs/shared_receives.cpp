#include "transport/verbs/shared_receives.hpp"

#include <algorithm>
#include <bit>

namespace hawser::transport::verbs {

namespace {

/// Where less than one in so many buffers is left waiting, few are.
constexpr std::size_t buffers_per_few = 4;

/// One in so many buffers is for messages that need no window.
constexpr std::size_t buffers_per_spare = 8;

}  // namespace

std::size_t SharedReceives::buffers_for(std::size_t peers, const Settings& settings) {
  const auto base = static_cast<std::size_t>(settings.rc_receive_buffers);
  const auto growth = static_cast<std::size_t>(settings.rc_receive_buffers_growth);
  return std::bit_width(peers - 1) * growth + base;
}

std::uint32_t SharedReceives::window(std::size_t buffers, std::size_t peers) {
  return static_cast<std::uint32_t>(
      std::max<std::size_t>((buffers - buffers / buffers_per_spare) / peers, 1));
}

Result<std::unique_ptr<SharedReceives>> SharedReceives::open(const Port& port, ReceivePool& pool,
                                                             std::size_t buffers_max) {
  ibv_srq_init_attr wanted{};
  wanted.attr = {.max_wr = static_cast<std::uint32_t>(buffers_max), .max_sge = 1, .srq_limit = 0};
  SharedReceiveQueue queue(ibv_create_srq(port.protection_domain.get(), &wanted));
  if (!queue) return refusal("a shared receive queue");
  return std::unique_ptr<SharedReceives>(new SharedReceives(std::move(queue), pool));
}

Result<std::unique_ptr<SharedReceives>> SharedReceives::open_xrc(const Port& port,
                                                                 ReceivePool& pool,
                                                                 std::size_t buffers_max,
                                                                 ibv_xrcd* domain,
                                                                 ibv_cq* completions) {
  ibv_srq_init_attr_ex wanted{};
  wanted.attr = {.max_wr = static_cast<std::uint32_t>(buffers_max), .max_sge = 1, .srq_limit = 0};
  wanted.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  wanted.srq_type = IBV_SRQT_XRC;
  wanted.pd = port.protection_domain.get();
  wanted.xrcd = domain;
  wanted.cq = completions;
  SharedReceiveQueue queue(ibv_create_srq_ex(port.context.get(), &wanted));
  if (!queue) return refusal("a shared receive queue of XRC");
  return std::unique_ptr<SharedReceives>(new SharedReceives(std::move(queue), pool));
}

void SharedReceives::watch() {
  if (is_watched_ || buffers_.posted() < buffers_per_few) return;
  ibv_srq_attr attributes{};
  attributes.srq_limit = static_cast<std::uint32_t>(buffers_.posted() / buffers_per_few);
  is_watched_ = ibv_modify_srq(queue_.get(), &attributes, IBV_SRQ_LIMIT) == 0;
}

}  // namespace hawser::transport::verbs
