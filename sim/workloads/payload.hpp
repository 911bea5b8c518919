// Payload: memory for one message, contiguous or with holes, filled with bytes that depend on the
// message's number, and compared hole by hole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/ids.hpp"
#include "p2p/backend.hpp"

namespace hawser::sim {

class Payload {
 public:
  static constexpr std::size_t number_bytes = 4;

  /// With HOLES, BYTES are blocks of 4 with 3 free bytes between; BYTES must then be a multiple of
  /// 4.
  Payload(core::Datatype& byte, std::size_t bytes, bool holes) : bytes_(bytes) {
    if (!holes || bytes == 0) {
      type_ = base::Ref<core::Datatype>::share(&byte);
      count_ = static_cast<base::Count>(bytes);
      memory_.assign(bytes, untouched);
      return;
    }
    const auto blocks = static_cast<base::Count>(bytes / 4);
    type_ = *core::make_hvector(blocks, 4, 7, byte, false);
    type_->commit();
    count_ = 1;
    memory_.assign(static_cast<std::size_t>(7 * (blocks - 1) + 4), untouched);
  }

  [[nodiscard]] p2p::Buffer buffer() { return {memory_.data(), count_, type_.get()}; }
  [[nodiscard]] p2p::ConstBuffer const_buffer() const {
    return {memory_.data(), count_, type_.get()};
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  void fill(std::uint32_t number) { write(content(number, bytes_)); }
  /// Whether the first BYTES bytes are those of message NUMBER and all others are untouched.
  [[nodiscard]] bool holds(std::uint32_t number, std::size_t bytes) const {
    Payload wanted = *this;
    wanted.memory_.assign(memory_.size(), untouched);
    wanted.write(content(number, bytes));
    return wanted.memory_ == memory_;
  }
  /// The number of the message that came; of at least number_bytes.
  [[nodiscard]] std::uint32_t number() const {
    std::uint32_t number = 0;
    type_->pack(memory_.data(), count_, 0, &number, number_bytes);
    return number;
  }

 private:
  static constexpr unsigned char untouched = 0x5a;

  static std::vector<unsigned char> content(std::uint32_t number, std::size_t bytes) {
    std::vector<unsigned char> content(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      content[i] = static_cast<unsigned char>(base::mix64((std::uint64_t{number} << 32) + i / 8) >>
                                              (i % 8 * 8));
    if (bytes >= number_bytes) std::memcpy(content.data(), &number, number_bytes);
    return content;
  }
  void write(const std::vector<unsigned char>& content) {
    if (content.empty()) return;
    type_->unpack(memory_.data(), count_, 0, content.data(),
                  static_cast<base::Count>(content.size()));
  }

  std::size_t bytes_;
  base::Count count_ = 0;
  base::Ref<core::Datatype> type_;
  std::vector<unsigned char> memory_;
};

}  // namespace hawser::sim
