#include "core/datatype/type.hpp"

#include "base/assert.hpp"
#include "base/copy.hpp"
#include "core/datatype/contents_builder.hpp"
#include "core/datatype/external32.hpp"
#include "core/datatype/walk.hpp"

namespace hawser::core {
namespace {

Ref<const Shape> basic_shape(const Basic& basic) {
  Ref<const Shape> value = base::make_ref<Shape>(basic.value);
  if (!basic.is_pair()) return value;
  ShapeBuilder pair;
  pair.add(0, 1, 0, value);
  pair.add(basic.index_offset(), 1, 0, base::make_ref<Shape>(basic.index));
  pair.pad();
  return std::move(pair.finish()).value();
}

const std::byte* advance(const void* base, Count offset) {
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(base) +
                                            static_cast<std::uintptr_t>(offset));
}

}  // namespace

const Basic& describe(const Datatype& type) { return as_type(*type.basic()).description(); }

Type::Type(const Basic& basic, Contents contents)
    : contents_(std::move(contents)),
      shape_(basic_shape(basic)),
      basic_(this),
      description_(&basic) {
  predefined_ = true;
  if (is_named()) set_name(basic.name);
  take_bounds();
  commit();
}

Type::Type(Ref<const Shape> shape, Contents contents)
    : contents_(std::move(contents)), shape_(std::move(shape)) {
  take_bounds();
}

Type::Type(Type& old)
    : contents_(ContentsBuilder(Combiner::dup, false).type(old).take()),
      shape_(old.shape_),
      program_(old.program_),
      basic_(old.basic_) {
  take_bounds();
  dense_ = old.dense_;
  committed_ = old.committed_;
}

void Type::take_bounds() {
  const Bounds& bounds = shape_->bounds();
  size_ = shape_->size();
  lower_bound_ = bounds.lower;
  extent_ = bounds.extent();
  true_lower_bound_ = bounds.true_lower;
  true_extent_ = bounds.true_upper - bounds.true_lower;
}

void Type::commit() {
  if (committed_) return;
  program_ = std::make_shared<const Program>(*shape_);
  dense_ = size_ == 0 || (layout().kind == Layout::Kind::dense && size_ == extent_);
  committed_ = true;
}

Scalar Type::scalar() const {
  HAWSER_DEBUG_ASSERT(description_ != nullptr);
  return description_->scalar();
}

Layout Type::items(Count count) const { return repeat(layout(), count, extent_); }

void Type::pack(const void* base, Count count, Count skip, void* out, Count bytes) const {
  HAWSER_DEBUG_ASSERT(committed_ && skip >= 0 && bytes >= 0 && skip + bytes <= count * size_);
  if (bytes == 0) return;
  if (dense_) {
    base::copy_bytes(out, advance(base, true_lower_bound_ + skip), static_cast<std::size_t>(bytes));
  } else {
    pack_layout(items(count), base, skip, out, bytes);
  }
}

void Type::unpack(void* base, Count count, Count skip, const void* in, Count bytes) const {
  HAWSER_DEBUG_ASSERT(committed_ && skip >= 0 && bytes >= 0 && skip + bytes <= count * size_);
  if (bytes == 0) return;
  if (dense_) {
    std::byte* memory = const_cast<std::byte*>(advance(base, true_lower_bound_ + skip));
    base::copy_bytes(memory, in, static_cast<std::size_t>(bytes));
  } else {
    unpack_layout(items(count), base, skip, in, bytes);
  }
}

std::size_t Type::segments(void* base, Count count, Count skip, std::span<Segment> out,
                           Count* covered) const {
  HAWSER_DEBUG_ASSERT(committed_ && skip >= 0 && skip <= count * size_);
  return list_segments(items(count), base, skip, out, covered);
}

Count Type::elements_in(Count bytes) const { return shape_->elements_in(bytes); }

Count Type::external32_size(Count count) const { return count * shape_->external32_size(); }

Result<void> Type::pack_external32(const void* base, Count count, void* out) const {
  return encode_external32(*shape_, base, count, out);
}

Result<void> Type::unpack_external32(void* base, Count count, const void* in) const {
  return decode_external32(*shape_, base, count, in);
}

}  // namespace hawser::core
