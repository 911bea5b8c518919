#include "softrdma/queue/tag_matcher.hpp"

#include <algorithm>

namespace softrdma::queue {
namespace {

/// So far behind a program may be before it is asked to synchronize: well below what 16 bits count.
constexpr std::uint16_t behind_max = 1 << 14;

}  // namespace

std::uint32_t TagMatcher::add(std::uint64_t id, std::uint64_t tag, std::uint64_t mask,
                              std::span<const ibv_sge> entries) {
  const auto buffer = free_.begin();
  posted_.splice(posted_.end(), free_, buffer);
  if (!is_synchronized() && matched_end_ == posted_.end()) matched_end_ = buffer;
  buffer->id = id;
  buffer->tag = tag;
  buffer->mask = mask;
  buffer->handle = ++last_handle_;
  buffer->count = static_cast<std::uint32_t>(entries.size());
  std::ranges::copy(entries, buffer->entries.begin());
  return buffer->handle;
}

void TagMatcher::free(Buffers::iterator buffer) {
  if (buffer == matched_end_) ++matched_end_;
  free_.splice(free_.begin(), posted_, buffer);
}

bool TagMatcher::remove(std::uint32_t handle) {
  const auto found = std::ranges::find(posted_, handle, &Buffer::handle);
  if (found == posted_.end()) return false;
  free(found);
  return true;
}

void TagMatcher::synchronize(std::uint32_t count) {
  handled_ = static_cast<std::uint16_t>(count);
  if (is_synchronized()) matched_end_ = posted_.end();
}

bool TagMatcher::take(std::uint64_t tag, std::uint64_t* id, std::vector<ibv_sge>* entries) {
  // The manual wants a buffer's tag to have no bits outside its mask. UCX does not keep to that:
  // such bits are not compared.
  const auto found = std::find_if(posted_.begin(), matched_end_, [tag](const Buffer& buffer) {
    return ((buffer.tag ^ tag) & buffer.mask) == 0;
  });
  if (found == matched_end_) return false;
  *id = found->id;
  entries->assign(found->entries.begin(), found->entries.begin() + found->count);
  free(found);
  return true;
}

bool TagMatcher::count_unexpected() {
  ++unexpected_;
  return static_cast<std::uint16_t>(unexpected_ - handled_) > behind_max;
}

}  // namespace softrdma::queue
