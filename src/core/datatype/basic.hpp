// Basic: what a predefined datatype is made of.
//
// Purpose:   the facts about the ABI's types as data: name, language, machine representation. The
//            datatype engine, external32 and the reductions all read this one table.
// Ownership: the table is constant; a pair type that MPI_Type_get_value_index made is described by
//            the TypeTable that keeps it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/datatype/datatype.hpp"

namespace hawser::core {

/// One element of a type map: a value that is reduced and converted as a whole.
struct Element {
  Scalar scalar = Scalar::bytes;
  std::uint8_t bytes = 0;
  std::uint8_t alignment = 1;
  std::uint8_t external32_bytes = 0;
};

/// Which of the standard's groups of types a type belongs to, where the scalar alone can't tell.
enum class Language : std::uint8_t { c, fortran, any };

struct Basic {
  std::uint32_t handle = 0;
  const char* name = "";
  Language language = Language::c;
  Element value;
  Element index;  // bytes == 0 unless this is a (value, index) pair

  [[nodiscard]] constexpr bool is_pair() const { return index.bytes != 0; }
  [[nodiscard]] constexpr Scalar scalar() const {
    return is_pair() ? Scalar::value_index : value.scalar;
  }
  [[nodiscard]] constexpr Count alignment() const {
    return std::max(value.alignment, index.alignment);
  }
  /// A pair is laid out as the C struct {value; index}.
  [[nodiscard]] constexpr Count index_offset() const {
    return round_up(value.bytes, index.alignment);
  }
  [[nodiscard]] constexpr Count extent() const {
    return round_up(index_offset() + index.bytes, alignment());
  }

 private:
  static constexpr Count round_up(Count bytes, Count alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
  }
};

/// All predefined types in the order of their handles.
std::span<const Basic> predefined_types();

/// The description behind TYPE, whose basic() must not be null.
const Basic& describe(const Datatype& type);

}  // namespace hawser::core
