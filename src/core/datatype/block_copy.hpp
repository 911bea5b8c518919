// BlockCopy: the innermost loops, that move blocks between memory and the packed stream.
//
// Purpose: one template per direction; block sizes that are a machine word or a few have a loop of
//          their own, so that a block costs one load and one store.
// Memory is an integer address: a displacement added to a null base (MPI_BOTTOM) is no pointer yet.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/copy.hpp"
#include "core/datatype/every_second.hpp"
#include "core/datatype/layout.hpp"

namespace hawser::core {

using Address = std::uintptr_t;

enum class Direction : std::uint8_t { pack, unpack };

/// A sink of walk(): takes the pieces of a layout in the order of the stream. Never refuses one.
template <Direction direction>
class BlockCopy {
 public:
  explicit BlockCopy(std::byte* stream) : stream_(stream) {}

  bool run(Address memory, Count bytes) {
    move(memory, stream_, static_cast<std::size_t>(bytes));
    stream_ += bytes;
    return true;
  }

  bool strided(Address memory, Count count, Count bytes, Count stride) {
    switch (bytes) {
      case 1:
        return strided_by<1>(memory, count, stride);
      case 2:
        return strided_by<2>(memory, count, stride);
      case 4:
        return strided_by<4>(memory, count, stride);
      case 8:
        return strided_by<8>(memory, count, stride);
      case 16:
        return strided_by<16>(memory, count, stride);
      case 32:
        return strided_by<32>(memory, count, stride);
      case 64:
        return strided_by<64>(memory, count, stride);
      default:
        break;
    }
    for (Count i = 0; i < count; ++i, memory += to_address(stride)) run(memory, bytes);
    return true;
  }

  bool gathered(Address memory, std::span<const Count> offsets, Count bytes) {
    switch (bytes) {
      case 1:
        return gathered_by<1>(memory, offsets);
      case 2:
        return gathered_by<2>(memory, offsets);
      case 4:
        return gathered_by<4>(memory, offsets);
      case 8:
        return gathered_by<8>(memory, offsets);
      case 16:
        return gathered_by<16>(memory, offsets);
      default:
        break;
    }
    for (const Count offset : offsets) run(memory + to_address(offset), bytes);
    return true;
  }

  bool blocks(Address memory, std::span<const Block> list) {
    for (const Block& block : list) run(memory + to_address(block.offset), block.bytes);
    return true;
  }

  /// COUNT copies of a list of a few blocks, STRIDE bytes apart, as an array of structs has them.
  /// Block by block instead of copy by copy: each block is then a loop of one constant size.
  bool columns(Address memory, Count count, Count stride, const Layout& item) {
    // So many that the loops are long, and so few that a batch stays in the cache.
    constexpr Count batch = 128;
    memory += to_address(item.offset);
    for (Count done = 0; done < count; done += batch) {
      const Count now = std::min(batch, count - done);
      std::byte* stream = stream_;
      for_each_block(item, [&](const Block& block) {
        column(memory + to_address(block.offset), stride, stream, item.size, now, block.bytes);
        stream += block.bytes;
      });
      memory += to_address(now * stride);
      stream_ += now * item.size;
    }
    return true;
  }

 private:
  static Address to_address(Count offset) { return static_cast<Address>(offset); }

  static void move(Address address, std::byte* stream, std::size_t bytes) {
    void* memory = reinterpret_cast<void*>(address);
    if constexpr (direction == Direction::pack) {
      base::copy_bytes(stream, memory, bytes);
    } else {
      base::copy_bytes(memory, stream, bytes);
    }
  }

  template <std::size_t bytes>
  bool strided_by(Address memory, Count count, Count stride) {
    if constexpr (bytes <= 8) {
      if (stride == 2 * static_cast<Count>(bytes) && count >= every_second_min) {
        every_second<bytes>(memory, count);
        return true;
      }
    }
    constexpr std::integral_constant<Count, bytes> block;
    column_by<bytes>(memory, stride, stream_, block, count);
    stream_ += count * static_cast<Count>(bytes);
    return true;
  }

  /// Fewer are moved before the call is.
  static constexpr Count every_second_min = 8;

  template <std::size_t bytes>
  void every_second(Address memory, Count count) {
    auto* const elements = reinterpret_cast<std::byte*>(memory);
    if constexpr (direction == Direction::pack) {
      pack_every_second<bytes>(stream_, elements, count);
    } else {
      unpack_every_second<bytes>(elements, stream_, count);
    }
    stream_ += count * static_cast<Count>(bytes);
  }

  /// COUNT blocks of BYTES bytes, regular both in memory and in the stream.
  static void column(Address memory, Count stride, std::byte* stream, Count stream_stride,
                     Count count, Count bytes) {
    switch (bytes) {
      case 1:
        return column_by<1>(memory, stride, stream, stream_stride, count);
      case 2:
        return column_by<2>(memory, stride, stream, stream_stride, count);
      case 4:
        return column_by<4>(memory, stride, stream, stream_stride, count);
      case 8:
        return column_by<8>(memory, stride, stream, stream_stride, count);
      case 12:
        return column_by<12>(memory, stride, stream, stream_stride, count);
      case 16:
        return column_by<16>(memory, stride, stream, stream_stride, count);
      case 24:
        return column_by<24>(memory, stride, stream, stream_stride, count);
      default:
        break;
    }
    for (Count i = 0; i < count; ++i, memory += to_address(stride), stream += stream_stride)
      move(memory, stream, static_cast<std::size_t>(bytes));
  }

  /// The strides are numbers or integral constants.
  template <std::size_t bytes, class Stride, class StreamStride>
  static void column_by(Address memory, Stride stride, std::byte* stream,
                        StreamStride stream_stride, Count count) {
    for (Count i = 0; i < count; ++i) {
      move(memory, stream, bytes);
      memory += to_address(stride);
      stream += stream_stride;
    }
  }

  template <std::size_t bytes>
  bool gathered_by(Address memory, std::span<const Count> offsets) {
    std::byte* stream = stream_;
    for (const Count offset : offsets) {
      move(memory + to_address(offset), stream, bytes);
      stream += bytes;
    }
    stream_ = stream;
    return true;
  }

  std::byte* stream_;
};

}  // namespace hawser::core
