// Board: memory in which a fixed set of local processes, the members, meet step by step: each shows
// the others what it has, and sees what they show. Collectives of one host are made of such steps.
//
//   0              +----------------------------------+
//                  | BoardHeader                      |  constant, but for who waits for a place
//                  +----------------------------------+
//                  | StepCount × steps_kept           |  who has arrived, counted
//                  +----------------------------------+
//                  | CoreTurns::Core × cores_max      |  on which cores
//                  +----------------------------------+
//                  | Cell × steps_kept × (members + 1)|  a step's cells stand side by side; the
//                  |                                  |  last is the result
//                  +----------------------------------+
//                  | Progress × members               |  how far each has come
//                  +----------------------------------+
//                  | Collector × members              |  for whom each waits that collects
//                  +----------------------------------+
//                  | middle area × (members + 1)      |  what is longer than a cell's payload:
//                  |  each middle_steps × middle_bytes|  the last is the results'
//                  +----------------------------------+ bulk_offset (page aligned)
//                  | bulk area × (members + 1)        |  what is longer still; likewise
//                  |   each bulk_steps × bulk_bytes   |
//                  +----------------------------------+ exchange_offset (page aligned)
//                  | exchange_bytes × 2               |  of two members (or none)
//                  +----------------------------------+ earned_offset (page aligned)
//                  | block area × members             |  what is shown one way and would go into
//                  |  each block_steps × block_bytes  |  the bulk area, once this area exists;
//                  |                                  |  until then address space only
//                  +----------------------------------+ long_offset (page aligned)
//                  | long area × (members + 1)        |  what is longer than that, once the area
//                  |   each long_steps × long_bytes   |  exists; likewise
//                  +----------------------------------+ bytes
//
// Step:      begin() gives the member the next step's number and the place for its data; arrive()
//            makes them visible. Each member takes every step, in the same order.
// Arrival:   of one member: its cell bears the step's number. Of all: their cells do, or, on a
//            counted board, the step's count is full. A count costs each member one atomic addition
//            and saves it from looking at every cell, and it tells the last one that it is the
//            last: good where ranks outnumber cores.
// Showing:   in a step in which one member alone shows something, and nobody waits for another,
//            that one show()s, and the others listen(): they do not arrive, but note their
//            progress, which costs a store to a line of their own, that others read seldom.
// Collecting: in a step in which one member alone waits, the others tell() it what they show, and
//            need not be counted: it looks at each of them anyway, one after the other. On a
//            counted board it says for whom it waits, so that this one alone wakes it.
// Reuse:     who has come to a step is done with all earlier ones. So a place of step s may be
//            written again once all have come to step s + 1, as their progress says, and begin()
//            must wait for that (may_begin()); steps_kept, middle_steps, bulk_steps, block_steps
//            and long_steps say how far members may run ahead: where ranks share cores, as many
//            calls then cost one turn of the scheduler.
// One way:   in steps in which nobody waits for all, members do run ahead. There many places are
//            better than few, which would stay in a cache; but for steps of all with all.
// Forward:   in a step in which each waits for those before it, as in a scan, nobody is counted
//            either: the first ones may run ahead.
// Exchange:  a step in which both of two members show something, and wait for each other. Each
//            writes where it read in the last exchange: nobody but it may be reading there, it need
//            not wait for a place, and a cache line that both use crosses once a step, not twice.
// Result:    what the one member that the others wait for has made of a step's data.
// Ordering:  a cell's number is stored with release after its data, and loaded with acquire. All
//            additions to a count form one release sequence.
// Waking:    who makes visible what others may wait for wakes those who sleep (wake.hpp); which
//            arrivals that are, the user of the board knows. That somebody who is not counted has
//            come to a step concerns only who waits for a place (PlaceWait), if anybody: one looks
//            for those seldom where places are many, but always before one waits oneself, or
//            arrives at a step and does not wait (make_known()).
// Crash safety: no lock. A member that ends never arrives, and the others wait for it in vain, as
//            for a message; it leaves nothing behind, for the memory has no name.
// Trust:     members are processes of one user and one job. Numbers from the memory never become
//            addresses; lengths are the reader's own.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/cache_line.hpp"
#include "base/prefetch.hpp"
#include "hostmem/core_turns.hpp"
#include "hostmem/wake.hpp"
#include "platform/file.hpp"
#include "platform/thread.hpp"

namespace hawser::hostmem {

inline constexpr std::uint32_t steps_kept = 64;
inline constexpr std::uint32_t middle_steps = 32;
inline constexpr std::uint32_t bulk_steps = 4;
inline constexpr std::uint32_t block_steps = 32;
inline constexpr std::uint32_t long_steps = 2;
inline constexpr std::size_t middle_bytes = 1024;
inline constexpr std::uint64_t board_magic = 0x3644524f42535748ULL;  // "HWSBORD6"

struct BoardShape {
  std::uint32_t members = 1;
  std::uint32_t bulk_bytes = 4096;  // of one member in one step; whole pages
  bool counted = false;
  std::uint32_t long_bytes = 0;      // likewise, in the long area
  std::uint32_t exchange_bytes = 0;  // likewise, in the exchange area; 0 unless of two members
  std::uint32_t block_bytes = 0;     // likewise, in the block area; less than bulk_bytes

  static constexpr std::size_t core_turns_offset();
  static constexpr std::size_t cells_offset();
  [[nodiscard]] std::size_t progress_offset() const;
  [[nodiscard]] std::size_t collectors_offset() const;
  [[nodiscard]] std::size_t middle_offset() const;
  [[nodiscard]] std::size_t bulk_offset() const;
  [[nodiscard]] std::size_t exchange_offset() const {
    return bulk_offset() + std::size_t{members + 1} * bulk_steps * bulk_bytes;
  }
  /// What a board takes from the start, without the areas that it gets later.
  [[nodiscard]] std::size_t earned_offset() const {
    return exchange_offset() + 2 * std::size_t{exchange_bytes};
  }
  [[nodiscard]] std::size_t long_offset() const;
  [[nodiscard]] std::size_t bytes() const {
    return long_offset() + std::size_t{members + 1} * long_steps * long_bytes;
  }
};

struct BoardHeader {
  std::uint64_t magic;
  std::uint32_t members;
  std::uint32_t bulk_bytes;
  std::uint32_t counted;
  std::uint32_t long_bytes;
  std::uint32_t exchange_bytes;
  std::uint32_t block_bytes;
  /// Members that wait until they may begin; one too many for each that has died while it did.
  alignas(base::cache_line_bytes) std::atomic<std::uint32_t> place_waiters;
};
static_assert(sizeof(BoardHeader) == 128);

struct alignas(base::cache_line_bytes) StepCount {
  std::atomic<std::uint64_t> arrivals;  // of all steps that used this place so far
};

/// The latest step to which a member has come.
struct alignas(base::cache_line_bytes) Progress {
  std::atomic<std::uint64_t> step;
};

/// Of the member that is waited for by a member that collects: its number + 1; 0: none.
struct alignas(base::cache_line_bytes) Collector {
  std::atomic<std::uint32_t> awaited;
};

/// Two cache lines, which processors like to fetch together.
struct alignas(128) Cell {
  std::atomic<std::uint64_t> step;
  std::uint64_t bytes;  // of the data, wherever it lies
  std::byte payload[112];
};
static_assert(sizeof(Cell) == 128);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::size_t cell_payload_bytes = sizeof(Cell::payload);

constexpr std::size_t BoardShape::core_turns_offset() {
  return sizeof(BoardHeader) + steps_kept * sizeof(StepCount);
}
constexpr std::size_t BoardShape::cells_offset() {
  return core_turns_offset() + CoreTurns::cores_max * sizeof(CoreTurns::Core);
}
inline std::size_t BoardShape::progress_offset() const {
  return cells_offset() + std::size_t{steps_kept} * (members + 1) * sizeof(Cell);
}
inline std::size_t BoardShape::collectors_offset() const {
  return progress_offset() + members * sizeof(Progress);
}
inline std::size_t BoardShape::middle_offset() const {
  return collectors_offset() + members * sizeof(Collector);
}
inline std::size_t BoardShape::bulk_offset() const {
  return platform::round_to_pages(middle_offset() +
                                  std::size_t{members + 1} * middle_steps * middle_bytes);
}
/// Places in the block area begin in the middle of a page: one of 4 KiB that fills a page is
/// written and read in 0.4 us on a Xeon, one that lies in two of them in 0.3.
inline std::size_t block_shift() { return platform::page_bytes() / 2; }
inline std::size_t BoardShape::long_offset() const {
  if (block_bytes == 0) return earned_offset();
  return earned_offset() +
         platform::round_to_pages(block_shift() + std::size_t{members} * block_steps * block_bytes);
}

class Board {
 public:
  /// Zeroed MEMORY of SHAPE.earned_offset() bytes, in SHAPE.bytes() of address space, becomes a
  /// board.
  static void initialize(std::byte* memory, const BoardShape& shape);
  /// Whether MEMORY is a board of SHAPE.
  static bool is_valid(const std::byte* memory, const BoardShape& shape);

  /// WORDS: the members' wake words. ME: which member this process is.
  Board(std::byte* memory, const BoardShape& shape, std::uint32_t me, std::vector<WakeWord*> words,
        Waker waker);

  [[nodiscard]] const BoardShape& shape() const { return shape_; }
  [[nodiscard]] std::uint64_t step() const { return step_; }
  /// About what others move before they come to the present step, or are done with it.
  [[nodiscard]] std::size_t bytes_at_work() const { return std::max(bytes_, earlier_bytes_); }

  /// Whether the steps to come, of which nobody waits for all, have their places in the block area,
  /// which must exist. All members say so alike, before they begin.
  void use_block_area(bool uses) { block_bytes_max_ = uses ? shape_.block_bytes : 0; }
  /// Whether the next step may be begun with BYTES of data, as far as this member knows.
  [[nodiscard]] bool knows_place(std::size_t bytes) const {
    const std::uint32_t kept = steps_kept_of(bytes);
    return step_ + 1 <= kept || step_ + 2 - kept <= all_came_to_;
  }
  /// The same; it looks how far the others have come.
  bool may_begin(std::size_t bytes) {
    return knows_place(bytes) || have_all_come_to(step_ + 2 - steps_kept_of(bytes));
  }
  /// Whether this member has looked only a few steps ago: some member is as far behind as may be,
  /// and each look takes a line from it that it writes in every step. Who lets it come a little
  /// further first finds several places at once.
  [[nodiscard]] bool has_just_looked(std::size_t bytes) const {
    return !shape_.counted && step_ < looked_at_ + steps_kept_of(bytes) / 4;
  }
  /// Begins it: where this member's data goes, aligned to 16 bytes; at most bulk_bytes, or
  /// long_bytes once all members know that the long area exists.
  std::byte* begin(std::size_t bytes) {
    ++step_;
    earlier_bytes_ = std::exchange(bytes_, bytes);
    return place(me_, bytes);
  }
  /// Whether the step after this one may be an exchange of BYTES, if both make it one.
  [[nodiscard]] bool is_exchange(std::size_t bytes) const {
    return bytes > cell_payload_bytes && bytes <= shape_.exchange_bytes;
  }
  /// Begins it, if may_begin(0): where this member's data goes, aligned to a page.
  std::byte* begin_exchange(std::size_t bytes) {
    exchange_step_ = step_ + 1;
    ++exchanges_;
    return begin(bytes);
  }
  /// This member's data is written. True if all others have arrived before (counted boards only).
  bool arrive() {
    publish_own();
    return shape_.counted && count_arrival();
  }

  // A step in which one member shows something, and all know which one.
  /// That member's, after begin(), when its data is written.
  void show() { publish_own(); }
  /// Another's, which is done with earlier steps: the step begins, and it waits for the one.
  void listen() {
    ++step_;
    note_progress();
    owes_wake_ = true;
  }
  /// Once the one has arrived, and shows BYTES. True if the others are to be woken now.
  bool note_heard(std::size_t bytes) {
    earlier_bytes_ = std::exchange(bytes_, bytes);
    return is_to_wake_now();
  }

  // A step in which one member alone waits for all others; all know which one.
  /// Another's, after begin(), when its data is written. Wakes whom it concerns.
  void tell(std::uint32_t one) {
    publish_own();
    if (is_awaited_by(one)) waker_.wake(*words_[one < me_ ? one : one - 1]);
    if (is_to_wake_now()) wake_others();
  }
  /// That one's, after begin(): the others show as many BYTES. True if it is to wake them now. Then
  /// it waits for each (has_arrived()), as an Awaiting where it has to.
  bool collect(std::size_t bytes) {
    bytes_ = std::max(bytes_, bytes);
    note_progress();
    return is_to_wake_now();
  }
  /// And then.
  void note_collected() { all_came_to_ = step_; }
  /// For as long as this member, which collects, waits for MEMBER.
  class Awaiting {
   public:
    Awaiting(const Board& board, std::uint32_t member)
        : awaited_(board.shape_.counted ? &board.collectors_[board.me_].awaited : nullptr) {
      if (awaited_ != nullptr) awaited_->store(member + 1, std::memory_order_seq_cst);
    }
    ~Awaiting() {
      if (awaited_ != nullptr) awaited_->store(0, std::memory_order_relaxed);
    }
    Awaiting(const Awaiting&) = delete;
    Awaiting& operator=(const Awaiting&) = delete;

   private:
    std::atomic<std::uint32_t>* const awaited_;
  };

  // A step in which each member waits for all before it.
  /// This member's, after begin(), when its data is written. Wakes those behind it.
  void show_forward() {
    publish_own();
    waker_.wake_all(std::span(words_).subspan(me_));
    if (is_to_wake_now()) wake_others();
  }

  /// Before this member waits for long, and once it has arrived at a step in which it does not
  /// wait: wakes those who may wait for it to have come as far as it has.
  void make_known() {
    if (owes_wake_ && is_place_wanted()) wake_others();
    owes_wake_ = false;
  }
  /// For as long as this member waits for may_begin().
  class PlaceWait {
   public:
    explicit PlaceWait(const Board& board) : waiters_(board.header_->place_waiters) {
      waiters_.fetch_add(1, std::memory_order_seq_cst);
    }
    ~PlaceWait() { waiters_.fetch_sub(1, std::memory_order_relaxed); }
    PlaceWait(const PlaceWait&) = delete;
    PlaceWait& operator=(const PlaceWait&) = delete;

   private:
    std::atomic<std::uint32_t>& waiters_;
  };

  /// Whether MEMBER has arrived at the present step.
  [[nodiscard]] bool has_arrived(std::uint32_t member) const {
    return cell(step_, member).step.load(std::memory_order_acquire) >= step_;
  }
  /// MEMBER had arrived when this one came, so it may be steps ahead: asks for the cell of a later
  /// one, as if it were of BYTES too, so that several are on their way at a time.
  void ask_ahead(std::uint32_t member, std::size_t bytes) const {
    ask_for_lines(cell(step_ + steps_read_ahead, member), bytes, base::prefetch_for_read);
  }
  /// Once this member has arrived.
  [[nodiscard]] bool have_all_arrived() {
    if (step_ <= all_came_to_) return true;
    const bool all =
        shape_.counted
            ? counts_[step_ % steps_kept].arrivals.load(std::memory_order_acquire) >= full_count_
            : find_all();
    if (all) all_came_to_ = step_;
    return all;
  }

  /// Once this member has arrived at a counted step, and others have not: whether none of those
  /// seem to wait for its core.
  [[nodiscard]] bool is_core_done() const {
    return core_turns_.seem_complete(step_, platform::current_core());
  }

  /// How many bytes MEMBER, who has arrived, says that it shows.
  [[nodiscard]] std::size_t bytes_of(std::uint32_t member) const {
    return cell(step_, member).bytes;
  }
  /// Where MEMBER's data of the present step lies, if it is of BYTES.
  [[nodiscard]] std::byte* place(std::uint32_t member, std::size_t bytes) const {
    if (step_ == exchange_step_ && bytes > cell_payload_bytes)
      return exchange_ + (member + exchanges_) % 2 * std::size_t{shape_.exchange_bytes};
    return place_in(step_, member, bytes);
  }
  /// The same of the step before, which was no exchange; until this member arrives.
  [[nodiscard]] std::byte* earlier_place(std::uint32_t member, std::size_t bytes) const {
    return place_in(step_ - 1, member, bytes);
  }
  /// The place of the present step's result; the same rules.
  [[nodiscard]] std::byte* result(std::size_t bytes) const { return place(shape_.members, bytes); }
  /// The result of the present step is complete.
  void show_result() { publish(cell(step_, shape_.members), 0); }
  [[nodiscard]] bool has_result() const { return has_arrived(shape_.members); }

  /// Wakes every other member that sleeps.
  void wake_others() {
    owes_wake_ = false;
    waker_.wake_all(words_);
  }

 private:
  /// Fewer than middle_steps, so that who waits for a place is woken before others have to wait for
  /// what it will show there.
  static constexpr std::uint64_t steps_between_looks = 16;
  /// A member's cells were read by others in the last lap, and are in their caches: it asks for
  /// them so far ahead, that several are on their way at a time. Not the next one, which those
  /// look at who wait for it, and would take back.
  static constexpr std::uint64_t steps_asked_ahead = 2;
  /// So far ahead a member asks for the cells of another that is ahead of it. Further than that one
  /// asks to write: it would have to ask again. Cells alone: what is longer lies in more lines than
  /// come at a time.
  static constexpr std::uint64_t steps_read_ahead = 4;
  /// Of its place of the next step, which others have read as well.
  static constexpr std::size_t place_bytes_asked_ahead = 1024;

  /// Places for each member's data of the latest STEPS steps, of BYTES each.
  struct Area {
    std::byte* memory;
    std::uint32_t steps;
    std::size_t bytes;

    [[nodiscard]] std::byte* place(std::uint64_t step, std::uint32_t member) const {
      return memory + (std::size_t{member} * steps + step % steps) * bytes;
    }
  };

  /// Of what does not fit into a cell.
  [[nodiscard]] const Area& area_for(std::size_t bytes) const {
    if (bytes <= middle_bytes) return middle_;
    if (bytes <= block_bytes_max_) return block_;
    return bytes <= shape_.bulk_bytes ? bulk_ : long_;
  }
  [[nodiscard]] std::byte* place_in(std::uint64_t step, std::uint32_t member,
                                    std::size_t bytes) const {
    return bytes <= cell_payload_bytes ? cell(step, member).payload
                                       : area_for(bytes).place(step, member);
  }
  [[nodiscard]] std::uint32_t steps_kept_of(std::size_t bytes) const {
    return bytes <= cell_payload_bytes ? steps_kept : area_for(bytes).steps;
  }
  [[nodiscard]] Cell& cell(std::uint64_t step, std::uint32_t member) const {
    return cells_[(step % steps_kept) * (shape_.members + 1) + member];
  }
  void publish(Cell& cell, std::size_t bytes) const {
    cell.bytes = bytes;
    cell.step.store(step_, std::memory_order_release);
  }
  void publish_own() {
    publish(cell(step_, me_), bytes_);
    note_progress();
    ask_for_lines(cell(step_ + steps_asked_ahead, me_), bytes_, base::prefetch_for_write);
    if (bytes_ > cell_payload_bytes && bytes_ == earlier_bytes_) ask_for_next_place();
  }
  /// In a row of steps that show as much. Not while others may read there.
  void ask_for_next_place() const {
    if (step_ == exchange_step_ || !knows_place(bytes_)) return;
    base::ask_for_lines(area_for(bytes_).place(step_ + 1, me_),
                        std::min(bytes_, place_bytes_asked_ahead), base::prefetch_for_write);
  }
  /// Those of CELL in which there is something if a member shows BYTES.
  template <class Ask>
  static void ask_for_lines(const Cell& cell, std::size_t bytes, const Ask& ask) {
    constexpr std::size_t first_line_bytes = base::cache_line_bytes - offsetof(Cell, payload);
    ask(&cell);
    if (bytes > first_line_bytes && bytes <= cell_payload_bytes)
      ask(&cell.payload[first_line_bytes]);
  }
  /// Of who has come to a step with bytes_ and is not counted.
  bool is_to_wake_now() {
    owes_wake_ = true;
    return (step_ % steps_between_looks == 0 || bytes_ > middle_bytes) && is_place_wanted();
  }
  /// After publish(). Where cores are free nobody says for whom it waits: a wake-up too many costs
  /// less than saying so.
  [[nodiscard]] bool is_awaited_by(std::uint32_t one) const {
    if (!shape_.counted) return true;
    waker_fence(waker_.payer());
    return collectors_[one].awaited.load(std::memory_order_relaxed) == me_ + 1;
  }
  /// After note_progress().
  [[nodiscard]] bool is_place_wanted() const {
    waker_fence(waker_.payer());
    return header_->place_waiters.load(std::memory_order_relaxed) > 0;
  }
  void note_progress() { progress_[me_].step.store(step_, std::memory_order_release); }
  bool count_arrival() {
    const std::size_t place = step_ % steps_kept;
    full_count_ = ++counted_uses_[place] * shape_.members;
    const bool last =
        counts_[place].arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 == full_count_;
    if (last) all_came_to_ = step_;
    core_turns_.note_arrival(step_, platform::current_core());
    return last;
  }
  /// Looks whether they have.
  bool have_all_come_to(std::uint64_t step) {
    looked_at_ = step_;
    std::uint64_t slowest = step_;
    for (std::uint32_t member = 0; member < shape_.members && slowest >= step; ++member)
      slowest = std::min(slowest, progress_[member].step.load(std::memory_order_acquire));
    if (slowest < step) return false;
    all_came_to_ = slowest;
    return true;
  }
  /// Goes on with the first member that was missing before.
  bool find_all() {
    if (step_ != looked_for_) {
      looked_for_ = step_;
      found_ = 0;
    }
    while (found_ < shape_.members && has_arrived(found_)) ++found_;
    return found_ == shape_.members;
  }

  BoardShape shape_;
  BoardHeader* header_;
  StepCount* counts_;
  CoreTurns core_turns_;
  Cell* cells_;
  Progress* progress_;
  Collector* collectors_;
  Area middle_;
  Area bulk_;
  Area long_;
  std::byte* exchange_;
  std::uint32_t me_;
  std::vector<WakeWord*> words_;  // of the other members
  Waker waker_;
  std::uint64_t step_ = 0;           // the present one; the first is 1
  std::size_t bytes_ = 0;            // of our data in it
  std::size_t earlier_bytes_ = 0;    // and in the one before
  std::uint64_t exchange_step_ = 0;  // the latest exchange
  std::uint64_t exchanges_ = 0;      // this one included
  std::uint64_t all_came_to_ = 0;    // the latest step of which we know that all have come to it
  std::uint64_t looked_at_ = 0;      // the step in which we last looked for it
  std::array<std::uint64_t, steps_kept> counted_uses_{};  // of each count, this step included
  std::uint64_t full_count_ = 0;  // of the present step, once we have arrived
  bool owes_wake_ = false;        // to whoever waits for a place
  std::uint64_t looked_for_ = 0;
  std::uint32_t found_ = 0;  // members known to have arrived at looked_for_
  Area block_;
  std::size_t block_bytes_max_ = 0;  // 0: it is not in use
};

}  // namespace hawser::hostmem
