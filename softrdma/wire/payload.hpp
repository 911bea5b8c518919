// Payload: the bytes of a packet, at hand or somewhere else, from where they are fetched once it is
// known where they belong.
//
// Ownership: borrows the bytes, or their source. Threads: values.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>

namespace softrdma::wire {

/// Where a payload lies that is not at hand.
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;
  /// Fills PARTS, which together have at most as many bytes as the payload, one after the other
  /// with the first of its bytes. False: it is not there any more, as if the packet had been lost;
  /// the parts hold anything.
  virtual bool read(std::span<const std::span<std::byte>> parts) = 0;
};

class Payload {
 public:
  Payload() = default;
  /// Bytes are a payload.
  template <class Bytes>
    requires std::convertible_to<const Bytes&, std::span<const std::byte>>
  Payload(const Bytes& bytes) : bytes_(bytes), size_(bytes_.size()) {}  // NOLINT: implicit
  Payload(PayloadSource& source, std::size_t size) : source_(&source), size_(size) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Empty if it lies elsewhere.
  [[nodiscard]] std::span<const std::byte> at_hand() const { return bytes_; }
  /// As PayloadSource::read().
  [[nodiscard]] bool read(std::span<const std::span<std::byte>> parts) const {
    if (source_ != nullptr) return source_->read(parts);
    std::span<const std::byte> rest = bytes_;
    for (const std::span<std::byte> part : parts) {
      if (!part.empty()) std::memcpy(part.data(), rest.data(), part.size());
      rest = rest.subspan(part.size());
    }
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  PayloadSource* source_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace softrdma::wire
