// Datatype: layouts of data in memory, and the one engine that moves them (MPI-5.0 chapter 5).
//
// The engine serves sends, receives, collectives, RMA and I/O: it walks a committed, optimised
// layout and either packs, unpacks, or lists its contiguous segments, from any byte offset of the
// packed stream on, so that a protocol can stop and go on wherever it likes. No walk allocates.
//
// Ownership: a derived type holds references to the types it was made of.
// Threads:   immutable after commit(), except name and attributes.
// Units:     sizes, extents, offsets and displacements are bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "core/attribute/attribute.hpp"
#include "core/object.hpp"

namespace hawser::core {

using base::Count;

/// MPI_COMBINER_* with the numbers of the standard ABI.
enum class Combiner : int {
  named = 101,
  dup = 102,
  contiguous = 103,
  vector = 104,
  hvector = 105,
  indexed = 106,
  hindexed = 107,
  indexed_block = 108,
  hindexed_block = 109,
  structure = 110,
  subarray = 111,
  darray = 112,
  f90_real = 113,
  f90_complex = 114,
  f90_integer = 115,
  resized = 116,
  value_index = 117,
};

/// What a basic element is made of: decides reductions and the external32 conversion.
enum class Scalar : std::uint8_t {
  bytes,      // MPI_BYTE, MPI_PACKED: uninterpreted
  character,  // MPI_CHAR, MPI_CHARACTER: uninterpreted, but printable
  wide_character,
  boolean,  // C and C++ bool: one byte
  logical,  // Fortran LOGICAL of any size: zero is false
  signed_integer,
  unsigned_integer,
  floating,          // IEEE 754 binary16/32/64/128
  long_double,       // the platform's long double (x87 80 bit in 16 bytes on x86-64)
  complex_floating,  // two floatings
  complex_long_double,
  value_index,  // a (value, index) pair for MINLOC and MAXLOC
};

/// One contiguous piece of a message in the user's memory.
struct Segment {
  std::byte* data;
  std::size_t bytes;
};

class Datatype : public NamedObject {
 public:
  /// Arguments of the constructor call, as MPI_Type_get_contents returns them. `large` tells
  /// whether the type was made by a large-count (_c) call, so that counts stand in `counts`.
  struct Contents {
    Combiner combiner = Combiner::named;
    bool large = false;
    std::vector<int> integers;
    std::vector<Count> addresses;
    std::vector<Count> counts;
    std::vector<Ref<Datatype>> types;
  };

  [[nodiscard]] virtual const Contents& contents() const = 0;
  [[nodiscard]] bool is_named() const { return contents().combiner == Combiner::named; }

  [[nodiscard]] Count size() const { return size_; }
  [[nodiscard]] Count lower_bound() const { return lower_bound_; }
  [[nodiscard]] Count extent() const { return extent_; }
  [[nodiscard]] Count true_lower_bound() const { return true_lower_bound_; }
  [[nodiscard]] Count true_extent() const { return true_extent_; }
  /// Items of this type, laid out one after the other, form one run of size()*count bytes that
  /// begins at the buffer's address + true_lower_bound().
  [[nodiscard]] bool is_dense() const { return dense_; }
  [[nodiscard]] bool is_committed() const { return committed_; }
  /// It belongs to a TypeTable, as long as that lasts; users can't free it.
  [[nodiscard]] bool is_predefined() const { return predefined_; }
  /// Optimises the layout; idempotent.
  virtual void commit() = 0;

  /// The basic type if this is a predefined type, or built of one only through dup; else null.
  [[nodiscard]] virtual const Datatype* basic() const = 0;
  /// Of a predefined type only.
  [[nodiscard]] virtual Scalar scalar() const = 0;

  /// Copies bytes [skip, skip + bytes) of the packed stream of COUNT items at BASE to OUT.
  /// The range must lie in [0, count * size()).
  virtual void pack(const void* base, Count count, Count skip, void* out, Count bytes) const = 0;
  /// The opposite; touches nothing but the items' data.
  virtual void unpack(void* base, Count count, Count skip, const void* in, Count bytes) const = 0;
  /// Writes the contiguous segments of the packed stream of COUNT items at BASE, from byte SKIP on,
  /// to OUT (neighbours merged); returns how many it wrote, and in *covered the bytes they cover.
  virtual std::size_t segments(void* base, Count count, Count skip, std::span<Segment> out,
                               Count* covered) const = 0;

  /// Basic elements in BYTES bytes of the packed stream (MPI_Get_elements), or -1 if BYTES ends
  /// inside of one. A pair type such as MPI_2INT counts as two.
  [[nodiscard]] virtual Count elements_in(Count bytes) const = 0;

  /// external32 (MPI-5.0 §14.5.2): bytes that COUNT items take, and conversion both ways.
  [[nodiscard]] virtual Count external32_size(Count count) const = 0;
  virtual Result<void> pack_external32(const void* base, Count count, void* out) const = 0;
  virtual Result<void> unpack_external32(void* base, Count count, const void* in) const = 0;

  [[nodiscard]] AttributeSet& attributes() { return attributes_; }

 protected:
  Count size_ = 0;
  Count lower_bound_ = 0;
  Count extent_ = 0;
  Count true_lower_bound_ = 0;
  Count true_extent_ = 0;
  bool dense_ = false;
  bool committed_ = false;
  bool predefined_ = false;

 private:
  AttributeSet attributes_;
};

/// Arguments of MPI_Type_create_darray and _subarray: order with the numbers of the ABI.
enum class ArrayOrder : int { c = 0xC, fortran = 0xF };
enum class Distribution : int { none = 16, block = 17, cyclic = 18 };
inline constexpr Count default_distribution_argument = 19;  // MPI_DISTRIBUTE_DFLT_DARG

// Constructors (MPI-5.0 §5.1). Each returns an uncommitted type with reference count one, or
// MPI_ERR_COUNT, MPI_ERR_ARG, MPI_ERR_TYPE with the argument, its value and what would be right;
// sizes and extents that overflow 63 bits are MPI_ERR_VALUE_TOO_LARGE. `large` says where
// MPI_Type_get_contents shows the counts (see Contents).
Result<Ref<Datatype>> make_dup(Datatype& old);  // keeps commit state; attributes: the caller's job
Result<Ref<Datatype>> make_contiguous(Count count, Datatype& old, bool large);
Result<Ref<Datatype>> make_vector(Count count, Count blocklength, Count stride_items, Datatype& old,
                                  bool large);
Result<Ref<Datatype>> make_hvector(Count count, Count blocklength, Count stride_bytes,
                                   Datatype& old, bool large);
Result<Ref<Datatype>> make_indexed(std::span<const Count> blocklengths,
                                   std::span<const Count> displacements_items, Datatype& old,
                                   bool large);
Result<Ref<Datatype>> make_hindexed(std::span<const Count> blocklengths,
                                    std::span<const Count> displacements_bytes, Datatype& old,
                                    bool large);
Result<Ref<Datatype>> make_indexed_block(Count blocklength,
                                         std::span<const Count> displacements_items, Datatype& old,
                                         bool large);
Result<Ref<Datatype>> make_hindexed_block(Count blocklength,
                                          std::span<const Count> displacements_bytes, Datatype& old,
                                          bool large);
Result<Ref<Datatype>> make_struct(std::span<const Count> blocklengths,
                                  std::span<const Count> displacements_bytes,
                                  std::span<Datatype* const> types, bool large);
Result<Ref<Datatype>> make_subarray(std::span<const Count> sizes, std::span<const Count> subsizes,
                                    std::span<const Count> starts, ArrayOrder order, Datatype& old,
                                    bool large);
Result<Ref<Datatype>> make_darray(int size, int rank, std::span<const Count> gsizes,
                                  std::span<const int> distributions,
                                  std::span<const int> arguments, std::span<const int> process_grid,
                                  ArrayOrder order, Datatype& old, bool large);
Result<Ref<Datatype>> make_resized(Datatype& old, Count lower_bound, Count extent, bool large);

/// The predefined types of the ABI: one object each, committed, found by the number of its handle
/// (0x201 … 0x2eb). One table per OS process, or per simulation; it owns the types.
class TypeTable {
 public:
  TypeTable();
  ~TypeTable();
  /// Null if HANDLE is no predefined type (or one that this platform lacks).
  [[nodiscard]] Datatype* find(std::uint32_t handle) const;
  /// All of them, in the order of their handles.
  [[nodiscard]] std::span<Datatype* const> all() const;
  /// MPI_Type_get_value_index: the predefined pair type, or one that this table makes and keeps;
  /// null where the standard has none (value no predefined number, index no integer).
  Result<Datatype*> value_index(Datatype& value, Datatype& index);
  /// MPI_Type_create_f90_*: precision and range in decimal digits or -32766 (undefined); the same
  /// arguments give the same type.
  Result<Datatype*> f90_real(int precision, int range);
  Result<Datatype*> f90_complex(int precision, int range);
  Result<Datatype*> f90_integer(int range);
  /// MPI_Type_match_size: typeclass 192 integer, 193 real, 194 complex.
  Result<Datatype*> match_size(int typeclass, int size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hawser::core
