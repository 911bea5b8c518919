#include "core/comm/comm.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "core/comm/comm_registry.hpp"

namespace hawser::core {

Comm::Comm(Description description)
    : description_(std::move(description)),
      rank_(description_.rank),
      size_(description_.group->size()),
      peer_count_(peer_group().size()) {
  HAWSER_ASSERT(rank_ >= 0 && rank_ < size_);
  HAWSER_ASSERT(description_.errhandler);
  if (description_.registry) description_.registry->add(*this);
}

Comm::~Comm() {
  if (description_.registry) description_.registry->remove(*this);
}

void Comm::note(std::uint8_t trouble) {
  troubles_.fetch_or(trouble, std::memory_order_acq_rel);
  peers_.clear();
  if (is_inter()) local().note(trouble);
}

Comparison Comm::compare(const Comm& other) const {
  if (this == &other) return Comparison::ident;
  if (is_inter() != other.is_inter()) return Comparison::unequal;
  // Ordered from ident to unequal: the worse of two comparisons is the larger one.
  Comparison groups = group().compare(other.group());
  if (is_inter()) groups = std::max(groups, peer_group().compare(other.peer_group()));
  return groups == Comparison::ident ? Comparison::congruent : groups;
}

Error revoked_error(const Comm& comm) {
  return {ErrorClass::revoked,
          (comm.name().empty() ? "the communicator" : comm.name()) +
              " has been revoked; MPIX_Comm_shrink makes one of the processes that are left"};
}

}  // namespace hawser::core
