// Type: the one implementation of Datatype.
//
// Ownership: see Datatype; the compiled program is shared by the duplicates of a committed type.
// Threads:   see Datatype.
#pragma once

#include <memory>

#include "core/datatype/basic.hpp"
#include "core/datatype/layout.hpp"

namespace hawser::core {

class Type final : public Datatype {
 public:
  /// A predefined type: committed from the start. BASIC must outlive it. A type that the standard
  /// calls unnamed (f90, value_index) has CONTENTS of its own.
  explicit Type(const Basic& basic, Contents contents = {});
  /// A derived type.
  Type(Ref<const Shape> shape, Contents contents);
  /// A duplicate of OLD, committed if OLD is.
  explicit Type(Type& old);

  [[nodiscard]] const Contents& contents() const override { return contents_; }
  void commit() override;
  [[nodiscard]] const Datatype* basic() const override { return basic_; }
  [[nodiscard]] Scalar scalar() const override;
  void pack(const void* base, Count count, Count skip, void* out, Count bytes) const override;
  void unpack(void* base, Count count, Count skip, const void* in, Count bytes) const override;
  std::size_t segments(void* base, Count count, Count skip, std::span<Segment> out,
                       Count* covered) const override;
  [[nodiscard]] Count elements_in(Count bytes) const override;
  [[nodiscard]] Count external32_size(Count count) const override;
  Result<void> pack_external32(const void* base, Count count, void* out) const override;
  Result<void> unpack_external32(void* base, Count count, const void* in) const override;

  [[nodiscard]] const Ref<const Shape>& shape() const { return shape_; }
  [[nodiscard]] const Basic& description() const { return *description_; }
  /// For tests: the layout that commit() made.
  [[nodiscard]] const Layout& layout() const { return program_->root(); }

 private:
  void take_bounds();
  [[nodiscard]] Layout items(Count count) const;

  Contents contents_;
  Ref<const Shape> shape_;
  std::shared_ptr<const Program> program_;  // null until committed
  const Type* basic_ = nullptr;             // itself, or kept alive by contents_
  const Basic* description_ = nullptr;      // of a predefined type
};

/// Every Datatype is a Type.
inline Type& as_type(Datatype& type) { return static_cast<Type&>(type); }
inline const Type& as_type(const Datatype& type) { return static_cast<const Type&>(type); }

}  // namespace hawser::core
