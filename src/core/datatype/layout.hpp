// Layout: where the bytes of a packed stream lie in memory, as the smallest program that says it.
//
// Purpose:   commit() compiles a Shape into this; pack, unpack and segments (walk.hpp) run it.
//            Basic elements are gone: adjacent ones are merged into blocks, regular blocks into
//            strides, and stacked regular levels into one.
// Ownership: a Program owns its layouts and their tables. A Layout is a cheap view.
// Invariant: `starts` has one more entry than the list it belongs to and ends with `size`, so that
//            any byte of the stream is found by division (regular levels) or binary search.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/datatype/shape.hpp"

namespace hawser::core {

struct Block {
  Count offset;
  Count bytes;
};

struct Layout {
  enum class Kind : std::uint8_t {
    dense,     // one block of `size` bytes
    strided,   // `count` blocks of `bytes` bytes, `stride` apart
    gathered,  // blocks of `bytes` bytes at `offsets`
    blocks,    // `block_list`
    repeated,  // `count` times `child`, `stride` apart
    sequence,  // `entries`, one after the other
  };
  struct Entry {
    Count offset;
    const Layout* layout;
  };

  Kind kind = Kind::dense;
  Count offset = 0;  // of everything in this layout
  Count size = 0;    // bytes of the packed stream
  Count bytes = 0;
  Count count = 0;
  Count stride = 0;
  const Layout* child = nullptr;
  std::span<const Count> offsets;
  std::span<const Block> block_list;
  std::span<const Entry> entries;
  std::span<const Count> starts;
};

/// The number of blocks of a list, or of the strided or gathered blocks; 0 for nested layouts.
inline Count block_count(const Layout& layout) {
  switch (layout.kind) {
    case Layout::Kind::dense:
      return 1;
    case Layout::Kind::strided:
      return layout.count;
    case Layout::Kind::gathered:
      return std::ssize(layout.offsets);
    case Layout::Kind::blocks:
      return std::ssize(layout.block_list);
    case Layout::Kind::repeated:
    case Layout::Kind::sequence:
      return 0;
  }
  return 0;
}

/// Calls VISIT with the blocks that block_count() counts, relative to the layout's offset.
template <class Visit>
void for_each_block(const Layout& layout, const Visit& visit) {
  switch (layout.kind) {
    case Layout::Kind::dense:
      return visit(Block{0, layout.size});
    case Layout::Kind::strided:
      for (Count i = 0; i < layout.count; ++i) visit(Block{i * layout.stride, layout.bytes});
      return;
    case Layout::Kind::gathered:
      for (const Count offset : layout.offsets) visit(Block{offset, layout.bytes});
      return;
    case Layout::Kind::blocks:
      for (const Block& block : layout.block_list) visit(block);
      return;
    case Layout::Kind::repeated:
    case Layout::Kind::sequence:
      return;
  }
}

/// Up to so many blocks are walked as a list rather than entered as a level of their own.
inline constexpr Count few_blocks = 16;

inline bool has_few_blocks(const Layout& layout) {
  const Count blocks = block_count(layout);
  return blocks > 0 && blocks <= few_blocks;
}

/// COUNT copies of CHILD, STRIDE bytes apart. The result may point to CHILD; nothing is allocated.
Layout repeat(const Layout& child, Count count, Count stride);

class Program {
 public:
  explicit Program(const Shape& shape);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const Layout& root() const { return root_; }

 private:
  friend class LayoutCompiler;

  Layout root_;
  std::deque<Layout> layouts_;  // a deque, because layouts point to one another
  std::deque<std::vector<Block>> block_tables_;
  std::deque<std::vector<Layout::Entry>> entry_tables_;
  std::deque<std::vector<Count>> count_tables_;
};

}  // namespace hawser::core
