#include <fmt/format.h>

#include "base/assert.hpp"
#include "core/datatype/contents_builder.hpp"
#include "core/datatype/type.hpp"

namespace hawser::core {
namespace {

/// Builds an array type from the fastest-varying dimension outwards. Every dimension selects some
/// indices; the distance between neighbouring indices grows by each full dimension.
class ArrayBuilder {
 public:
  ArrayBuilder(const Datatype& old, Ref<const Shape> shape)
      : shape_(std::move(shape)), stride_(old.extent()) {}

  /// COUNT blocks of BLOCKLENGTH neighbouring indices, from index FIRST on, DISTANCE indices apart,
  /// and then one last block of REST.
  struct Selection {
    Count first = 0;
    Count count = 0;
    Count blocklength = 0;
    Count distance = 0;
    Count rest = 0;
  };

  Result<void> add_dimension(const Selection& chosen, Count dimension_size) {
    Result<Ref<const Shape>> block = repeat_shape(shape_, chosen.blocklength, stride_);
    if (!block.ok()) return block.take_error();
    ShapeBuilder dimension;
    Exact& exact = dimension.exact();
    const Count first = exact.multiply(chosen.first, stride_);
    const Count distance = exact.multiply(chosen.distance, stride_);
    dimension.add(first, chosen.count, distance, *block);
    if (chosen.rest > 0) {
      const Count offset = exact.add(first, exact.multiply(chosen.count, distance));
      dimension.add(offset, chosen.rest, stride_, shape_);
    }
    stride_ = exact.multiply(stride_, dimension_size);
    Result<Ref<const Shape>> shape = dimension.finish();
    if (!shape.ok()) return shape.take_error();
    shape_ = std::move(*shape);
    return {};
  }

  /// The whole array is the extent, whatever part of it was selected.
  Result<Ref<Datatype>> finish(ContentsBuilder& contents) {
    ShapeBuilder array;
    array.add(0, 1, 0, shape_);
    array.resize(0, stride_);
    Result<Ref<const Shape>> shape = array.finish();
    if (!shape.ok()) return shape.take_error();
    return Ref<Datatype>(base::make_ref<Type>(std::move(*shape), contents.take()));
  }

 private:
  Ref<const Shape> shape_;
  Count stride_;
};

/// The i-th fastest of N dimensions.
std::size_t dimension_at(std::size_t i, std::size_t n, ArrayOrder order) {
  return order == ArrayOrder::fortran ? i : n - 1 - i;
}

Result<void> check_order(ArrayOrder order) {
  if (order == ArrayOrder::c || order == ArrayOrder::fortran) return {};
  return Error(ErrorClass::arg,
               fmt::format("order is {}; it must be MPI_ORDER_C or MPI_ORDER_FORTRAN",
                           static_cast<int>(order)));
}

Result<void> check_dimensions(std::size_t dimensions) {
  if (dimensions > 0) return {};
  return Error(ErrorClass::arg, "ndims is 0; it must be positive");
}

Result<void> check_subarray(std::size_t i, Count size, Count subsize, Count start) {
  if (size < 1)
    return Error(ErrorClass::arg,
                 fmt::format("the size of dimension {} is {}; it must be positive", i, size));
  if (subsize < 1 || subsize > size)
    return Error(
        ErrorClass::arg,
        fmt::format("the subsize of dimension {} is {}; it must be in [1,{}]", i, subsize, size));
  if (start < 0 || start > size - subsize)
    return Error(ErrorClass::arg, fmt::format("the start of dimension {} is {}; it must be in "
                                              "[0,{}]",
                                              i, start, size - subsize));
  return {};
}

/// One dimension of a distributed array, as the process at COORDINATE of PROCESSES sees it.
struct Axis {
  std::size_t index;
  Count size;
  Distribution distribution;
  int argument;
  int processes;
  int coordinate;
};

Result<Count> block_size(const Axis& axis, Count by_default) {
  if (axis.argument == default_distribution_argument) return by_default;
  if (axis.argument > 0) return Count{axis.argument};
  return Error(
      ErrorClass::arg,
      fmt::format("the distribution argument of dimension {} is {}; it must be positive or "
                  "MPI_DISTRIBUTE_DFLT_DARG",
                  axis.index, axis.argument));
}

Result<ArrayBuilder::Selection> select_block(const Axis& axis) {
  Result<Count> block = block_size(axis, (axis.size - 1) / axis.processes + 1);
  if (!block.ok()) return block.take_error();
  if (*block < (axis.size - 1) / axis.processes + 1)
    return Error(ErrorClass::arg,
                 fmt::format("blocks of {} on {} processes do not cover the {} elements of "
                             "dimension {}; the distribution argument must be at least {}",
                             *block, axis.processes, axis.size, axis.index,
                             (axis.size - 1) / axis.processes + 1));
  const Count first = *block * axis.coordinate;
  const Count mine = std::clamp<Count>(axis.size - first, 0, *block);
  return ArrayBuilder::Selection{.first = first, .count = 1, .blocklength = mine};
}

Result<ArrayBuilder::Selection> select_cyclic(const Axis& axis) {
  Result<Count> block = block_size(axis, 1);
  if (!block.ok()) return block.take_error();
  const Count first = *block * axis.coordinate;
  const Count round = *block * axis.processes;
  const Count left = std::max<Count>(axis.size - first, 0);
  return ArrayBuilder::Selection{.first = first,
                                 .count = left / round + (left % round >= *block ? 1 : 0),
                                 .blocklength = *block,
                                 .distance = round,
                                 .rest = left % round >= *block ? 0 : left % round};
}

Result<ArrayBuilder::Selection> select(const Axis& axis) {
  if (axis.size < 1)
    return Error(ErrorClass::arg, fmt::format("the size of dimension {} is {}; it must be positive",
                                              axis.index, axis.size));
  switch (axis.distribution) {
    case Distribution::none:
      if (axis.processes == 1)
        return ArrayBuilder::Selection{.first = 0, .count = 1, .blocklength = axis.size};
      return Error(ErrorClass::arg,
                   fmt::format("dimension {} is not distributed (MPI_DISTRIBUTE_NONE), but has {} "
                               "processes; it must have 1",
                               axis.index, axis.processes));
    case Distribution::block:
      return select_block(axis);
    case Distribution::cyclic:
      return select_cyclic(axis);
  }
  return Error(
      ErrorClass::arg,
      fmt::format("the distribution of dimension {} is {}; it must be MPI_DISTRIBUTE_NONE, "
                  "_BLOCK or _CYCLIC",
                  axis.index, static_cast<int>(axis.distribution)));
}

/// The coordinates of RANK in the process grid, which counts in row-major order.
Result<std::vector<int>> coordinates_of(int size, int rank, std::span<const int> process_grid) {
  if (size < 1) return Error(ErrorClass::arg, fmt::format("size is {}; it must be positive", size));
  if (rank < 0 || rank >= size)
    return Error(ErrorClass::arg, fmt::format("rank is {}; it must be in [0,{})", rank, size));
  Count processes = 1;
  for (const int side : process_grid) {
    // The product never passes size, so that it can't overflow.
    if (side < 1 || processes * side > size) {
      processes = 0;
      break;
    }
    processes *= side;
  }
  if (processes != size)
    return Error(ErrorClass::arg,
                 fmt::format("the process grid {} does not have the {} processes of the group",
                             fmt::join(process_grid, "x"), size));
  std::vector<int> coordinates(process_grid.size());
  for (std::size_t i = process_grid.size(); i-- > 0;) {
    coordinates[i] = rank % process_grid[i];
    rank /= process_grid[i];
  }
  return coordinates;
}

}  // namespace

Result<Ref<Datatype>> make_subarray(std::span<const Count> sizes, std::span<const Count> subsizes,
                                    std::span<const Count> starts, ArrayOrder order, Datatype& old,
                                    bool large) {
  const std::size_t dimensions = sizes.size();
  HAWSER_ASSERT(subsizes.size() == dimensions && starts.size() == dimensions);
  HAWSER_TRY(check_dimensions(dimensions));
  HAWSER_TRY(check_order(order));
  ArrayBuilder array(old, as_type(old).shape());
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t d = dimension_at(i, dimensions, order);
    HAWSER_TRY(check_subarray(d, sizes[d], subsizes[d], starts[d]));
    HAWSER_TRY(array.add_dimension({.first = starts[d], .count = 1, .blocklength = subsizes[d]},
                                   sizes[d]));
  }
  ContentsBuilder contents(Combiner::subarray, large);
  contents.integer(static_cast<int>(dimensions)).counts(sizes).counts(subsizes).counts(starts);
  contents.integer(static_cast<int>(order)).type(old);
  return array.finish(contents);
}

Result<Ref<Datatype>> make_darray(int size, int rank, std::span<const Count> gsizes,
                                  std::span<const int> distributions,
                                  std::span<const int> arguments, std::span<const int> process_grid,
                                  ArrayOrder order, Datatype& old, bool large) {
  const std::size_t dimensions = gsizes.size();
  HAWSER_ASSERT(distributions.size() == dimensions && arguments.size() == dimensions &&
                process_grid.size() == dimensions);
  HAWSER_TRY(check_dimensions(dimensions));
  HAWSER_TRY(check_order(order));
  Result<std::vector<int>> coordinates = coordinates_of(size, rank, process_grid);
  if (!coordinates.ok()) return coordinates.take_error();
  ArrayBuilder array(old, as_type(old).shape());
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t d = dimension_at(i, dimensions, order);
    Result<ArrayBuilder::Selection> chosen =
        select({d, gsizes[d], static_cast<Distribution>(distributions[d]), arguments[d],
                process_grid[d], (*coordinates)[d]});
    if (!chosen.ok()) return chosen.take_error();
    HAWSER_TRY(array.add_dimension(*chosen, gsizes[d]));
  }
  ContentsBuilder contents(Combiner::darray, large);
  contents.integer(size).integer(rank).integer(static_cast<int>(dimensions)).counts(gsizes);
  contents.integers(distributions).integers(arguments).integers(process_grid);
  contents.integer(static_cast<int>(order)).type(old);
  return array.finish(contents);
}

}  // namespace hawser::core
