#include "core/datatype/shape.hpp"

namespace hawser::core {

Shape::Shape(const Element& element)
    : element_(element),
      bounds_{.lower = 0,
              .upper = element.bytes,
              .true_lower = 0,
              .true_upper = element.bytes,
              .occupied = true,
              .has_data = true},
      size_(element.bytes),
      alignment_(element.alignment),
      elements_(1),
      external32_size_(element.external32_bytes) {}

Count Shape::elements_in(Count bytes) const {
  if (size_ == 0) return bytes == 0 ? 0 : -1;
  Count elements = bytes / size_ * elements_;
  Count rest = bytes % size_;
  for (const Part& part : parts_) {
    if (rest == 0) return elements;
    const Count part_bytes = part.count * part.shape->size_;
    if (rest < part_bytes) {
      const Count within = part.shape->elements_in(rest);
      return within < 0 ? -1 : elements + within;
    }
    elements += part.count * part.shape->elements_;
    rest -= part_bytes;
  }
  return rest == 0 ? elements : -1;
}

ShapeBuilder::ShapeBuilder() : shape_(Ref<Shape>::adopt(new Shape())) {}

void ShapeBuilder::add(Count offset, Count count, Count stride, const Ref<const Shape>& part) {
  if (count == 0 || !part->bounds_.occupied) return;
  const Count span = exact_.multiply(count - 1, stride);
  widen(part->bounds_, exact_.add(offset, std::min<Count>(span, 0)),
        exact_.add(offset, std::max<Count>(span, 0)));

  Shape& shape = *shape_;
  shape.size_ = exact_.add(shape.size_, exact_.multiply(count, part->size_));
  shape.elements_ = exact_.add(shape.elements_, exact_.multiply(count, part->elements_));
  shape.external32_size_ =
      exact_.add(shape.external32_size_, exact_.multiply(count, part->external32_size_));
  shape.alignment_ = std::max(shape.alignment_, part->alignment_);
  if (part->size_ == 0) return;
  shape.parts_.push_back({offset, count, stride, part.get()});
  if (shape.children_.empty() || shape.children_.back().get() != part.get())
    shape.children_.push_back(part);
}

void ShapeBuilder::widen(const Bounds& part, Count low_shift, Count high_shift) {
  Bounds& bounds = shape_->bounds_;
  const Count lower = exact_.add(part.lower, low_shift);
  const Count upper = exact_.add(part.upper, high_shift);
  if (!bounds.occupied || (part.resized && !bounds.resized)) {
    bounds.lower = lower;
    bounds.upper = upper;
    bounds.resized = part.resized;
  } else if (part.resized == bounds.resized) {
    bounds.lower = std::min(bounds.lower, lower);
    bounds.upper = std::max(bounds.upper, upper);
  }
  bounds.occupied = true;
  if (!part.has_data) return;
  const Count true_lower = exact_.add(part.true_lower, low_shift);
  const Count true_upper = exact_.add(part.true_upper, high_shift);
  bounds.true_lower = bounds.has_data ? std::min(bounds.true_lower, true_lower) : true_lower;
  bounds.true_upper = bounds.has_data ? std::max(bounds.true_upper, true_upper) : true_upper;
  bounds.has_data = true;
}

void ShapeBuilder::pad() {
  Bounds& bounds = shape_->bounds_;
  if (bounds.resized) return;
  const Count over = exact_.subtract(bounds.upper, bounds.lower) % shape_->alignment_;
  if (over != 0) bounds.upper = exact_.add(bounds.upper, shape_->alignment_ - over);
}

void ShapeBuilder::resize(Count lower, Count extent) {
  Bounds& bounds = shape_->bounds_;
  bounds.lower = lower;
  bounds.upper = exact_.add(lower, extent);
  bounds.occupied = true;
  bounds.resized = true;
}

Result<Ref<const Shape>> ShapeBuilder::finish() {
  const Bounds& bounds = shape_->bounds_;
  exact_.subtract(bounds.upper, bounds.lower);
  exact_.subtract(bounds.true_upper, bounds.true_lower);
  if (exact_.overflowed())
    return Error(ErrorClass::value_too_large,
                 "the size or the bounds of the new type pass 2^63 - 1 bytes; use smaller counts, "
                 "strides or displacements");
  return Ref<const Shape>(std::move(shape_));
}

Result<Ref<const Shape>> repeat_shape(const Ref<const Shape>& shape, Count count, Count stride) {
  ShapeBuilder builder;
  builder.add(0, count, stride, shape);
  return builder.finish();
}

}  // namespace hawser::core
