// A ring: bounded, one sender, one receiver, in the receiver's segment. The dedicated channel of a
// peer that earned it: a small frame costs the transfer of one cache line.
//
//   RingHeader | RingLine × line_count | bulk area (bulk_bytes) | long area (long_bytes, or none)
//   | cells (or none)
//
// The long area is for frames of at least long_frame_bytes, and of at least row_frame_bytes_min
// where they follow each other without an answer: those are written past the caches where that is
// quicker (hostmem/row_copy.hpp). It is larger than a core's own cache on purpose: a line that the
// receiver has read long ago is quicker to write again than one that is still in its cache. With it
// come cells (cells.hpp) for all frames that are longer than a line, which are used before the
// areas. Both come into being when there are many such frames.
//
// The sender writes a frame into the next line, or, if it is longer, what its sender calls the head
// there and the payload into the bulk area, and then stores the line's control word with release.
// The receiver polls that one word, and has the head with it. It says how far it is in
// RingHeader::consumed, but only now and then; the sender looks at it only when it has no room.
// Space is freed with the line that uses it: the sender remembers per line where each area was used
// up to.
// Crash safety: a dead sender leaves an uncommitted line, which is never read; a dead receiver a
// ring that stays full.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/cache_line.hpp"
#include "base/prefetch.hpp"
#include "hostmem/row_copy.hpp"
#include "platform/clock.hpp"
#include "transport/shm/cells.hpp"
#include "transport/shm/layout.hpp"
#include "transport/transport.hpp"

namespace hawser::transport::shm {

inline constexpr std::size_t long_frame_bytes = 2048;
/// The shortest that is one where frames follow each other.
inline constexpr std::size_t row_frame_bytes_min = 512;
/// 32 KiB of data and their headers: longer frames bring nothing, and let a receiver wait.
inline constexpr std::size_t long_area_frame_bytes_max = 32768 + 128;

struct RingShape {
  std::uint32_t line_count;  // a power of two
  std::uint32_t bulk_bytes;  // a multiple of the cache line
  std::uint32_t long_bytes;  // likewise; what the long area has once there is one
  std::uint32_t cells = 0;   // that come with the long area

  /// Without the long area and the cells, which follow it.
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(RingHeader) + line_count * sizeof(RingLine) + bulk_bytes;
  }
  [[nodiscard]] std::size_t cells_offset() const { return bytes() + long_bytes; }
  [[nodiscard]] std::size_t whole_bytes() const { return cells_offset() + cells * cell_bytes; }
  /// So that several frames of the largest size fit, and the control word can say its length.
  [[nodiscard]] std::size_t frame_bytes_max() const {
    return std::clamp<std::size_t>(bulk_bytes / 4, line_frame_bytes, ring_frame_bytes_max);
  }
  /// The same where there is a long area: frames are longer there if eight of them fit.
  [[nodiscard]] std::size_t extended_frame_bytes_max() const {
    return std::max(frame_bytes_max(),
                    std::min<std::size_t>(long_bytes / 8, long_area_frame_bytes_max));
  }
};

namespace ring_control {

/// All but the stamp. BYTES: without those of the head, if there is one.
constexpr std::uint64_t make(FrameType type, std::size_t bytes, std::size_t head_bytes = 0,
                             std::size_t phase = 0) {
  return (static_cast<std::uint64_t>(phase / 8) << 60) | (static_cast<std::uint64_t>(type) << 56) |
         (static_cast<std::uint64_t>(head_bytes / 8) << 53) |
         (static_cast<std::uint64_t>(bytes) << 32);
}
constexpr std::uint32_t stamp_of(std::uint64_t position) {
  return static_cast<std::uint32_t>(position + 1);
}
constexpr std::uint32_t stamp(std::uint64_t control) { return static_cast<std::uint32_t>(control); }
constexpr std::size_t bytes(std::uint64_t control) {
  return (control >> 32) & ring_frame_bytes_max;
}
/// In bytes.
constexpr std::size_t head(std::uint64_t control) { return ((control >> 53) & 7) * 8; }
/// It is of type data, and all of it lies in the line.
constexpr bool is_in_line(std::uint64_t control) {
  static_assert(FrameType::data == FrameType{0});
  return (control >> 32) <= line_frame_bytes;
}
constexpr FrameType type(std::uint64_t control) {
  return static_cast<FrameType>((control >> 56) & 0xf);
}
/// In bytes.
constexpr std::size_t phase(std::uint64_t control) { return ((control >> 60) & 7) * 8; }

}  // namespace ring_control

/// An area of a ring as sender and receiver both count it: its positions count up for ever, and
/// both compute alike where the next frame goes.
class RingArea {
 public:
  RingArea(std::byte* memory, std::uint32_t bytes) : memory_(memory), bytes_(bytes) {}

  [[nodiscard]] std::uint64_t tail() const { return tail_; }
  [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
  void set_tail(std::uint64_t tail) { tail_ = tail; }
  [[nodiscard]] std::byte* at(std::uint64_t place) const { return memory_ + place % bytes_; }
  [[nodiscard]] std::byte* at_start() const { return memory_; }
  /// Where a frame of FRAME_BYTES goes: it never wraps, so the rest of a lap that is too short for
  /// it is skipped.
  [[nodiscard]] std::uint64_t place(std::size_t frame_bytes) const {
    const std::uint64_t offset = tail_ % bytes_;
    return offset + frame_bytes <= bytes_ ? tail_ : tail_ + (bytes_ - offset);
  }

 private:
  std::byte* memory_;
  std::uint32_t bytes_;  // 0: there is none
  std::uint64_t tail_ = 0;
};

/// How a sender makes a line its own before what belongs there is written: it stores something to
/// it, or asks for it, which nothing behind it waits for, but which is not enough everywhere.
enum class Claiming : std::uint8_t { by_store, by_asking };

inline Claiming quickest_claiming() {
  return base::prefetch_takes_from_readers() ? Claiming::by_asking : Claiming::by_store;
}

class RingSender {
 public:
  /// CELLS: those of the pair, which outlive this.
  RingSender(std::byte* memory, RingShape shape, Cells& cells,
             Claiming claiming = quickest_claiming())
      : shape_(shape),
        claiming_(claiming),
        header_(reinterpret_cast<RingHeader*>(memory)),
        lines_(reinterpret_cast<RingLine*>(memory + sizeof(RingHeader))),
        bulk_{{memory + shape.bytes() - shape.bulk_bytes, shape.bulk_bytes}},
        long_{{memory + shape.bytes(), 0}},
        ends_(shape.line_count),
        cells_(cells),
        cells_memory_(memory + shape.cells_offset()) {}

  /// From now on there are a long area and its cells.
  void extend() {
    long_.area = RingArea(long_.area.at_start(), shape_.long_bytes);
    cells_.open(Cells::Home::theirs, cells_memory_, shape_.cells);
  }
  [[nodiscard]] bool is_extended() const { return long_.area.bytes() > 0; }

  /// Room for a frame, if there is some. If it is longer than a line, its head lies in one, if it
  /// is of at most head_bytes_max and whole words, and its payload PHASE bytes behind the start of
  /// another; else the payload follows the head.
  FrameRoom reserve(std::size_t head_bytes, std::size_t payload_bytes = 0, std::size_t phase = 0) {
    if (position_ - consumed_ >= shape_.line_count && !refresh()) return {};
    const std::size_t frame_bytes = head_bytes + payload_bytes;
    if (frame_bytes > line_frame_bytes) return reserve_longer(head_bytes, payload_bytes, phase);
    std::byte* const frame = reserve_in_line(frame_bytes);
    return {frame, frame + head_bytes};
  }
  /// The same for one of at most line_frame_bytes, as far as it is known that there is room.
  [[gnu::always_inline]] std::byte* try_reserve_in_line(std::size_t frame_bytes) {
    if (position_ - consumed_ >= shape_.line_count) [[unlikely]]
      return nullptr;
    return reserve_in_line(frame_bytes);
  }
  /// Whether the reserved payload, of row_frame_bytes_min or more, is to be written past the
  /// caches.
  [[nodiscard]] bool is_reserved_past_cache() const { return is_reserved_past_cache_; }
  [[nodiscard]] RoomWanted& room() const { return header_->room; }
  /// What the receiver does not wait for is done last.
  void commit() {
    if (is_named_late_) [[unlikely]]
      name_cell();
    line().control.store(reserved_ | ring_control::stamp_of(position_), std::memory_order_release);
    ends_[position_ & (shape_.line_count - 1)] = reserved_ends_;
    bulk_.area.set_tail(reserved_ends_.in_bulk);
    long_.area.set_tail(reserved_ends_.in_long);
    ++position_;
    ++in_a_row_;
  }
  /// The receiver has sent something: it may be waiting for our next frame.
  void note_answer() {
    is_answer_ = in_a_row_ > 0;
    in_a_row_ = 0;
  }
  /// What it has sent last came after something of ours, and is not one of a row.
  [[nodiscard]] bool is_answered() const { return is_answer_ || in_a_row_ > 0; }
  /// What the receiver says about long messages that cross.
  [[nodiscard]] std::uint32_t one_copy_word() const {
    return header_->one_copy_word.load(std::memory_order_relaxed);
  }
  [[nodiscard]] hostmem::JointWords& joint_words() const { return header_->joint; }
  /// Whether the receiver may have to read in cells of our segment still.
  [[nodiscard]] bool has_own_cells_under_way() {
    if (consumed_ < past_own_cell_) refresh();
    return consumed_ < past_own_cell_;
  }

 private:
  /// Frames since the last answer, from which on they are one of a row: their lines are claimed.
  /// Not where frames and answers alternate: to ask for a line that is not needed yet is in the way
  /// of those that are.
  static constexpr std::uint32_t in_a_row_min = 4;
  /// The longest frame whose lines are claimed: as many as a processor asks for at once.
  static constexpr std::size_t claimed_bytes_max = 5 * cache_line_bytes;

  struct Used {
    RingArea area;
    std::uint64_t head = 0;  // what is before it is free again
  };
  /// Up to where the areas are used.
  struct Ends {
    std::uint64_t in_bulk;
    std::uint64_t in_long;
  };

  /// That of the next frame, or of the one so many after it.
  RingLine& line(std::uint64_t later = 0) {
    return lines_[(position_ + later) & (shape_.line_count - 1)];
  }
  [[nodiscard]] bool is_in_a_row() const { return in_a_row_ >= in_a_row_min; }

  /// Makes a line this core's before what belongs there is written.
  /// Stores become visible in their order, and a processor asks for the lines of the next few ones
  /// only. So a line whose store comes a dozen stores later, as that of the control word after the
  /// frame, is asked for when the lines before it have come; claimed together, they come together
  /// (decision 0032).
  void claim(std::byte* line) const {
    if (claiming_ == Claiming::by_asking) return base::prefetch_for_write(line);
    reinterpret_cast<std::atomic<std::uint64_t>*>(line)->store(0, std::memory_order_relaxed);
  }
  /// Whether the reserved frame, one of a row, claims the lines of the next one as well.
  [[nodiscard]] bool is_for_two() const {
    return is_in_a_row() && position_ % 2 == 0 && position_ + 1 - consumed_ < shape_.line_count;
  }
  /// Those of the reserved frame, one of a row, which has BYTES at ROOM in the bulk area.
  void claim_lines(std::byte* room, std::size_t bytes) {
    claim(line().frame);
    const std::uint64_t rounded = base::round_to_lines(bytes);
    if (!is_for_two() || !is_free_after(room, rounded)) return;
    claim(line(1).frame);
    for (std::uint64_t offset = 0; offset < 2 * rounded; offset += cache_line_bytes)
      claim(room + offset);
  }
  /// Of the reserved frame, whose payload is written past the caches, and the next one.
  void claim_heads() {
    if (!is_for_two()) return;
    claim(line().frame);
    claim(line(1).frame);
  }
  /// Whether there is room for as many bytes in the bulk area behind the reserved BYTES at ROOM.
  [[nodiscard]] bool is_free_after(const std::byte* room, std::uint64_t bytes) const {
    const auto offset = static_cast<std::uint64_t>(room - bulk_.area.at_start());
    return offset + 2 * bytes <= bulk_.area.bytes() &&
           reserved_ends_.in_bulk + bytes - bulk_.head <= bulk_.area.bytes();
  }

  FrameRoom reserve_longer(std::size_t head_bytes, std::size_t payload_bytes, std::size_t phase) {
    const bool is_apart = payload_bytes > 0 && head_bytes <= head_bytes_max && head_bytes % 8 == 0;
    const std::size_t in_line_bytes = is_apart ? head_bytes : 0;
    const std::size_t bytes = head_bytes + payload_bytes - in_line_bytes;
    if (!is_apart) phase = 0;
    reserved_ = ring_control::make(FrameType::data, bytes, in_line_bytes, phase);
    is_named_late_ = false;
    std::byte* const room = reserve_apart(phase + bytes);
    if (room == nullptr) return {};
    if (!is_apart) return {room, room + head_bytes};
    return {line().frame, room + phase};
  }
  [[gnu::always_inline]] std::byte* reserve_in_line(std::size_t frame_bytes) {
    reserved_ = ring_control::make(FrameType::data, frame_bytes);
    is_named_late_ = false;
    if (is_for_two()) claim(line(1).frame);
    return line().frame;
  }
  /// BYTES from the start of a line on: in a cell if we have one, else, if they are many or too
  /// many for the bulk area, in the long area if there is one. But where short frames follow each
  /// other, to claim their lines brings more than a cell does.
  std::byte* reserve_apart(std::size_t bytes) {
    is_reserved_past_cache_ = false;
    if (bytes >= row_frame_bytes_min && bytes < long_frame_bytes && is_in_a_row() && is_extended())
      return reserve_in_row(bytes);
    const bool is_claimed = is_in_a_row() && bytes <= claimed_bytes_max;
    if (!is_claimed && cells_.has_any() && bytes <= cell_room_bytes) return reserve_cell();
    const bool is_for_bulk = bytes < long_frame_bytes && bytes <= shape_.frame_bytes_max();
    if (!is_for_bulk && is_extended()) {
      set_type(FrameType::long_data);
      return reserve_in(long_, &reserved_ends_.in_long, bytes);
    }
    std::byte* const room = reserve_in(bulk_, &reserved_ends_.in_bulk, bytes);
    if (room == nullptr) return nullptr;
    if (is_claimed) claim_lines(room, bytes);
    if (bytes < long_frame_bytes) ask_for_lines(room, bytes);
    return room;
  }
  /// In the long area, whose lines have left the receiver's cache: near that is quicker than the
  /// bulk area by itself, far where it is written past the caches.
  std::byte* reserve_in_row(std::size_t bytes) {
    hostmem::RowCopyChoice& choice = row_copies_[bytes < 2 * row_frame_bytes_min ? 0 : 1];
    if (position_ != past_row_) choice.begin_row();
    set_type(FrameType::long_data);
    std::byte* const room = reserve_in(long_, &reserved_ends_.in_long, bytes);
    if (room == nullptr) return nullptr;
    past_row_ = position_ + 1;
    is_reserved_past_cache_ =
        choice.next(bytes, choice.wants_time() ? platform::monotonic_ns() : 0);
    if (is_reserved_past_cache_) claim_heads();
    return room;
  }
  /// The line says which one.
  std::byte* reserve_cell() {
    set_type(FrameType::cell_data);
    const Cells::Passed cell = cells_.pass(ring_control::bytes(reserved_));
    if (cell.home == Cells::Home::ours) past_own_cell_ = position_ + 1;
    reserved_cell_ = cell.name;
    name_or_ask(ring_control::bytes(reserved_));
    return cell.memory;
  }
  /// While a short frame of BYTES is written, the line has time to come. But until it has come,
  /// what is written behind the name waits: so the cell of a longer one is named with the control
  /// word, and the line only asked for before. That of the longest not even that: the receiver,
  /// which looks at it, takes it back before the frame is there.
  void name_or_ask(std::size_t bytes) {
    is_named_late_ = bytes >= long_frame_bytes;
    if (!is_named_late_) {
      name_cell();
    } else if (bytes < long_cell_frame_bytes) {
      base::prefetch_for_write(&line());
    }
  }
  void name_cell() {
    std::memcpy(line().frame + head_bytes_max, &reserved_cell_, sizeof(reserved_cell_));
  }
  void set_type(FrameType type) { reserved_ |= ring_control::make(type, 0); }
  std::byte* reserve_in(Used& used, std::uint64_t* end, std::size_t bytes) {
    const std::uint64_t start = used.area.place(bytes);
    const std::uint64_t wanted_end = start + base::round_to_lines(bytes);
    if (wanted_end - used.head > used.area.bytes()) {
      refresh();
      if (wanted_end - used.head > used.area.bytes()) return nullptr;
    }
    *end = wanted_end;
    return used.area.at(start);
  }
  /// The receiver's core has the lines of a frame that it read in the last lap: this one asks for
  /// all of them at once, instead of for one after the other as it stores. In longer frames that
  /// would only be in the way of the stores.
  static void ask_for_lines(const std::byte* room, std::size_t bytes) {
    base::ask_for_lines(room, bytes, base::prefetch_for_write);
  }
  /// Looks how far the receiver is; true if a line is free. What it says is bounded by what we
  /// sent.
  [[gnu::noinline]] bool refresh() {
    const std::uint64_t consumed = header_->consumed.load(std::memory_order_acquire);
    if (consumed > consumed_ && consumed <= position_) {
      consumed_ = consumed;
      const Ends& ends = ends_[(consumed - 1) & (shape_.line_count - 1)];
      bulk_.head = ends.in_bulk;
      long_.head = ends.in_long;
    }
    return position_ - consumed_ < shape_.line_count;
  }

  RingShape shape_;
  Claiming claiming_;
  RingHeader* header_;
  RingLine* lines_;
  Used bulk_;
  Used long_;
  std::uint64_t position_ = 0;  // of the next line
  std::uint64_t consumed_ = 0;  // as last seen
  std::uint32_t in_a_row_ = 0;  // frames since the last answer
  bool is_answer_ = false;      // so it was, when it came
  std::uint64_t reserved_ = 0;  // control word of the reserved frame, but its stamp
  CellName reserved_cell_ = 0;  // of cell_data,
  bool is_named_late_ = false;  // which commit() is to name
  Ends reserved_ends_{};        // the areas' tails once the reserved frame is committed
  std::vector<Ends> ends_;      // per line: after its frame
  Cells& cells_;
  std::byte* cells_memory_;
  std::array<hostmem::RowCopyChoice, 2> row_copies_;  // of shorter frames and of longer ones
  std::uint64_t past_row_ = 0;                        // behind the last frame of a row
  bool is_reserved_past_cache_ = false;
  std::uint64_t past_own_cell_ = 0;  // behind the last line with a cell of our segment
};

class RingReceiver {
 public:
  /// CELLS: those of the pair, which outlive this.
  RingReceiver(std::byte* memory, RingShape shape, Cells& cells)
      : shape_(shape),
        header_(reinterpret_cast<RingHeader*>(memory)),
        lines_(reinterpret_cast<RingLine*>(memory + sizeof(RingHeader))),
        bulk_(memory + shape.bytes() - shape.bulk_bytes, shape.bulk_bytes),
        long_(memory + shape.bytes(), 0),
        next_in_bulk_(bulk_.at_start()),
        cells_(cells),
        cells_memory_(memory + shape.cells_offset()) {}
  RingReceiver(const RingReceiver&) = delete;
  RingReceiver& operator=(const RingReceiver&) = delete;

  /// From now on there are a long area and its cells.
  void extend() {
    long_ = RingArea(long_.at_start(), shape_.long_bytes);
    cells_.open(Cells::Home::ours, cells_memory_, shape_.cells);
  }
  [[nodiscard]] bool is_extended() const { return long_.bytes() > 0; }

  [[nodiscard]] bool has_front() const {
    return is_front(front_line().control.load(std::memory_order_acquire));
  }
  /// The next frame, or its head, and then its PAYLOAD, which lies elsewhere; null if there is
  /// none. It is valid until pop(), and nothing changes before. A length that the sender can't have
  /// meant gives an empty frame, not null (the layer above refuses it).
  std::span<const std::byte> front(FrameType* type, std::span<const std::byte>* payload) {
    const RingLine& line = front_line();
    const std::uint64_t control = line.control.load(std::memory_order_acquire);
    if (!is_front(control)) return {};
    if (!ring_control::is_in_line(control)) {
      FrameType apart;  // whose address is known elsewhere: so what TYPE says can be in a register
      const std::span<const std::byte> head = look_apart(&apart, payload, line, control);
      *type = apart;
      return head;
    }
    *type = FrameType::data;
    *payload = {};
    front_area_ = nullptr;
    return {line.frame, ring_control::bytes(control)};
  }
  /// That frame lies in a cell, which is ours from then on.
  [[nodiscard]] bool is_front_in_cell() const { return front_area_ == &in_cell_; }
  /// Asks for the lines where the next frame of the bulk area begins, which else are asked for only
  /// once its control word has come.
  void ask_ahead() const {
    base::prefetch_for_read(next_in_bulk_);
    base::prefetch_for_read(next_in_bulk_ + cache_line_bytes);
  }
  /// Longer frames take longer to be written: to ask ahead would take their lines from the sender.
  static constexpr std::size_t ahead_bytes_max = 2 * cache_line_bytes;
  /// In a round that found nothing: tells the sender how far we are.
  void rest() {
    if (position_ != published_) publish();
  }
  [[nodiscard]] RoomWanted& room() const { return header_->room; }
  /// Tells the sender about long messages that cross.
  void say_one_copy_word(std::uint32_t word) {
    std::atomic<std::uint32_t>& said = header_->one_copy_word;
    if (said.load(std::memory_order_relaxed) != word) said.store(word, std::memory_order_relaxed);
  }
  [[nodiscard]] hostmem::JointWords& joint_words() const { return header_->joint; }
  /// Whether room was published to the sender since the last call.
  bool take_published() {
    if (!has_published_) return false;
    has_published_ = false;
    return true;
  }
  /// Frees the frame that front() has just given.
  void pop() {
    if (front_area_ != nullptr) return pop_apart();
    ++position_;
    if (is_due()) publish();
  }

 private:
  static constexpr std::size_t asked_first_bytes = 1024;

  [[nodiscard]] const RingLine& front_line() const {
    return lines_[position_ & (shape_.line_count - 1)];
  }
  [[nodiscard]] bool is_front(std::uint64_t control) const {
    return ring_control::stamp(control) == static_cast<std::uint32_t>(position_ + 1);
  }
  /// Often enough that a sender never waits for long, rarely enough that the word stays ours.
  [[nodiscard]] bool is_due() const { return position_ >= publish_at_; }
  /// pop() of a frame that is not in its line.
  [[gnu::noinline]] void pop_apart() {
    const bool is_much_used = free_front_area();
    ++position_;
    if (is_due() || is_much_used) publish();
  }
  /// Of the front frame, which is not in its line. Whether the sender is to know how much is free.
  bool free_front_area() {
    if (front_area_ == &in_cell_) {
      cells_.take(front_cell_, front_cell_bytes_);
    } else {
      used_since_publish_ += front_end_ - front_area_->tail();
      front_area_->set_tail(front_end_);
      if (front_area_ == &bulk_) next_in_bulk_ = bulk_.at(front_end_);
    }
    return used_since_publish_ >= shape_.bulk_bytes / 4;
  }
  /// front() of a frame that is not in its LINE alone. TYPE is data if it says where it is.
  [[gnu::noinline]] std::span<const std::byte> look_apart(FrameType* type,
                                                          std::span<const std::byte>* payload,
                                                          const RingLine& line,
                                                          std::uint64_t control) {
    const std::size_t bytes = ring_control::bytes(control);
    const std::size_t phase = ring_control::phase(control);
    *type = ring_control::type(control);
    if (*type < FrameType::long_data) {
      *payload = look_into(bulk_, bytes, phase);
    } else {
      *payload = *type == FrameType::long_data ? look_into(long_, bytes, phase)
                                               : look_into_cell(line, bytes, phase);
      *type = FrameType::data;
    }
    if (payload->empty()) return {line.frame, 0};
    const std::size_t head_bytes = ring_control::head(control);
    if (head_bytes == 0) return std::exchange(*payload, {});
    return {line.frame, head_bytes};
  }
  std::span<const std::byte> look_into_cell(const RingLine& line, std::size_t bytes,
                                            std::size_t phase) {
    std::memcpy(&front_cell_, line.frame + head_bytes_max, sizeof(front_cell_));
    const std::span<const std::byte> frame = cells_.look_into(front_cell_, bytes, phase);
    ask_for_first(frame);
    front_area_ = frame.empty() ? nullptr : &in_cell_;
    front_cell_bytes_ = bytes;
    return frame;
  }
  /// While it is found out where a frame belongs, its first lines come.
  static void ask_for_first(std::span<const std::byte> frame) {
    base::ask_for_lines(frame.data(), std::min(frame.size(), asked_first_bytes),
                        base::prefetch_for_read);
  }
  std::span<const std::byte> look_into(RingArea& area, std::size_t bytes, std::size_t phase) {
    front_area_ = &area;
    front_end_ = area.tail();
    const std::size_t whole_bytes = phase + bytes;
    if (whole_bytes > area.bytes()) return {};
    const std::uint64_t start = area.place(whole_bytes);
    front_end_ = start + base::round_to_lines(whole_bytes);
    return {area.at(start) + phase, bytes};
  }
  [[gnu::noinline]] void publish() {
    header_->consumed.store(position_, std::memory_order_release);
    published_ = position_;
    publish_at_ = position_ + shape_.line_count / 4;
    used_since_publish_ = 0;
    has_published_ = true;
  }

  RingShape shape_;
  RingHeader* header_;
  RingLine* lines_;
  RingArea bulk_;
  RingArea long_;
  RingArea* front_area_ = nullptr;  // where the frame of front() lies, unless in its line,
  std::uint64_t front_end_ = 0;     // and the area's tail after it
  const std::byte* next_in_bulk_;   // where the bulk area's next frame begins if it fits there
  std::uint64_t position_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t publish_at_ = shape_.line_count / 4;
  std::uint64_t used_since_publish_ = 0;  // bytes of the areas
  bool has_published_ = false;
  Cells& cells_;
  std::byte* cells_memory_;
  RingArea in_cell_{nullptr, 0};      // stands for the cells as front_area_
  CellName front_cell_ = 0;           // which one it is then,
  std::size_t front_cell_bytes_ = 0;  // and what is in it
};

}  // namespace hawser::transport::shm
