// Arithmetic on buffers that the algorithms share: parts of a user's buffer, packed blocks, and
// temporaries that look like a user's buffer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "collective/arguments.hpp"
#include "collective/byte_type.hpp"

namespace hawser::collective {

/// BASE plus BYTES. On integers, for BASE may be MPI_BOTTOM and BYTES an address.
inline void* offset(void* base, Count bytes) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(base) +
                                 static_cast<std::uintptr_t>(bytes));
}
inline const void* offset(const void* base, Count bytes) {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(base) +
                                       static_cast<std::uintptr_t>(bytes));
}

/// The address of item INDEX of an array of TYPE at BASE.
inline void* item(void* base, Count index, const Datatype& type) {
  return offset(base, index * type.extent());
}
inline const void* item(const void* base, Count index, const Datatype& type) {
  return offset(base, index * type.extent());
}

/// Items [first, first + count) of BUFFER.
inline Buffer part(const Buffer& buffer, Count first, Count count) {
  return {item(buffer.data, first, *buffer.type), count, buffer.type};
}
inline ConstBuffer part(const ConstBuffer& buffer, Count first, Count count) {
  return {item(buffer.data, first, *buffer.type), count, buffer.type};
}

inline ConstBuffer to_const(const Buffer& buffer) {
  return {buffer.data, buffer.count, buffer.type};
}

inline Buffer byte_buffer(std::byte* data, Count bytes) { return {data, bytes, &byte_type()}; }
inline ConstBuffer const_byte_buffer(const std::byte* data, Count bytes) {
  return {data, bytes, &byte_type()};
}
inline ConstBuffer nothing() { return {nullptr, 0, &byte_type()}; }
inline Buffer nowhere() { return {nullptr, 0, &byte_type()}; }

/// The packed bytes of a user's buffer: the memory itself if the type has no gaps, else a
/// temporary that load() fills and store() writes back.
template <class Executor>
class Packed {
 public:
  Packed(Executor& ex, const Buffer& user)
      : ex_(ex),
        user_(user),
        bytes_(bytes_of(user)),
        direct_(user.type->is_dense()),
        data_(direct_ ? static_cast<std::byte*>(offset(user.data, user.type->true_lower_bound()))
                      : ex.temporary(bytes_)) {}
  void load() {
    if (!direct_) ex_.copy(to_const(user_), byte_buffer(data_, bytes_));
  }
  void store() {
    if (!direct_) ex_.copy(const_byte_buffer(data_, bytes_), user_);
  }
  [[nodiscard]] Count bytes() const { return bytes_; }
  /// Bytes [begin, end), both cut to the buffer's length.
  [[nodiscard]] Buffer range(Count begin, Count end) const {
    begin = std::min(begin, bytes_);
    end = std::min(end, bytes_);
    return byte_buffer(data_ + begin, end - begin);
  }
  [[nodiscard]] ConstBuffer const_range(Count begin, Count end) const {
    return to_const(range(begin, end));
  }

 private:
  Executor& ex_;
  Buffer user_;
  Count bytes_;
  bool direct_;
  std::byte* data_;
};

/// Uninitialised memory for COUNT items of TYPE; returns the address to pass as their buffer, which
/// is aligned as well as a user's would be. Covers all that items span by extent and by data, since
/// a user's reduction may write whole items, gaps included.
template <class Executor>
void* temporary_items(Executor& ex, Count count, const Datatype& type) {
  constexpr Count alignment = alignof(std::max_align_t);
  if (count <= 0) return nullptr;
  const Count last = (count - 1) * type.extent();
  const Count begin =
      std::min(type.lower_bound(), type.true_lower_bound()) + std::min<Count>(last, 0);
  const Count end =
      std::max(type.lower_bound() + type.extent(), type.true_lower_bound() + type.true_extent()) +
      std::max<Count>(last, 0);
  const Count misalignment = ((begin % alignment) + alignment) % alignment;
  std::byte* memory = ex.temporary(std::max<Count>(end - begin, 0) + alignment);
  return offset(memory, misalignment - begin);
}

/// Ranks turned so that the root is number 0.
struct Turned {
  int root;
  int size;
  [[nodiscard]] int number(int rank) const { return (rank - root + size) % size; }
  [[nodiscard]] int rank(int number) const { return (number + root) % size; }
};

}  // namespace hawser::collective
