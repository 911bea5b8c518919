// Shape: the type map of a datatype as a tree, with its bounds.
//
// Purpose:   what the constructors compute and everything else is derived from: the layout program
//            (layout.hpp), the basic elements, external32. A part repeats a smaller shape at a
//            stride, so that a tree takes memory for what the user wrote down, not for the data.
// Ownership: shared and immutable; a shape holds its children.
// Invariant: parts have data; their order is the order of the packed stream.
#pragma once

#include <vector>

#include "core/datatype/basic.hpp"
#include "core/datatype/exact.hpp"

namespace hawser::core {

struct Bounds {
  Count lower = 0;
  Count upper = 0;
  Count true_lower = 0;
  Count true_upper = 0;
  bool occupied = false;  // any entry at all: data, or the bounds that a resize left
  bool has_data = false;
  bool resized = false;  // lower and upper come from a resize, and win over those of mere data

  [[nodiscard]] Count extent() const { return upper - lower; }
};

class Shape final : public base::RefCounted {
 public:
  /// COUNT copies of SHAPE, the first at OFFSET, STRIDE bytes apart.
  struct Part {
    Count offset;
    Count count;
    Count stride;
    const Shape* shape;
  };

  explicit Shape(const Element& element);

  [[nodiscard]] bool is_element() const { return element_.bytes != 0; }
  [[nodiscard]] const Element& element() const { return element_; }
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] const Bounds& bounds() const { return bounds_; }
  [[nodiscard]] Count size() const { return size_; }
  [[nodiscard]] Count alignment() const { return alignment_; }
  [[nodiscard]] Count external32_size() const { return external32_size_; }
  /// Basic elements in the first BYTES bytes of copies of this shape, or -1 (see Datatype).
  [[nodiscard]] Count elements_in(Count bytes) const;

 private:
  friend class ShapeBuilder;
  Shape() = default;

  Element element_;
  Bounds bounds_;
  Count size_ = 0;
  Count alignment_ = 1;
  Count elements_ = 0;
  Count external32_size_ = 0;
  std::vector<Part> parts_;
  std::vector<Ref<const Shape>> children_;
};

/// Puts parts together, in the order of the packed stream.
class ShapeBuilder {
 public:
  ShapeBuilder();

  /// Nothing if COUNT is 0: such copies are not entries of the type map, so they move no bound.
  void add(Count offset, Count count, Count stride, const Ref<const Shape>& shape);
  void reserve(std::size_t parts) { shape_->parts_.reserve(parts); }
  /// Rounds the extent up to the strictest alignment of an element, as a C compiler pads a struct;
  /// bounds that a resize set stay.
  void pad();
  /// Sets the bounds to [lower, lower + extent), to last through every constructor above.
  void resize(Count lower, Count extent);
  /// MPI_ERR_VALUE_TOO_LARGE if anything so far overflowed.
  Result<Ref<const Shape>> finish();

  /// For the caller's own displacements and strides: overflow there fails finish() as well.
  Exact& exact() { return exact_; }

 private:
  void widen(const Bounds& part, Count low_shift, Count high_shift);

  Ref<Shape> shape_;
  Exact exact_;
};

/// COUNT copies of SHAPE, STRIDE bytes apart.
Result<Ref<const Shape>> repeat_shape(const Ref<const Shape>& shape, Count count, Count stride);

}  // namespace hawser::core
