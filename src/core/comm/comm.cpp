#include "core/comm/comm.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace hawser::core {

Comm::Comm(Description description)
    : description_(std::move(description)),
      rank_(description_.rank),
      size_(description_.group->size()),
      peer_count_(peer_group().size()) {
  HAWSER_ASSERT(rank_ >= 0 && rank_ < size_);
  HAWSER_ASSERT(description_.errhandler);
}

Comm::~Comm() = default;

Comparison Comm::compare(const Comm& other) const {
  if (this == &other) return Comparison::ident;
  if (is_inter() != other.is_inter()) return Comparison::unequal;
  // Ordered from ident to unequal: the worse of two comparisons is the larger one.
  Comparison groups = group().compare(other.group());
  if (is_inter()) groups = std::max(groups, peer_group().compare(other.peer_group()));
  return groups == Comparison::ident ? Comparison::congruent : groups;
}

}  // namespace hawser::core
