#include "collective/byte_type.hpp"

#include "base/copy.hpp"

namespace hawser::collective {
namespace {

using base::Count;
using base::Result;

std::byte* at(void* base, Count skip) { return static_cast<std::byte*>(base) + skip; }
const std::byte* at(const void* base, Count skip) {
  return static_cast<const std::byte*>(base) + skip;
}

void copy(void* to, const void* from, Count bytes) {
  base::copy_bytes(to, from, static_cast<std::size_t>(bytes));
}

class ByteType final : public core::Datatype {
 public:
  ByteType() {
    size_ = extent_ = true_extent_ = 1;
    dense_ = committed_ = true;
  }
  const Contents& contents() const override { return contents_; }
  void commit() override {}
  const Datatype* basic() const override { return this; }
  core::Scalar scalar() const override { return core::Scalar::bytes; }
  void pack(const void* base, Count, Count skip, void* out, Count bytes) const override {
    copy(out, at(base, skip), bytes);
  }
  void unpack(void* base, Count, Count skip, const void* in, Count bytes) const override {
    copy(at(base, skip), in, bytes);
  }
  std::size_t segments(void* base, Count count, Count skip, std::span<core::Segment> out,
                       Count* covered) const override {
    *covered = 0;
    if (count <= skip || out.empty()) return 0;
    *covered = count - skip;
    out[0] = {at(base, skip), static_cast<std::size_t>(count - skip)};
    return 1;
  }
  Count elements_in(Count bytes) const override { return bytes; }
  Count external32_size(Count count) const override { return count; }
  Result<void> pack_external32(const void* base, Count count, void* out) const override {
    copy(out, base, count);
    return {};
  }
  Result<void> unpack_external32(void* base, Count count, const void* in) const override {
    copy(base, in, count);
    return {};
  }

 private:
  Contents contents_;
};

}  // namespace

core::Datatype& byte_type() {
  static ByteType& type = *new ByteType;
  return type;
}

}  // namespace hawser::collective
