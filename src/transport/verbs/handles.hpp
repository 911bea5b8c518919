// Owners of the objects of libibverbs.
//
// Ownership: unique; the destructor gives the object back. What is made of another object has to go
//            before it, so the members of a class stand in the order of their making.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

namespace hawser::transport::verbs {

template <auto destroy>
struct GiveBack {
  template <class Object>
  void operator()(Object* object) const {
    destroy(object);
  }
};

/// Its function has no linkage, as many of the header's.
struct CloseXrcDomain {
  void operator()(ibv_xrcd* domain) const { ibv_close_xrcd(domain); }
};

using Context = std::unique_ptr<ibv_context, GiveBack<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, GiveBack<ibv_dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv_mr, GiveBack<ibv_dereg_mr>>;
using XrcDomainHandle = std::unique_ptr<ibv_xrcd, CloseXrcDomain>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, GiveBack<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, GiveBack<ibv_destroy_cq>>;
using SharedReceiveQueue = std::unique_ptr<ibv_srq, GiveBack<ibv_destroy_srq>>;
using QueuePair = std::unique_ptr<ibv_qp, GiveBack<ibv_destroy_qp>>;
using AddressHandle = std::unique_ptr<ibv_ah, GiveBack<ibv_destroy_ah>>;

}  // namespace hawser::transport::verbs
