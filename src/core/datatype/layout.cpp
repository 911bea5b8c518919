#include "core/datatype/layout.hpp"

#include <unordered_map>
#include <utility>

namespace hawser::core {
namespace {

using Kind = Layout::Kind;

Layout dense(Count offset, Count size) {
  Layout layout;
  layout.offset = offset;
  layout.size = size;
  return layout;
}

Layout strided(Count offset, Count count, Count bytes, Count stride) {
  Layout layout;
  layout.kind = Kind::strided;
  layout.offset = offset;
  layout.size = count * bytes;
  layout.bytes = bytes;
  layout.count = count;
  layout.stride = stride;
  return layout;
}

/// The next copy begins where the levels below would have gone on anyway.
bool continues(const Layout& child, Count stride) {
  Count span = 0;
  return !__builtin_mul_overflow(child.count, child.stride, &span) && span == stride;
}

/// The distance between neighbours if it is the same everywhere, and there are two or more.
template <class List, class OffsetOf>
bool is_regular(const List& list, const OffsetOf& offset_of) {
  if (list.size() < 2) return false;
  const Count stride = offset_of(list[1]) - offset_of(list[0]);
  for (std::size_t i = 2; i < list.size(); ++i)
    if (offset_of(list[i]) - offset_of(list[i - 1]) != stride) return false;
  return true;
}

bool same_but_for_offset(const Shape::Part& a, const Shape::Part& b) {
  return a.shape == b.shape && a.count == b.count && a.stride == b.stride;
}

}  // namespace

Layout repeat(const Layout& child, Count count, Count stride) {
  if (count == 0 || child.size == 0) return {};
  if (count == 1) return child;
  if (child.kind == Kind::dense) {
    if (child.size == stride) return dense(child.offset, child.size * count);
    return strided(child.offset, count, child.size, stride);
  }
  const bool regular = child.kind == Kind::strided || child.kind == Kind::repeated;
  Layout layout;
  if (regular && continues(child, stride)) {
    layout = child;
    layout.count *= count;
  } else {
    layout.kind = Kind::repeated;
    layout.child = &child;
    layout.count = count;
    layout.stride = stride;
  }
  layout.size = child.size * count;
  return layout;
}

class LayoutCompiler {
 public:
  explicit LayoutCompiler(Program& program) : program_(program) {}

  const Layout& compile(const Shape& shape) {
    if (const auto known = compiled_.find(&shape); known != compiled_.end()) return *known->second;
    const Layout& layout = store(shape.is_element() ? dense(0, shape.size()) : join(shape.parts()));
    compiled_.emplace(&shape, &layout);
    return layout;
  }

 private:
  using Parts = std::vector<Shape::Part>;

  /// The layouts of PARTS, one after the other.
  struct Sequence {
    std::vector<Block> blocks;  // those since the last entry
    std::vector<Layout::Entry> entries;
  };

  const Layout& store(Layout layout) { return program_.layouts_.emplace_back(layout); }

  Layout join(const Parts& parts) {
    if (is_uniform(parts)) return join_uniform(parts);
    Sequence sequence;
    const Shape::Part* previous = nullptr;
    for (const Shape::Part& part : parts) {
      const Layout& child = compile(*part.shape);
      Layout layout = repeat(child, part.count, part.stride);
      if (!add_blocks(sequence, layout, part.offset)) {
        flush(sequence);
        const bool repeats = previous != nullptr && same_but_for_offset(*previous, part);
        const Layout* stored = repeats ? sequence.entries.back().layout : &store(layout);
        sequence.entries.push_back({part.offset, stored});
        previous = &part;
      } else {
        previous = nullptr;
      }
    }
    flush(sequence);
    return finish(std::move(sequence));
  }

  static bool is_uniform(const Parts& parts) {
    for (const Shape::Part& part : parts)
      if (!same_but_for_offset(part, parts.front())) return false;
    return parts.size() == 1 ||
           is_regular(parts, [](const Shape::Part& part) { return part.offset; });
  }

  Layout join_uniform(const Parts& parts) {
    const Shape::Part& first = parts.front();
    Layout layout = repeat(compile(*first.shape), first.count, first.stride);
    if (parts.size() > 1)
      layout = repeat(store(layout), std::ssize(parts), parts[1].offset - first.offset);
    layout.offset += first.offset;
    return layout;
  }

  /// False if LAYOUT has too many blocks, or is not made of blocks, to be dissolved in SEQUENCE.
  static bool add_blocks(Sequence& sequence, const Layout& layout, Count offset) {
    if (!has_few_blocks(layout)) return false;
    const Count origin = offset + layout.offset;
    for_each_block(layout, [&](const Block& block) {
      add_block(sequence, origin + block.offset, block.bytes);
    });
    return true;
  }

  static void add_block(Sequence& sequence, Count offset, Count bytes) {
    std::vector<Block>& blocks = sequence.blocks;
    if (!blocks.empty() && blocks.back().offset + blocks.back().bytes == offset) {
      blocks.back().bytes += bytes;
    } else {
      blocks.push_back({offset, bytes});
    }
  }

  void flush(Sequence& sequence) {
    if (sequence.blocks.empty()) return;
    const Layout& layout = store(from_blocks(sequence.blocks));
    sequence.entries.push_back({0, &layout});
    sequence.blocks.clear();
  }

  Layout from_blocks(const std::vector<Block>& blocks) {
    const Block& first = blocks.front();
    if (blocks.size() == 1) return dense(first.offset, first.bytes);
    const bool even = std::all_of(blocks.begin(), blocks.end(),
                                  [&](const Block& block) { return block.bytes == first.bytes; });
    const Count count = std::ssize(blocks);
    if (even && is_regular(blocks, [](const Block& block) { return block.offset; }))
      return strided(first.offset, count, first.bytes, blocks[1].offset - first.offset);

    Layout layout;
    if (even) {
      layout.kind = Kind::gathered;
      layout.bytes = first.bytes;
      layout.size = count * first.bytes;
      std::vector<Count>& offsets = program_.count_tables_.emplace_back();
      offsets.reserve(blocks.size());
      for (const Block& block : blocks) offsets.push_back(block.offset);
      layout.offsets = offsets;
    } else {
      layout.kind = Kind::blocks;
      layout.block_list = program_.block_tables_.emplace_back(blocks);
      index(layout, layout.block_list, [](const Block& block) { return block.bytes; });
    }
    return layout;
  }

  Layout finish(Sequence sequence) {
    if (sequence.entries.empty()) return {};
    if (sequence.entries.size() == 1) {
      Layout layout = *sequence.entries.front().layout;
      layout.offset += sequence.entries.front().offset;
      return layout;
    }
    Layout layout;
    layout.kind = Kind::sequence;
    layout.entries = program_.entry_tables_.emplace_back(std::move(sequence.entries));
    index(layout, layout.entries, [](const Layout::Entry& entry) { return entry.layout->size; });
    return layout;
  }

  /// Fills in `starts` and `size`.
  template <class List, class BytesOf>
  void index(Layout& layout, const List& list, const BytesOf& bytes_of) {
    std::vector<Count>& starts = program_.count_tables_.emplace_back();
    starts.reserve(list.size() + 1);
    Count start = 0;
    for (const auto& item : list) {
      starts.push_back(start);
      start += bytes_of(item);
    }
    starts.push_back(start);
    layout.starts = starts;
    layout.size = start;
  }

  Program& program_;
  std::unordered_map<const Shape*, const Layout*> compiled_;
};

Program::Program(const Shape& shape) { root_ = LayoutCompiler(*this).compile(shape); }

}  // namespace hawser::core
