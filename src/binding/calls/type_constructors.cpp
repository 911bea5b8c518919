#include <vector>

#include "binding/calls/show.hpp"
#include "binding/generated/datatypes.hpp"

namespace hawser::calls {

using core::ArrayOrder;
using core::Datatype;

namespace {

std::vector<Datatype*> all_of(HandleArray<Datatype> types) {
  std::vector<Datatype*> all(static_cast<std::size_t>(types.size()));
  for (Count i = 0; i < types.size(); ++i) all[static_cast<std::size_t>(i)] = types[i];
  return all;
}

Result<ArrayOrder> to_order(int order) {
  if (order == MPI_ORDER_C) return ArrayOrder::c;
  if (order == MPI_ORDER_FORTRAN) return ArrayOrder::fortran;
  return base::Error(base::ErrorClass::arg,
                     "argument 'order' must be MPI_ORDER_C or MPI_ORDER_FORTRAN");
}

}  // namespace

Result<void> type_dup(Runtime&, Datatype& oldtype, HandleOut<Datatype> newtype) {
  Result<Ref<Datatype>> made = core::make_dup(oldtype);
  if (!made.ok()) return made.take_error();
  HAWSER_TRY(oldtype.attributes().copy_to(oldtype, made.value()->attributes()));
  return show(std::move(made), newtype);
}

Result<void> type_contiguous(Runtime&, Count count, Datatype& oldtype, HandleOut<Datatype> newtype,
                             bool large) {
  return show(core::make_contiguous(count, oldtype, large), newtype);
}

Result<void> type_vector(Runtime&, Count count, Count blocklength, Count stride, Datatype& oldtype,
                         HandleOut<Datatype> newtype, bool large) {
  return show(core::make_vector(count, blocklength, stride, oldtype, large), newtype);
}

Result<void> type_create_hvector(Runtime&, Count count, Count blocklength, Count stride,
                                 Datatype& oldtype, HandleOut<Datatype> newtype, bool large) {
  return show(core::make_hvector(count, blocklength, stride, oldtype, large), newtype);
}

Result<void> type_indexed(Runtime&, CountArray array_of_blocklengths,
                          CountArray array_of_displacements, Datatype& oldtype,
                          HandleOut<Datatype> newtype, bool large) {
  return show(core::make_indexed(array_of_blocklengths.to_vector(),
                                 array_of_displacements.to_vector(), oldtype, large),
              newtype);
}

Result<void> type_create_hindexed(Runtime&, CountArray array_of_blocklengths,
                                  CountArray array_of_displacements, Datatype& oldtype,
                                  HandleOut<Datatype> newtype, bool large) {
  return show(core::make_hindexed(array_of_blocklengths.to_vector(),
                                  array_of_displacements.to_vector(), oldtype, large),
              newtype);
}

Result<void> type_create_indexed_block(Runtime&, Count blocklength,
                                       CountArray array_of_displacements, Datatype& oldtype,
                                       HandleOut<Datatype> newtype, bool large) {
  return show(
      core::make_indexed_block(blocklength, array_of_displacements.to_vector(), oldtype, large),
      newtype);
}

Result<void> type_create_hindexed_block(Runtime&, Count blocklength,
                                        CountArray array_of_displacements, Datatype& oldtype,
                                        HandleOut<Datatype> newtype, bool large) {
  return show(
      core::make_hindexed_block(blocklength, array_of_displacements.to_vector(), oldtype, large),
      newtype);
}

Result<void> type_create_struct(Runtime&, CountArray array_of_blocklengths,
                                CountArray array_of_displacements,
                                HandleArray<Datatype> array_of_types, HandleOut<Datatype> newtype,
                                bool large) {
  return show(core::make_struct(array_of_blocklengths.to_vector(),
                                array_of_displacements.to_vector(), all_of(array_of_types), large),
              newtype);
}

Result<void> type_create_subarray(Runtime&, CountArray array_of_sizes, CountArray array_of_subsizes,
                                  CountArray array_of_starts, int order, Datatype& oldtype,
                                  HandleOut<Datatype> newtype, bool large) {
  auto array_order = to_order(order);
  if (!array_order.ok()) return array_order.take_error();
  return show(core::make_subarray(array_of_sizes.to_vector(), array_of_subsizes.to_vector(),
                                  array_of_starts.to_vector(), array_order.value(), oldtype, large),
              newtype);
}

Result<void> type_create_darray(Runtime&, int size, int rank, CountArray array_of_gsizes,
                                std::span<const int> array_of_distribs,
                                std::span<const int> array_of_dargs,
                                std::span<const int> array_of_psizes, int order, Datatype& oldtype,
                                HandleOut<Datatype> newtype, bool large) {
  auto array_order = to_order(order);
  if (!array_order.ok()) return array_order.take_error();
  return show(
      core::make_darray(size, rank, array_of_gsizes.to_vector(), array_of_distribs, array_of_dargs,
                        array_of_psizes, array_order.value(), oldtype, large),
      newtype);
}

Result<void> type_create_resized(Runtime&, Datatype& oldtype, Count lb, Count extent,
                                 HandleOut<Datatype> newtype, bool large) {
  return show(core::make_resized(oldtype, lb, extent, large), newtype);
}

}  // namespace hawser::calls
