#include "p2p/partitioned/partitioner.hpp"

#include <fmt/format.h>

#include <utility>

namespace hawser::p2p {
namespace {

using base::Error;
using base::ErrorClass;

/// MPI_ERR_COUNT unless the bytes of all partitions can be counted.
Result<void> check_size(int partitions, Count items, const Datatype& type) {
  if (partitions < 0) {
    return Error(ErrorClass::arg,
                 fmt::format("there can't be {} partitions; 0 or more are right", partitions));
  }
  Count bytes = 0;
  if (__builtin_mul_overflow(items, type.size(), &bytes) ||
      __builtin_mul_overflow(bytes, Count{partitions}, &bytes)) {
    return Error(ErrorClass::count,
                 fmt::format("{} partitions of {} items of {} bytes are more than 2^63-1 bytes",
                             partitions, items, type.size()));
  }
  return {};
}

Result<void> check_no_wildcard(const Envelope& envelope) {
  if (envelope.peer == any_source) {
    return Error(ErrorClass::rank, "a partitioned receive needs a source; MPI_ANY_SOURCE is none");
  }
  if (envelope.tag == any_tag) {
    return Error(ErrorClass::tag, "a partitioned receive needs a tag; MPI_ANY_TAG is none");
  }
  return {};
}

}  // namespace

Partitioner::Partitioner(Engine& engine, Datatype& byte_type)
    : engine_(engine), byte_type_(byte_type) {
  engine_.add_source(*this);
}

Partitioner::~Partitioner() { engine_.remove_source(*this); }

Result<Ref<Request>> Partitioner::psend_init(const ConstBuffer& partition, int partitions,
                                             Envelope envelope) {
  HAWSER_TRY(check_size(partitions, partition.count, *partition.type));
  envelope.traffic = Traffic::setup;
  const LaneLock lock(engine_);
  const std::optional<int> first_tag = tags_.take(partitions);
  if (!first_tag) {
    return Error(
        ErrorClass::other,
        fmt::format("{} partitions are too many beside those of the partitioned sends that "
                    "there are: at most {} can be told apart",
                    partitions, tag_max));
  }
  Ref<Request> request =
      base::make_ref<PartitionedSend>(*this, partition, partitions, envelope, *first_tag);
  if (envelope.peer == proc_null) return request;
  auto handshake = base::make_ref<Handshake>();
  handshake->layout = {static_cast<std::uint64_t>(bytes_of(partition)),
                       static_cast<std::uint32_t>(partitions),
                       static_cast<std::uint32_t>(*first_tag)};
  const ConstBuffer message{&handshake->layout, sizeof handshake->layout, &byte_type_};
  if (engine_.backend().try_send(message, envelope)) return request;
  Result<Ref<Request>> sent = engine_.isend(message, envelope, SendMode::standard);
  if (!sent) return sent.take_error();
  handshake->request = std::move(*sent);
  keep(std::move(handshake));
  return request;
}

Result<Ref<Request>> Partitioner::precv_init(const Buffer& partition, int partitions,
                                             Envelope envelope) {
  HAWSER_TRY(check_size(partitions, partition.count, *partition.type));
  HAWSER_TRY(check_no_wildcard(envelope));
  envelope.traffic = Traffic::setup;
  const LaneLock lock(engine_);
  Ref<Handshake> handshake;
  if (envelope.peer != proc_null) {
    handshake = base::make_ref<Handshake>();
    Result<Ref<Request>> receive =
        engine_.irecv({&handshake->layout, sizeof handshake->layout, &byte_type_}, envelope);
    if (!receive) return receive.take_error();
    handshake->request = std::move(*receive);
    keep(handshake);
  }
  return Ref<Request>(base::make_ref<PartitionedReceive>(*this, partition, partitions, envelope,
                                                         std::move(handshake)));
}

void Partitioner::keep(Ref<Handshake> handshake) {
  if (handshake->request->is_complete()) return;
  handshakes_.push_back(std::move(handshake));
  set_idle(false);
}

void Partitioner::post_later(PartitionedReceive& receive) {
  receives_.push_back(Ref<PartitionedReceive>::share(&receive));
  set_idle(false);
}

void Partitioner::give_back_tags(int first, int count) {
  const LaneLock lock(engine_);
  tags_.give_back(first, count);
}

bool Partitioner::advance(UserCode) {
  const LaneLock lock(engine_);
  const std::size_t done =
      std::erase_if(handshakes_,
                    [](const auto& handshake) { return handshake->request->is_complete(); }) +
      std::erase_if(receives_, [](const auto& receive) { return receive->try_post(); });
  set_idle(handshakes_.empty() && receives_.empty());
  return done > 0;
}

}  // namespace hawser::p2p
