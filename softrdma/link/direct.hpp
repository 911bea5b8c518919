// DirectAccess: of a link whose peers may copy to and from each other's memory by themselves.
//
// What a queue pair and its regions let the peer do is published; whoever copies looks it up while
// the owner can see that somebody copies, and the owner waits for that one before it takes memory
// back. Threads: the device's lock.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "softrdma/memory/region_table.hpp"
#include "softrdma/qp/direct.hpp"

namespace softrdma::link {

class DirectAccess : public memory::KeyDirectory {
 public:
  /// ACCESS may be used by the peer, which has ADDRESS, until close().
  virtual void open(const qp::PeerAccess& access, const ibv_ah_attr& address) = 0;
  /// When this returns nobody copies any more who came by QUEUE_PAIR.
  virtual void close(std::uint32_t queue_pair) = 0;
  /// For queue pair FROM, to or from the memory that TO lets it. False: packets have to do it.
  virtual bool copy(const qp::DirectCopy& what, std::uint32_t from, const qp::Destination& to,
                    std::uint64_t now_ns) = 0;
};

}  // namespace softrdma::link
