#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "core/datatype/contents_builder.hpp"
#include "core/datatype/f90.hpp"
#include "core/datatype/type.hpp"

namespace hawser::core {
namespace {

enum class TypeClass : int { integer = 192, real = 193, complex = 194 };  // MPI_TYPECLASS_*

/// The pair types with names, and what they are pairs of.
struct NamedPair {
  std::uint32_t value;
  std::uint32_t index;
  std::uint32_t pair;
};
constexpr NamedPair kNamedPairs[] = {
    {0x210, 0x209, 0x228},  // MPI_FLOAT_INT
    {0x214, 0x209, 0x229},  // MPI_DOUBLE_INT
    {0x20a, 0x209, 0x22a},  // MPI_LONG_INT
    {0x209, 0x209, 0x22b},  // MPI_2INT
    {0x208, 0x209, 0x22c},  // MPI_SHORT_INT
    {0x220, 0x209, 0x22d},  // MPI_LONG_DOUBLE_INT
    {0x21a, 0x21a, 0x230},  // MPI_2REAL
    {0x21c, 0x21c, 0x231},  // MPI_2DOUBLE_PRECISION
    {0x219, 0x219, 0x232},  // MPI_2INTEGER
};

bool is_integer(const Datatype& type) {
  return type.scalar() == Scalar::signed_integer || type.scalar() == Scalar::unsigned_integer;
}

bool is_ordered(const Datatype& type) {
  return is_integer(type) || type.scalar() == Scalar::floating ||
         type.scalar() == Scalar::long_double;
}

}  // namespace

struct TypeTable::State {
  using F90Key = std::tuple<Combiner, int, int>;            // combiner, precision, range
  using PairKey = std::pair<std::uint32_t, std::uint32_t>;  // handles of value and index

  std::vector<Ref<Type>> owned;
  std::vector<Datatype*> all;

  // What the table makes later: guarded, since any thread may ask.
  std::mutex mutex;
  std::map<F90Key, Ref<Type>> f90;
  std::map<PairKey, Ref<Type>> pairs;
  std::deque<Basic> pair_descriptions;

  Datatype* find(std::uint32_t handle) const;
  Datatype* find_sized(Scalar scalar, int bytes) const;
  Datatype* f90_type(Combiner combiner, int precision, int range, Scalar scalar, int bytes);
};

Datatype* TypeTable::State::find(std::uint32_t handle) const {
  const std::span<const Basic> basics = predefined_types();
  const auto at = std::ranges::lower_bound(basics, handle, {}, &Basic::handle);
  if (at == basics.end() || at->handle != handle) return nullptr;
  return all[static_cast<std::size_t>(at - basics.begin())];
}

/// The Fortran type whose name carries its size. Those stand last, so that MPI_REAL8 is found and
/// not MPI_DOUBLE_PRECISION.
Datatype* TypeTable::State::find_sized(Scalar scalar, int bytes) const {
  constexpr std::uint32_t first_sized = 0x2c0;
  const auto at = std::ranges::find_if(predefined_types(), [&](const Basic& basic) {
    return basic.handle >= first_sized && basic.value.scalar == scalar &&
           basic.value.bytes == bytes;
  });
  return at == predefined_types().end() ? nullptr : find(at->handle);
}

Datatype* TypeTable::State::f90_type(Combiner combiner, int precision, int range, Scalar scalar,
                                     int bytes) {
  ContentsBuilder contents(combiner, false);
  if (combiner != Combiner::f90_integer) contents.integer(precision);
  contents.integer(range);
  const std::lock_guard lock(mutex);
  Ref<Type>& type = f90[{combiner, precision, range}];
  if (!type) {
    const Basic& basic = describe(*find_sized(scalar, bytes));
    type = base::make_ref<Type>(basic, contents.take());
  }
  return type.get();
}

TypeTable::TypeTable() : state_(std::make_unique<State>()) {
  for (const Basic& basic : predefined_types()) {
    state_->owned.push_back(base::make_ref<Type>(basic));
    state_->all.push_back(state_->owned.back().get());
  }
}

TypeTable::~TypeTable() = default;

Datatype* TypeTable::find(std::uint32_t handle) const { return state_->find(handle); }

std::span<Datatype* const> TypeTable::all() const { return state_->all; }

Result<Datatype*> TypeTable::value_index(Datatype& value, Datatype& index) {
  if (!value.is_named() || !index.is_named()) return nullptr;
  const Basic& value_basic = describe(value);
  const Basic& index_basic = describe(index);
  for (const NamedPair& named : kNamedPairs)
    if (named.value == value_basic.handle && named.index == index_basic.handle)
      return find(named.pair);
  if (!is_ordered(value) || !is_integer(index)) return nullptr;

  const std::lock_guard lock(state_->mutex);
  Ref<Type>& type = state_->pairs[{value_basic.handle, index_basic.handle}];
  if (!type) {
    const Basic& description = state_->pair_descriptions.emplace_back(
        Basic{.value = value_basic.value, .index = index_basic.value});
    ContentsBuilder contents(Combiner::value_index, false);
    contents.type(value).type(index);
    type = base::make_ref<Type>(description, contents.take());
  }
  return type.get();
}

Result<Datatype*> TypeTable::f90_real(int precision, int range) {
  Result<int> bytes = select_real_bytes(precision, range);
  if (!bytes.ok()) return bytes.take_error();
  return state_->f90_type(Combiner::f90_real, precision, range, Scalar::floating, *bytes);
}

Result<Datatype*> TypeTable::f90_complex(int precision, int range) {
  Result<int> bytes = select_real_bytes(precision, range);
  if (!bytes.ok()) return bytes.take_error();
  return state_->f90_type(Combiner::f90_complex, precision, range, Scalar::complex_floating,
                          2 * *bytes);
}

Result<Datatype*> TypeTable::f90_integer(int range) {
  Result<int> bytes = select_integer_bytes(range);
  if (!bytes.ok()) return bytes.take_error();
  return state_->f90_type(Combiner::f90_integer, 0, range, Scalar::signed_integer, *bytes);
}

Result<Datatype*> TypeTable::match_size(int typeclass, int size) {
  const auto sized = [&](Scalar scalar, const char* name) -> Result<Datatype*> {
    if (Datatype* type = state_->find_sized(scalar, size)) return type;
    return Error(ErrorClass::arg, fmt::format("size is {}, but there is no Fortran {} type of that "
                                              "many bytes",
                                              size, name));
  };
  switch (static_cast<TypeClass>(typeclass)) {
    case TypeClass::integer:
      return sized(Scalar::signed_integer, "INTEGER");
    case TypeClass::real:
      return sized(Scalar::floating, "REAL");
    case TypeClass::complex:
      return sized(Scalar::complex_floating, "COMPLEX");
  }
  return Error(ErrorClass::arg,
               fmt::format("typeclass is {}; it must be MPI_TYPECLASS_INTEGER, _REAL or _COMPLEX",
                           typeclass));
}

}  // namespace hawser::core
