#include <fmt/format.h>

#include "base/assert.hpp"
#include "core/datatype/contents_builder.hpp"
#include "core/datatype/type.hpp"

namespace hawser::core {
namespace {

Result<void> check_count(Count count) {
  if (count >= 0) return {};
  return Error(ErrorClass::count, fmt::format("count is {}; it must not be negative", count));
}

Result<void> check_blocklength(Count blocklength) {
  if (blocklength >= 0) return {};
  return Error(ErrorClass::arg,
               fmt::format("blocklength is {}; it must not be negative", blocklength));
}

Result<void> check_blocklengths(std::span<const Count> blocklengths) {
  for (std::size_t i = 0; i < blocklengths.size(); ++i)
    if (blocklengths[i] < 0)
      return Error(ErrorClass::arg, fmt::format("blocklength {} is {}; it must not be negative", i,
                                                blocklengths[i]));
  return {};
}

Result<Ref<Datatype>> finish(ShapeBuilder& builder, ContentsBuilder& contents) {
  Result<Ref<const Shape>> shape = builder.finish();
  if (!shape.ok()) return shape.take_error();
  return Ref<Datatype>(base::make_ref<Type>(std::move(*shape), contents.take()));
}

/// COUNT blocks, STRIDE bytes apart.
Result<Ref<Datatype>> vector_of(Count count, Count blocklength, Count stride, Datatype& old,
                                ContentsBuilder& contents) {
  Result<Ref<const Shape>> block = repeat_shape(as_type(old).shape(), blocklength, old.extent());
  if (!block.ok()) return block.take_error();
  ShapeBuilder builder;
  builder.add(0, count, stride, *block);
  return finish(builder, contents);
}

/// The stride of a vector in bytes. One block, or none, has no stride that could overflow.
Result<Count> stride_bytes_of(Count count, Count stride_items, const Datatype& old) {
  if (count <= 1) return Count{0};
  Exact exact;
  const Count stride = exact.multiply(stride_items, old.extent());
  if (!exact.overflowed()) return stride;
  return Error(ErrorClass::value_too_large,
               fmt::format("a stride of {} items of {} bytes passes 2^63 - 1 bytes", stride_items,
                           old.extent()));
}

/// How displacements are counted: in bytes, or in items of that many bytes.
using Unit = Count;

/// Blocks of OLD; block i has length_of(i) items.
template <class LengthOf>
Result<Ref<Datatype>> blocks_of(const LengthOf& length_of, std::span<const Count> displacements,
                                Unit unit, Datatype& old, ContentsBuilder& contents) {
  const Ref<const Shape>& shape = as_type(old).shape();
  ShapeBuilder builder;
  builder.reserve(displacements.size());
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    const Count length = length_of(i);
    if (length == 0) continue;
    builder.add(builder.exact().multiply(displacements[i], unit), length, old.extent(), shape);
  }
  return finish(builder, contents);
}

}  // namespace

Result<Ref<Datatype>> make_dup(Datatype& old) {
  return Ref<Datatype>(base::make_ref<Type>(as_type(old)));
}

Result<Ref<Datatype>> make_contiguous(Count count, Datatype& old, bool large) {
  HAWSER_TRY(check_count(count));
  ShapeBuilder builder;
  builder.add(0, count, old.extent(), as_type(old).shape());
  ContentsBuilder contents(Combiner::contiguous, large);
  contents.count(count).type(old);
  return finish(builder, contents);
}

Result<Ref<Datatype>> make_vector(Count count, Count blocklength, Count stride_items, Datatype& old,
                                  bool large) {
  HAWSER_TRY(check_count(count));
  HAWSER_TRY(check_blocklength(blocklength));
  Result<Count> stride = stride_bytes_of(count, stride_items, old);
  if (!stride.ok()) return stride.take_error();
  ContentsBuilder contents(Combiner::vector, large);
  contents.count(count).count(blocklength).count(stride_items).type(old);
  return vector_of(count, blocklength, *stride, old, contents);
}

Result<Ref<Datatype>> make_hvector(Count count, Count blocklength, Count stride_bytes,
                                   Datatype& old, bool large) {
  HAWSER_TRY(check_count(count));
  HAWSER_TRY(check_blocklength(blocklength));
  ContentsBuilder contents(Combiner::hvector, large);
  contents.count(count).count(blocklength).address(stride_bytes).type(old);
  return vector_of(count, blocklength, stride_bytes, old, contents);
}

Result<Ref<Datatype>> make_indexed(std::span<const Count> blocklengths,
                                   std::span<const Count> displacements_items, Datatype& old,
                                   bool large) {
  HAWSER_ASSERT(blocklengths.size() == displacements_items.size());
  HAWSER_TRY(check_blocklengths(blocklengths));
  ContentsBuilder contents(Combiner::indexed, large);
  contents.count(std::ssize(blocklengths)).counts(blocklengths).counts(displacements_items);
  contents.type(old);
  return blocks_of([&](std::size_t i) { return blocklengths[i]; }, displacements_items,
                   old.extent(), old, contents);
}

Result<Ref<Datatype>> make_hindexed(std::span<const Count> blocklengths,
                                    std::span<const Count> displacements_bytes, Datatype& old,
                                    bool large) {
  HAWSER_ASSERT(blocklengths.size() == displacements_bytes.size());
  HAWSER_TRY(check_blocklengths(blocklengths));
  ContentsBuilder contents(Combiner::hindexed, large);
  contents.count(std::ssize(blocklengths)).counts(blocklengths).addresses(displacements_bytes);
  contents.type(old);
  return blocks_of([&](std::size_t i) { return blocklengths[i]; }, displacements_bytes, Unit{1},
                   old, contents);
}

Result<Ref<Datatype>> make_indexed_block(Count blocklength,
                                         std::span<const Count> displacements_items, Datatype& old,
                                         bool large) {
  HAWSER_TRY(check_blocklength(blocklength));
  ContentsBuilder contents(Combiner::indexed_block, large);
  contents.count(std::ssize(displacements_items)).count(blocklength).counts(displacements_items);
  contents.type(old);
  return blocks_of([&](std::size_t) { return blocklength; }, displacements_items, old.extent(), old,
                   contents);
}

Result<Ref<Datatype>> make_hindexed_block(Count blocklength,
                                          std::span<const Count> displacements_bytes, Datatype& old,
                                          bool large) {
  HAWSER_TRY(check_blocklength(blocklength));
  ContentsBuilder contents(Combiner::hindexed_block, large);
  contents.count(std::ssize(displacements_bytes)).count(blocklength);
  contents.addresses(displacements_bytes).type(old);
  return blocks_of([&](std::size_t) { return blocklength; }, displacements_bytes, Unit{1}, old,
                   contents);
}

Result<Ref<Datatype>> make_struct(std::span<const Count> blocklengths,
                                  std::span<const Count> displacements_bytes,
                                  std::span<Datatype* const> types, bool large) {
  HAWSER_ASSERT(blocklengths.size() == displacements_bytes.size());
  HAWSER_ASSERT(blocklengths.size() == types.size());
  HAWSER_TRY(check_blocklengths(blocklengths));
  ContentsBuilder contents(Combiner::structure, large);
  contents.count(std::ssize(blocklengths)).counts(blocklengths).addresses(displacements_bytes);
  ShapeBuilder builder;
  builder.reserve(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    contents.type(*types[i]);
    builder.add(displacements_bytes[i], blocklengths[i], types[i]->extent(),
                as_type(*types[i]).shape());
  }
  builder.pad();
  return finish(builder, contents);
}

Result<Ref<Datatype>> make_resized(Datatype& old, Count lower_bound, Count extent, bool large) {
  ShapeBuilder builder;
  builder.add(0, 1, 0, as_type(old).shape());
  builder.resize(lower_bound, extent);
  ContentsBuilder contents(Combiner::resized, large);
  contents.address(lower_bound).address(extent).type(old);
  return finish(builder, contents);
}

}  // namespace hawser::core
