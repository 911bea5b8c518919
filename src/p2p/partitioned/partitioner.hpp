// Partitioner: makes the partitioned sends and receives of a process, and keeps what they need
// between two calls.
//
// Ownership: one per Process, outlived by its Engine, outliving its requests. The backend must be
//            drained before it goes, since handshakes may still be on their way.
// Threads:   all calls are thread-safe; guarded by the lane lock.
#pragma once

#include <vector>

#include "p2p/partitioned/handshake.hpp"
#include "p2p/partitioned/partitioned_receive.hpp"
#include "p2p/partitioned/partitioned_send.hpp"
#include "p2p/partitioned/tag_ranges.hpp"
#include "p2p/persistent/orphans.hpp"

namespace hawser::p2p {

class Partitioner final : public ProgressSource {
 public:
  /// BYTE_TYPE: one uninterpreted byte; outlives this.
  Partitioner(Engine& engine, Datatype& byte_type);
  ~Partitioner() override;
  Partitioner(const Partitioner&) = delete;
  Partitioner& operator=(const Partitioner&) = delete;

  /// PARTITION describes the first partition, the others follow it. ENVELOPE without wildcards.
  Result<Ref<Request>> psend_init(const ConstBuffer& partition, int partitions, Envelope envelope);
  Result<Ref<Request>> precv_init(const Buffer& partition, int partitions, Envelope envelope);

  /// Posts the receives whose handshakes have arrived.
  bool advance(UserCode user_code) override;

  // For the requests.
  [[nodiscard]] Engine& engine() const { return engine_; }
  [[nodiscard]] Datatype& byte_type() const { return byte_type_; }
  [[nodiscard]] Orphans& orphans() { return orphans_; }
  /// RECEIVE is active and waits for its handshake. Under the lane lock.
  void post_later(PartitionedReceive& receive);
  void give_back_tags(int first, int count);

 private:
  void keep(Ref<Handshake> handshake);

  Engine& engine_;
  Datatype& byte_type_;
  TagRanges tags_{tag_max};
  std::vector<Ref<Handshake>> handshakes_;         // not yet complete when last looked at
  std::vector<Ref<PartitionedReceive>> receives_;  // active, without their handshake
  Orphans orphans_;
};

}  // namespace hawser::p2p
