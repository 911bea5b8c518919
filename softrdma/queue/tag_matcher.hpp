// TagMatcher: buffers that wait for messages with a tag, and which of them a message gets
// (ibv_post_srq_ops(3); tag_matching.md among the documents of rdma-core).
//
// A message gets the first buffer, in the order of posting, whose tag is the message's under the
// buffer's mask. One that gets none is unexpected: it is the program's to match. So that no later
// message overtakes it, buffers that are posted from then on are not matched until the program has
// said that it has handled as many unexpected messages as there were.
//
// Counts have 16 bits, as those of adapters do: a program may keep its own in 16 bits or in 32.
//
// Ownership: of the buffers' entries, in memory that is taken once. Threads: the adapter's lock.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

namespace softrdma::queue {

/// Most scatter/gather entries of a buffer with a tag.
inline constexpr std::size_t tag_entries_max = 4;

class TagMatcher {
 public:
  /// TAGS_MAX: buffers that wait, and those that transfers go to.
  explicit TagMatcher(std::uint32_t tags_max) : free_(tags_max) {}

  [[nodiscard]] bool is_full() const { return free_.size() <= transfers_; }
  /// Adds a buffer: its ID, what is to be matched, and at most tag_entries_max ENTRIES. Returns its
  /// handle, by which it is removed. Not if it is_full().
  std::uint32_t add(std::uint64_t id, std::uint64_t tag, std::uint64_t mask,
                    std::span<const ibv_sge> entries);
  /// False: the buffer of HANDLE has been matched or removed.
  bool remove(std::uint32_t handle);
  /// The program has handled COUNT unexpected messages.
  void synchronize(std::uint32_t count);
  [[nodiscard]] bool is_synchronized() const { return handled_ == unexpected_; }

  /// Takes the buffer for a message with TAG. False if there is none.
  bool take(std::uint64_t tag, std::uint64_t* id, std::vector<ibv_sge>* entries);
  /// A message with a tag got none. True if the program is far behind and has to synchronize.
  bool count_unexpected();

  /// A buffer that was taken has its data later: until end_transfer() it has its place here.
  void begin_transfer() { ++transfers_; }
  void end_transfer() { --transfers_; }

 private:
  struct Buffer {
    std::uint64_t id = 0;
    std::uint64_t tag = 0;
    std::uint64_t mask = 0;
    std::uint32_t handle = 0;
    std::uint32_t count = 0;
    std::array<ibv_sge, tag_entries_max> entries{};
  };
  using Buffers = std::list<Buffer>;

  void free(Buffers::iterator buffer);

  Buffers free_;
  Buffers posted_;  // in order
  /// Those before it may be matched; the others wait for synchronize().
  Buffers::iterator matched_end_ = posted_.end();
  std::uint32_t last_handle_ = 0;
  std::uint32_t transfers_ = 0;
  std::uint16_t unexpected_ = 0;
  std::uint16_t handled_ = 0;
};

}  // namespace softrdma::queue
