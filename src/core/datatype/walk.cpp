#include "core/datatype/walk.hpp"

#include <algorithm>

#include "core/datatype/block_copy.hpp"

namespace hawser::core {
namespace {

/// Lists pieces instead of copying them; refuses a piece when the list is full.
class SegmentList {
 public:
  explicit SegmentList(std::span<Segment> out) : out_(out) {}

  bool run(Address memory, Count bytes) {
    const std::size_t length = static_cast<std::size_t>(bytes);
    if (used_ > 0 && end() == memory) {
      out_[used_ - 1].bytes += length;
    } else if (used_ < out_.size()) {
      out_[used_++] = {reinterpret_cast<std::byte*>(memory), length};
    } else {
      return false;
    }
    covered_ += bytes;
    return true;
  }

  bool strided(Address memory, Count count, Count bytes, Count stride) {
    for (Count i = 0; i < count; ++i, memory += static_cast<Address>(stride))
      if (!run(memory, bytes)) return false;
    return true;
  }

  bool gathered(Address memory, std::span<const Count> offsets, Count bytes) {
    return std::all_of(offsets.begin(), offsets.end(), [&](Count offset) {
      return run(memory + static_cast<Address>(offset), bytes);
    });
  }

  bool blocks(Address memory, std::span<const Block> list) {
    return std::all_of(list.begin(), list.end(), [&](const Block& block) {
      return run(memory + static_cast<Address>(block.offset), block.bytes);
    });
  }

  bool columns(Address memory, Count count, Count stride, const Layout& item) {
    bool room = true;
    memory += static_cast<Address>(item.offset);
    for (Count i = 0; i < count && room; ++i, memory += static_cast<Address>(stride))
      for_each_block(item, [&](const Block& block) {
        room = room && run(memory + static_cast<Address>(block.offset), block.bytes);
      });
    return room;
  }

  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] Count covered() const { return covered_; }

 private:
  [[nodiscard]] Address end() const {
    const Segment& last = out_[used_ - 1];
    return reinterpret_cast<Address>(last.data) + last.bytes;
  }

  std::span<Segment> out_;
  std::size_t used_ = 0;
  Count covered_ = 0;
};

/// Hands bytes [skip, skip + bytes) of a layout's stream to SINK, piece by piece; stops and returns
/// false as soon as the sink refuses one.
template <class Sink>
class Walk {
 public:
  explicit Walk(Sink& sink) : sink_(sink) {}

  bool layout(const Layout& layout, Address base, Count skip, Count bytes) {
    if (bytes == 0) return true;
    base += static_cast<Address>(layout.offset);
    switch (layout.kind) {
      case Layout::Kind::dense:
        return sink_.run(base + static_cast<Address>(skip), bytes);
      case Layout::Kind::strided:
        return strided(layout, base, skip, bytes);
      case Layout::Kind::gathered:
        return gathered(layout, base, skip, bytes);
      case Layout::Kind::blocks:
        return blocks(layout, base, skip, bytes);
      case Layout::Kind::repeated:
        return repeated(layout, base, skip, bytes);
      case Layout::Kind::sequence:
        return sequence(layout, base, skip, bytes);
    }
    return true;
  }

 private:
  bool strided(const Layout& layout, Address base, Count skip, Count bytes) {
    const auto address = [&](Count i) { return base + static_cast<Address>(i * layout.stride); };
    return even(layout.bytes, skip, bytes, address, [&](Count first, Count count) {
      return sink_.strided(address(first), count, layout.bytes, layout.stride);
    });
  }

  bool gathered(const Layout& layout, Address base, Count skip, Count bytes) {
    const auto address = [&](Count i) {
      return base + static_cast<Address>(at(layout.offsets, i));
    };
    return even(layout.bytes, skip, bytes, address, [&](Count first, Count count) {
      return sink_.gathered(base, part(layout.offsets, first, count), layout.bytes);
    });
  }

  /// Blocks of BLOCK bytes each: the rest of one, whole ones, the beginning of one.
  template <class AddressOf, class Whole>
  bool even(Count block, Count skip, Count bytes, const AddressOf& address, const Whole& whole) {
    Count first = skip / block;
    if (const Count within = skip % block; within != 0) {
      const Count rest = std::min(block - within, bytes);
      if (!sink_.run(address(first) + static_cast<Address>(within), rest)) return false;
      bytes -= rest;
      ++first;
    }
    const Count count = bytes / block;
    if (count > 0 && !whole(first, count)) return false;
    const Count tail = bytes % block;
    return tail == 0 || sink_.run(address(first + count), tail);
  }

  bool blocks(const Layout& layout, Address base, Count skip, Count bytes) {
    if (bytes == layout.size) return sink_.blocks(base, layout.block_list);
    const auto address = [&](Count i) {
      return base + static_cast<Address>(at(layout.block_list, i).offset);
    };
    Count first = find(layout.starts, skip);
    if (const Count within = skip - at(layout.starts, first); within != 0) {
      const Count rest = std::min(at(layout.block_list, first).bytes - within, bytes);
      if (!sink_.run(address(first) + static_cast<Address>(within), rest)) return false;
      skip += rest;
      bytes -= rest;
      ++first;
    }
    if (bytes == 0) return true;
    const Count end = find(layout.starts, skip + bytes);
    if (!sink_.blocks(base, part(layout.block_list, first, end - first))) return false;
    const Count tail = skip + bytes - at(layout.starts, end);
    return tail == 0 || sink_.run(address(end), tail);
  }

  bool repeated(const Layout& layout, Address base, Count skip, Count bytes) {
    const Layout& child = *layout.child;
    const Address stride = static_cast<Address>(layout.stride);
    base += static_cast<Address>(skip / child.size) * stride;
    if (const Count within = skip % child.size; within != 0) {
      const Count rest = std::min(child.size - within, bytes);
      if (!this->layout(child, base, within, rest)) return false;
      base += stride;
      bytes -= rest;
    }
    if (const Count whole = bytes / child.size; whole > 1 && has_few_blocks(child)) {
      if (!sink_.columns(base, whole, layout.stride, child)) return false;
      base += static_cast<Address>(whole) * stride;
      bytes -= whole * child.size;
    }
    for (; bytes > 0; base += stride) {
      const Count now = std::min(child.size, bytes);
      if (!this->layout(child, base, 0, now)) return false;
      bytes -= now;
    }
    return true;
  }

  bool sequence(const Layout& layout, Address base, Count skip, Count bytes) {
    Count i = find(layout.starts, skip);
    Count within = skip - at(layout.starts, i);
    for (; bytes > 0; ++i) {
      const Layout::Entry& entry = at(layout.entries, i);
      const Count now = std::min(entry.layout->size - within, bytes);
      if (!this->layout(*entry.layout, base + static_cast<Address>(entry.offset), within, now))
        return false;
      within = 0;
      bytes -= now;
    }
    return true;
  }

  template <class T>
  static const T& at(std::span<const T> list, Count i) {
    return list[static_cast<std::size_t>(i)];
  }
  template <class T>
  static std::span<const T> part(std::span<const T> list, Count first, Count count) {
    return list.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  }
  /// The item in which byte SKIP lies; the number of items if SKIP is the end of the stream.
  static Count find(std::span<const Count> starts, Count skip) {
    return std::upper_bound(starts.begin(), starts.end(), skip) - starts.begin() - 1;
  }

  Sink& sink_;
};

template <class Sink>
void walk(const Layout& items, const void* base, Count skip, Count bytes, Sink& sink) {
  Walk<Sink>(sink).layout(items, reinterpret_cast<Address>(base), skip, bytes);
}

}  // namespace

void pack_layout(const Layout& items, const void* base, Count skip, void* out, Count bytes) {
  BlockCopy<Direction::pack> copy(static_cast<std::byte*>(out));
  walk(items, base, skip, bytes, copy);
}

void unpack_layout(const Layout& items, void* base, Count skip, const void* in, Count bytes) {
  // Unpacking only reads the stream.
  BlockCopy<Direction::unpack> copy(static_cast<std::byte*>(const_cast<void*>(in)));
  walk(items, base, skip, bytes, copy);
}

std::size_t list_segments(const Layout& items, void* base, Count skip, std::span<Segment> out,
                          Count* covered) {
  SegmentList list(out);
  walk(items, base, skip, items.size - skip, list);
  *covered = list.covered();
  return list.used();
}

}  // namespace hawser::core
