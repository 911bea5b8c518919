// RandomType: a datatype built from arbitrary bytes, and the same type as a plain list of pieces.
//
// Purpose:   shared by the fuzz target and the property test: check_random_type() compares the
//            engine with the list, which is worked out one element at a time from the definitions.
// Invariant: at most kPiecesMax pieces, within kReachBytes of the buffer's address.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/datatype/datatype.hpp"

namespace hawser::core::testing {

inline constexpr std::size_t kPiecesMax = 2000;
inline constexpr Count kReachBytes = 1 << 18;

/// Decisions, drawn from bytes; zeros when they run out.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> data) : data_(data) {}
  /// In [low, high].
  Count between(Count low, Count high) {
    Count value = 0;
    for (int i = 0; i < 2; ++i) value = value << 8 | next();
    return low + value % (high - low + 1);
  }
  std::vector<Count> list(std::size_t n, Count low, Count high) {
    std::vector<Count> values(n);
    for (Count& value : values) value = between(low, high);
    return values;
  }

 private:
  std::uint8_t next() { return at_ < data_.size() ? data_[at_++] : std::uint8_t{0}; }
  std::span<const std::uint8_t> data_;
  std::size_t at_ = 0;
};

/// A type map, literally.
struct Model {
  struct Piece {
    Count offset;
    Count bytes;
  };
  std::vector<Piece> pieces;
  Count lower = 0;
  Count upper = 0;
  Count alignment = 1;
  bool occupied = false;
  bool resized = false;

  [[nodiscard]] Count extent() const { return upper - lower; }
  [[nodiscard]] Count size() const {
    Count sum = 0;
    for (const Piece& piece : pieces) sum += piece.bytes;
    return sum;
  }

  void place(const Model& child, Count at) {
    if (!child.occupied) return;
    for (const Piece& piece : child.pieces) pieces.push_back({piece.offset + at, piece.bytes});
    alignment = std::max(alignment, child.alignment);
    if (!occupied || (child.resized && !resized)) {
      lower = child.lower + at;
      upper = child.upper + at;
    } else if (child.resized == resized) {
      lower = std::min(lower, child.lower + at);
      upper = std::max(upper, child.upper + at);
    }
    occupied = true;
    resized = resized || child.resized;
  }
  void place_block(const Model& child, Count items, Count at) {
    for (Count i = 0; i < items; ++i) place(child, at + i * child.extent());
  }
  void pad() {
    while (!resized && extent() % alignment != 0) ++upper;
  }
};

struct RandomType {
  Ref<Datatype> type;
  Model model;
};

class TypeBuilder {
 public:
  TypeBuilder(Bytes& bytes, const TypeTable& table) : bytes_(bytes), table_(table) {}

  RandomType build() {
    made_.push_back(predefined());
    const Count steps = bytes_.between(1, 5);
    for (Count i = 0; i < steps; ++i) {
      RandomType next = derive();
      if (next.model.pieces.size() > kPiecesMax || !within_reach(next.model)) break;
      made_.push_back(std::move(next));
    }
    return made_.back();
  }

 private:
  static bool within_reach(const Model& model) {
    const auto near = [](Count at) { return at > -kReachBytes && at < kReachBytes; };
    return near(model.lower) && near(model.upper) && near(model.extent()) &&
           std::all_of(model.pieces.begin(), model.pieces.end(),
                       [&](const Model::Piece& piece) { return near(piece.offset); });
  }

  RandomType predefined() {
    // MPI_BYTE, MPI_SHORT, MPI_FLOAT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX
    constexpr std::uint32_t plain[] = {0x247, 0x208, 0x210, 0x214, 0x216};
    const Count choice = bytes_.between(0, 6);
    Model model{.pieces = {}, .occupied = true};
    std::uint32_t handle = 0;
    if (choice == 5) {
      handle = 0x22c;  // MPI_SHORT_INT
      model.pieces = {{0, 2}, {4, 4}};
      model.alignment = 4;
      model.upper = 8;
    } else if (choice == 6) {
      handle = 0x229;  // MPI_DOUBLE_INT
      model.pieces = {{0, 8}, {8, 4}};
      model.alignment = 8;
      model.upper = 16;
    } else {
      handle = plain[choice];
    }
    Datatype* type = table_.find(handle);
    if (model.pieces.empty()) {
      model.pieces = {{0, type->size()}};
      model.upper = type->size();
      model.alignment = std::min<Count>(type->size(), 8);
    }
    return {Ref<Datatype>::share(type), model};
  }

  const RandomType& any() {
    return made_[static_cast<std::size_t>(bytes_.between(0, std::ssize(made_) - 1))];
  }

  RandomType derive() {
    const RandomType old = made_.back();
    switch (bytes_.between(0, 9)) {
      case 0:
        return contiguous(old);
      case 1:
        return vector(old);
      case 2:
        return hvector(old);
      case 3:
        return indexed(old);
      case 4:
        return hindexed(old);
      case 5:
        return indexed_block(old);
      case 6:
        return structure();
      case 7:
        return subarray(old);
      case 8:
        return resized(old);
      default:
        return {std::move(make_dup(*old.type)).value(), old.model};
    }
  }

  RandomType contiguous(const RandomType& old) {
    const Count count = bytes_.between(0, 20);
    Model model;
    model.place_block(old.model, count, 0);
    return {std::move(make_contiguous(count, *old.type, false)).value(), model};
  }

  RandomType vector(const RandomType& old) {
    const Count count = bytes_.between(0, 40);
    const Count length = bytes_.between(0, 4);
    const Count stride = bytes_.between(-6, 6);
    Model model;
    for (Count i = 0; i < count; ++i)
      model.place_block(old.model, length, i * stride * old.model.extent());
    return {std::move(make_vector(count, length, stride, *old.type, false)).value(), model};
  }

  RandomType hvector(const RandomType& old) {
    const Count count = bytes_.between(0, 40);
    const Count length = bytes_.between(0, 4);
    const Count stride = bytes_.between(-200, 200);
    Model model;
    for (Count i = 0; i < count; ++i) model.place_block(old.model, length, i * stride);
    return {std::move(make_hvector(count, length, stride, *old.type, true)).value(), model};
  }

  RandomType indexed(const RandomType& old) {
    const std::size_t n = static_cast<std::size_t>(bytes_.between(0, 30));
    const std::vector<Count> lengths = bytes_.list(n, 0, 3);
    const std::vector<Count> at = bytes_.list(n, -20, 20);
    Model model;
    for (std::size_t i = 0; i < n; ++i)
      model.place_block(old.model, lengths[i], at[i] * old.model.extent());
    return {std::move(make_indexed(lengths, at, *old.type, false)).value(), model};
  }

  RandomType hindexed(const RandomType& old) {
    const std::size_t n = static_cast<std::size_t>(bytes_.between(0, 30));
    const std::vector<Count> lengths = bytes_.list(n, 0, 3);
    const std::vector<Count> at = bytes_.list(n, -300, 300);
    Model model;
    for (std::size_t i = 0; i < n; ++i) model.place_block(old.model, lengths[i], at[i]);
    return {std::move(make_hindexed(lengths, at, *old.type, false)).value(), model};
  }

  RandomType indexed_block(const RandomType& old) {
    const std::size_t n = static_cast<std::size_t>(bytes_.between(0, 30));
    const Count length = bytes_.between(0, 3);
    const std::vector<Count> at = bytes_.list(n, -20, 20);
    Model model;
    for (const Count item : at) model.place_block(old.model, length, item * old.model.extent());
    return {std::move(make_indexed_block(length, at, *old.type, true)).value(), model};
  }

  RandomType structure() {
    made_.push_back(predefined());
    const std::size_t n = static_cast<std::size_t>(bytes_.between(0, 6));
    const std::vector<Count> lengths = bytes_.list(n, 0, 3);
    const std::vector<Count> at = bytes_.list(n, -100, 400);
    std::vector<Datatype*> types;
    Model model;
    for (std::size_t i = 0; i < n; ++i) {
      const RandomType& member = any();
      types.push_back(member.type.get());
      model.place_block(member.model, lengths[i], at[i]);
    }
    model.pad();
    return {std::move(make_struct(lengths, at, types, false)).value(), model};
  }

  RandomType subarray(const RandomType& old) {
    const bool c_order = bytes_.between(0, 1) == 0;
    const std::vector<Count> sizes = bytes_.list(2, 1, 8);
    const std::vector<Count> subsizes = {bytes_.between(1, sizes[0]), bytes_.between(1, sizes[1])};
    const std::vector<Count> starts = {bytes_.between(0, sizes[0] - subsizes[0]),
                                       bytes_.between(0, sizes[1] - subsizes[1])};
    const std::size_t slow = c_order ? 0 : 1;
    const std::size_t fast = 1 - slow;
    Model model;
    for (Count i = 0; i < subsizes[slow]; ++i)
      for (Count j = 0; j < subsizes[fast]; ++j)
        model.place(old.model,
                    ((starts[slow] + i) * sizes[fast] + starts[fast] + j) * old.model.extent());
    model.lower = 0;
    model.upper = sizes[0] * sizes[1] * old.model.extent();
    model.occupied = model.resized = true;
    const ArrayOrder order = c_order ? ArrayOrder::c : ArrayOrder::fortran;
    return {std::move(make_subarray(sizes, subsizes, starts, order, *old.type, false)).value(),
            model};
  }

  RandomType resized(const RandomType& old) {
    const Count lower = bytes_.between(-100, 100);
    const Count extent = bytes_.between(-50, 300);
    RandomType result{std::move(make_resized(*old.type, lower, extent, false)).value(), old.model};
    result.model.lower = lower;
    result.model.upper = lower + extent;
    result.model.occupied = result.model.resized = true;
    return result;
  }

  Bytes& bytes_;
  const TypeTable& table_;
  std::vector<RandomType> made_;
};

/// Compares everything that moves data with the model; returns what differs, or nothing.
class RandomTypeCheck {
 public:
  RandomTypeCheck(const RandomType& random, Bytes& bytes)
      : type_(*random.type), model_(random.model), bytes_(bytes), count_(bytes.between(1, 4)) {}

  std::string run() {
    if (std::string wrong = bounds(); !wrong.empty()) return wrong;
    type_.commit();
    for (Count i = 0; i < count_; ++i)
      for (const Model::Piece& piece : model_.pieces)
        for (Count k = 0; k < piece.bytes; ++k)
          stream_.push_back(piece.offset + k + i * model_.extent());
    make_canvas();
    for (const auto check : {&RandomTypeCheck::pack, &RandomTypeCheck::unpack,
                             &RandomTypeCheck::segments, &RandomTypeCheck::elements}) {
      if (std::string wrong = (this->*check)(); !wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  std::string bounds() const {
    Count true_lower = 0;
    Count true_upper = 0;
    for (std::size_t i = 0; i < model_.pieces.size(); ++i) {
      const Model::Piece& piece = model_.pieces[i];
      const Count end = piece.offset + piece.bytes;
      true_lower = i == 0 ? piece.offset : std::min(true_lower, piece.offset);
      true_upper = i == 0 ? end : std::max(true_upper, end);
    }
    if (type_.size() != model_.size()) return "size";
    if (type_.lower_bound() != model_.lower) return "lower bound";
    if (type_.extent() != model_.extent()) return "extent";
    if (type_.true_lower_bound() != true_lower) return "true lower bound";
    if (type_.true_extent() != true_upper - true_lower) return "true extent";
    return {};
  }

  /// Memory for all that the stream touches, each byte of its own value as far as a byte goes.
  void make_canvas() {
    Count low = 0;
    Count high = 0;
    for (const Count at : stream_) {
      low = std::min(low, at);
      high = std::max(high, at + 1);
    }
    origin_ = -low;
    canvas_.resize(static_cast<std::size_t>(high - low));
    for (std::size_t i = 0; i < canvas_.size(); ++i)
      canvas_[i] = static_cast<std::byte>(i * 131 + i / 256 * 17);
    expected_.reserve(stream_.size());
    for (const Count at : stream_) expected_.push_back(canvas_[index(at)]);
  }

  [[nodiscard]] std::size_t index(Count at) const { return static_cast<std::size_t>(origin_ + at); }
  [[nodiscard]] Count total() const { return std::ssize(stream_); }
  Count fragment(Count left) { return bytes_.between(1, std::min<Count>(left, 700)); }

  std::string pack() {
    std::vector<std::byte> out(stream_.size());
    type_.pack(canvas_.data() + origin_, count_, 0, out.data(), total());
    if (out != expected_) return "pack at once";
    std::fill(out.begin(), out.end(), std::byte{0});
    for (Count skip = 0; skip < total();) {
      const Count bytes = fragment(total() - skip);
      type_.pack(canvas_.data() + origin_, count_, skip, out.data() + skip, bytes);
      skip += bytes;
    }
    return out == expected_ ? "" : "pack in fragments";
  }

  /// Whether two bytes of the stream lie at one address: MPI forbids to receive into such a type.
  [[nodiscard]] bool overlaps() const {
    std::vector<Count> sorted = stream_;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  }

  std::string unpack() {
    if (overlaps()) return {};
    std::vector<std::byte> data(stream_.size());
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7 + 3);
    std::vector<std::byte> wanted = canvas_;
    for (std::size_t i = 0; i < data.size(); ++i) wanted[index(stream_[i])] = data[i];

    std::vector<std::byte> at_once = canvas_;
    type_.unpack(at_once.data() + origin_, count_, 0, data.data(), total());
    if (at_once != wanted) return "unpack at once";
    std::vector<std::byte> in_fragments = canvas_;
    for (Count skip = 0; skip < total();) {
      const Count bytes = fragment(total() - skip);
      type_.unpack(in_fragments.data() + origin_, count_, skip, data.data() + skip, bytes);
      skip += bytes;
    }
    return in_fragments == wanted ? "" : "unpack in fragments";
  }

  std::string segments() {
    std::vector<Segment> list(static_cast<std::size_t>(bytes_.between(1, 9)));
    for (Count skip = bytes_.between(0, total()); skip < total();) {
      Count covered = 0;
      const std::size_t used =
          type_.segments(canvas_.data() + origin_, count_, skip, list, &covered);
      if (used == 0 || covered == 0) return "segments make no progress";
      Count listed = 0;
      for (std::size_t i = 0; i < used; ++i) {
        if (i > 0 && list[i - 1].data + list[i - 1].bytes == list[i].data)
          return "neighbouring segments";
        for (std::size_t k = 0; k < list[i].bytes; ++k, ++listed)
          if (list[i].data + k !=
              canvas_.data() + index(stream_[static_cast<std::size_t>(skip + listed)]))
            return "segments";
      }
      if (listed != covered) return "bytes covered by segments";
      skip += covered;
    }
    return {};
  }

  std::string elements() {
    Count end = 0;
    Count seen = 0;
    const Count asked = bytes_.between(0, total());
    Count wanted = asked == 0 ? 0 : -1;
    for (Count i = 0; i < count_; ++i)
      for (const Model::Piece& piece : model_.pieces) {
        end += piece.bytes;
        ++seen;
        if (end == asked) wanted = seen;
      }
    return type_.elements_in(asked) == wanted ? "" : "elements";
  }

  Datatype& type_;
  const Model& model_;
  Bytes& bytes_;
  Count count_;
  Count origin_ = 0;
  std::vector<Count> stream_;  // where byte i of the packed stream lies
  std::vector<std::byte> canvas_;
  std::vector<std::byte> expected_;
};

inline std::string check_random_type(std::span<const std::uint8_t> data, const TypeTable& table) {
  Bytes bytes(data);
  const RandomType random = TypeBuilder(bytes, table).build();
  return RandomTypeCheck(random, bytes).run();
}

}  // namespace hawser::core::testing
