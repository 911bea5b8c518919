// Datatypes: attributes of a type, and its life. Constructors stand in type_constructors.cpp,
// packing in pack.cpp.
#include "binding/generated/datatypes.hpp"

#include <fmt/format.h>

namespace hawser::calls {

using base::Error;
using base::ErrorClass;
using core::Combiner;
using core::Datatype;

namespace {

/// Made by the library for ever: predefined types, and those that MPI_Type_create_f90_* and
/// MPI_Type_get_value_index hand out.
bool is_permanent(const Datatype& type) {
  switch (type.contents().combiner) {
    case Combiner::named:
    case Combiner::f90_real:
    case Combiner::f90_complex:
    case Combiner::f90_integer:
    case Combiner::value_index:
      return true;
    default:
      return false;
  }
}

Result<void> check_variant(const Datatype::Contents& contents, bool large) {
  if (!contents.large || large) return {};
  return Error(ErrorClass::type,
               "the datatype was made by a large-count call; ask with the _c function");
}

template <class T>
Result<void> copy_out(const std::vector<T>& from, std::span<T> to, const char* argument) {
  if (to.size() < from.size()) {
    return Error(ErrorClass::arg, fmt::format("there is room for {} elements in '{}'; it needs {}",
                                              to.size(), argument, from.size()));
  }
  std::copy(from.begin(), from.end(), to.begin());
  return {};
}

Result<void> show_permanent(Result<Datatype*> type, HandleOut<Datatype> out) {
  if (!type.ok()) return type.take_error();
  out.set(Ref<Datatype>::share(type.value()));
  return {};
}

}  // namespace

Result<void> type_commit(Runtime&, HandleInOut<Datatype> datatype) {
  datatype->commit();
  return {};
}

Result<void> type_free(Runtime&, HandleInOut<Datatype> datatype) {
  if (is_permanent(*datatype)) {
    return Error(ErrorClass::type, "a predefined datatype can't be freed");
  }
  HAWSER_TRY(datatype->attributes().clear(*datatype));
  static_cast<void>(datatype.take());
  return {};
}

Result<void> type_size(Runtime&, Datatype& datatype, CountOut size) {
  size.set(datatype.size());
  return {};
}

Result<void> type_get_extent(Runtime&, Datatype& datatype, CountOut lb, CountOut extent) {
  lb.set(datatype.lower_bound());
  extent.set(datatype.extent());
  return {};
}

Result<void> type_get_true_extent(Runtime&, Datatype& datatype, CountOut true_lb,
                                  CountOut true_extent) {
  true_lb.set(datatype.true_lower_bound());
  true_extent.set(datatype.true_extent());
  return {};
}

Result<void> type_get_name(Runtime&, Datatype* datatype, StringOut type_name, int& resultlen) {
  resultlen = type_name.set(datatype == nullptr ? "MPI_DATATYPE_NULL" : datatype->name());
  return {};
}

Result<void> type_set_name(Runtime&, Datatype& datatype, std::string_view type_name) {
  datatype.set_name(std::string(type_name.substr(0, MPI_MAX_OBJECT_NAME - 1)));
  return {};
}

Result<void> type_get_envelope(Runtime&, Datatype& datatype, CountOut num_integers,
                               CountOut num_addresses, CountOut num_large_counts,
                               CountOut num_datatypes, int& combiner, bool large) {
  const Datatype::Contents& contents = datatype.contents();
  HAWSER_TRY(check_variant(contents, large));
  num_integers.set(static_cast<Count>(contents.integers.size()));
  num_addresses.set(static_cast<Count>(contents.addresses.size()));
  num_large_counts.set(static_cast<Count>(contents.counts.size()));
  num_datatypes.set(static_cast<Count>(contents.types.size()));
  combiner = static_cast<int>(contents.combiner);
  return {};
}

Result<void> type_get_contents(Runtime&, Datatype& datatype, std::span<int> array_of_integers,
                               std::span<MPI_Aint> array_of_addresses,
                               std::span<MPI_Count> array_of_large_counts,
                               HandleOutArray<Datatype> array_of_datatypes, bool large) {
  const Datatype::Contents& contents = datatype.contents();
  if (contents.combiner == Combiner::named) {
    return Error(ErrorClass::type, "a predefined datatype has no contents");
  }
  HAWSER_TRY(check_variant(contents, large));
  HAWSER_TRY(copy_out(contents.integers, array_of_integers, "array_of_integers"));
  HAWSER_TRY(copy_out(contents.addresses, array_of_addresses, "array_of_addresses"));
  HAWSER_TRY(copy_out(contents.counts, array_of_large_counts, "array_of_large_counts"));
  const auto types = static_cast<Count>(contents.types.size());
  if (array_of_datatypes.size() < types) {
    return Error(ErrorClass::arg,
                 fmt::format("there is room for {} elements in 'array_of_datatypes'; it needs {}",
                             array_of_datatypes.size(), types));
  }
  for (Count i = 0; i < types; ++i) {
    array_of_datatypes.set(i, contents.types[static_cast<std::size_t>(i)]);
  }
  return {};
}

Result<void> type_create_f90_real(Runtime& runtime, int p, int r, HandleOut<Datatype> newtype) {
  return show_permanent(runtime.types().f90_real(p, r), newtype);
}

Result<void> type_create_f90_complex(Runtime& runtime, int p, int r, HandleOut<Datatype> newtype) {
  return show_permanent(runtime.types().f90_complex(p, r), newtype);
}

Result<void> type_create_f90_integer(Runtime& runtime, int r, HandleOut<Datatype> newtype) {
  return show_permanent(runtime.types().f90_integer(r), newtype);
}

Result<void> type_match_size(Runtime& runtime, int typeclass, int size,
                             HandleOut<Datatype> datatype) {
  return show_permanent(runtime.types().match_size(typeclass, size), datatype);
}

Result<void> type_get_value_index(Runtime& runtime, Datatype& value_type, Datatype& index_type,
                                  HandleOut<Datatype> pair_type) {
  return show_permanent(runtime.types().value_index(value_type, index_type), pair_type);
}

Result<void> get_address(Runtime&, const void* location, MPI_Aint& address) {
  address = reinterpret_cast<MPI_Aint>(location);
  return {};
}

// Addresses wrap around like pointers.
MPI_Aint aint_add(MPI_Aint base, Count disp) {
  return static_cast<MPI_Aint>(static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(disp));
}

MPI_Aint aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return static_cast<MPI_Aint>(static_cast<std::uint64_t>(addr1) -
                               static_cast<std::uint64_t>(addr2));
}

}  // namespace hawser::calls
