// Team: the members of an intracommunicator whose processes all live on this host, and the board
// (hostmem/board.hpp) on which their blocking collectives meet.
//
// A collective is a row of steps. In each a member begins, writes what it shows, arrives, and waits
// for those whose data it needs; nobody waits for who only listens. Where the host allows it,
// members also read each other's memory: one copy instead of two, at the kernel's pace.
//
// Failures:  who waits for a member that has died, or on a communicator that is revoked, waits no
//            longer and has left: it writes nothing on the board any more, which others may still
//            read, and what it sees there means nothing. The call ends with an error, as do all
//            later ones of that communicator, whose members all come to know what has happened.
// Ownership: kept by the communicator, ends with it. Owns the board's mapping; borrows the engine.
// Threads:   one collective of a communicator at a time (the standard's rule).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/copy.hpp"
#include "collective/team/contest.hpp"
#include "core/comm/comm.hpp"
#include "hostmem/board.hpp"
#include "hostmem/measured_copy.hpp"
#include "memory/ledger/ledger.hpp"
#include "p2p/engine.hpp"
#include "platform/clock.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"

namespace hawser::collective {

/// Of the data of a call: from one member or to one, from all to all, or the same with every step
/// an exchange. In one way some write while others read what was written before, in steps that are
/// short enough for it; unless they share cores, and take turns. From all to all each writes the
/// next step before it reads the last one.
enum class Flow : std::uint8_t { one_way, all_ways, exchange };

/// Collectives that have a way by reading each other's memory, which is tried.
enum class Contested : std::uint8_t { bcast, allgather, alltoall, reduce, reduce_scatter };

class Team final : public core::Companion {
 public:
  /// The board's memory, and how more of it is earned.
  struct Ground {
    platform::Mapping memory;
    platform::FileDescriptor file;  // the leader's (rank 0), who makes the areas that are earned
    std::int64_t earned_after;      // calls that would use one
  };
  /// What a team takes of its process until it ends.
  struct Upkeep {
    memory::Ledger* ledger;
    memory::Account account;           // of the board: its file, or address space only
    std::atomic<std::int64_t>* teams;  // of the process; this one is among them
  };
  Team(p2p::Engine& engine, Ground ground, hostmem::Board board, const core::Comm& comm,
       const Upkeep& upkeep);
  ~Team() override;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Called by all members before anything else: they find out, by doing, whether each can read the
  /// memory of all others. None does unless all are WILLING.
  void learn_to_read(bool willing);
  [[nodiscard]] bool can_read() const { return !pids_.empty(); }
  /// Copies BYTES from ADDRESS in MEMBER's memory to TO; false if the host refuses.
  bool read(int member, std::uint64_t address, std::byte* to, std::size_t bytes) const;
  /// Copies BYTES at FROM to ADDRESS in its memory; false likewise.
  bool write(int member, std::uint64_t address, const std::byte* from, std::size_t bytes) const;
  /// A step of its own: whether all members say yes.
  bool do_all_say(bool yes);
  /// Called by all members alike: they do not read any more.
  void stop_reading() { pids_.clear(); }
  /// From this length on reading may pay.
  static constexpr base::Count contested_bytes_min = 16 << 10;
  /// Between the ways of a collective of BYTES (at least contested_bytes_min), or about as many.
  Contest& contest(Contested what, base::Count bytes);
  /// A step of its own: the members decide CONTEST, which is over for all of them.
  void settle(Contest& contest);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(board_.shape().members); }
  /// Who comes after this member.
  [[nodiscard]] int next() const { return rank_ + 1 == size() ? 0 : rank_ + 1; }
  /// The most bytes that a member can show in one step.
  [[nodiscard]] std::size_t room() const {
    return longs_.are_there ? board_.shape().long_bytes : board_.shape().bulk_bytes;
  }
  /// Called by all members alike, before a row of steps whose data go by FLOW.
  void begin_row(Flow flow) { board_.use_block_area(flow == Flow::one_way && blocks_.are_there); }
  /// Begins the row: each member is about to show BYTES in it; how many in each step. Who often
  /// shows more than there is room for in one gets more room, and who often shows a lot one way
  /// gets more places.
  std::size_t room_for(std::size_t bytes, Flow flow) {
    begin_row(flow);
    if (flow == Flow::exchange && board_.shape().exchange_bytes > 0)
      return board_.shape().exchange_bytes;
    if (bytes > hostmem::middle_bytes) [[unlikely]]
      want_places(bytes, flow);
    constexpr std::size_t overlapping_bytes = 128 << 10;
    return do_steps_overlap(bytes, flow) ? std::min(room(), overlapping_bytes) : room();
  }
  /// Called by all members alike, in a call that does not fit into one step.
  void want_room();
  /// One member knows that it is the last to arrive, and can work for all of them.
  [[nodiscard]] bool has_last() const { return board_.shape().counted; }

  /// Begins a step in which this member shows BYTES (at most room()): where to write them, aligned
  /// to 16 bytes. Waits until nobody needs what stood there.
  std::byte* begin(std::size_t bytes) {
    if (!board_.knows_place(bytes)) find_place(bytes);
    return has_left() ? nowhere() : board_.begin(bytes);
  }
  /// The same for a step in which all members show as many BYTES, and each waits for all.
  std::byte* begin_exchange(std::size_t bytes) {
    if (!board_.is_exchange(bytes)) return begin(bytes);
    if (!board_.knows_place(0)) find_place(0);
    return has_left() ? nowhere() : board_.begin_exchange(bytes);
  }
  /// Whether that makes the step an exchange of two members (hostmem/board.hpp).
  [[nodiscard]] bool is_exchange(std::size_t bytes) const { return board_.is_exchange(bytes); }
  /// What begin() was told to show is written; others wait for all members, if for any.
  void arrive() {
    if (has_left()) return;
    if (board_.arrive() || !has_last()) {
      board_.wake_others();
    } else {
      board_.make_known();
    }
  }
  /// The same in a step in which this member alone shows something, and the others listen_to() it.
  void show() {
    if (has_left()) return;
    board_.show();
    board_.wake_others();
  }
  /// A step in which MEMBER shows something, BYTES or more, and this one, and all others, nothing:
  /// waits for it.
  void listen_to(int member, std::size_t bytes) {
    if (has_left()) return;
    board_.listen();
    await_asking_ahead(member, bytes);
    if (!has_left() && board_.note_heard(bytes_of(member))) board_.wake_others();
  }
  /// The same in a step in which MEMBER alone waits for all others, and collect()s.
  void tell(int member) {
    if (!has_left()) board_.tell(static_cast<std::uint32_t>(member));
  }
  /// Of that one: what it shows itself, if it does, is written; waits for all others, who show as
  /// many BYTES.
  void collect(std::size_t bytes);
  /// After tell(), where others may have shown more than this member: they may wait for their
  /// places.
  void make_known() {
    if (!has_left()) board_.make_known();
  }
  /// A step in which each member shows BYTES to those after it, and waits for those before it
  /// alone: what begin() was told to show is written; waits for them.
  void show_forward(std::size_t bytes);
  /// arrive() where the last one makes the result (has_last() only): true if that is this member.
  [[nodiscard]] bool arrive_perhaps_last() { return has_left() || board_.arrive(); }
  void show_result() {
    if (has_left()) return;
    board_.show_result();
    board_.wake_others();
  }

  /// Copies BYTES into what this member shows to all others, or into a result.
  void copy_in(std::byte* to, const std::byte* from, std::size_t bytes) {
    copy_in_(to, from, bytes);
  }
  /// The same into what this member shows to MEMBER alone. What is quickest depends on where that
  /// one is. (What others show is read by ordinary loads, base/copy.hpp: whatever else is quicker
  /// for a reader makes those wait who write there next.)
  void copy_to(int member, std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes < base::long_copy_bytes) return base::copy_bytes(to, from, bytes);
    copy_for(member)(to, from, bytes);
  }

  void await_all() {
    wait_for_all_until([&] { return board_.have_all_arrived(); });
  }
  void await(int member) {
    wait_until([&] { return board_.has_arrived(static_cast<std::uint32_t>(member)); });
  }
  void await_result() {
    wait_for_all_until([&] { return board_.has_result(); });
  }
  /// This member waits no longer, since others may never come; what the call has made is worthless.
  [[nodiscard]] bool has_left() const { return nowhere_ != nullptr; }
  /// Why; it must have left.
  [[nodiscard]] base::Error reason() const;
  /// The BYTES that MEMBER, who has arrived, shows in this step; valid until the next step begins.
  [[nodiscard]] std::byte* shown_by(int member, std::size_t bytes) const {
    if (has_left()) [[unlikely]]
      return nowhere();
    return board_.place(static_cast<std::uint32_t>(member), bytes);
  }
  /// The BYTES that MEMBER showed in the step before, at which all had arrived before this member
  /// began the present one; valid until it arrives at that. So it may show what is next before it
  /// works on what was shown, and wait once for both.
  [[nodiscard]] std::byte* shown_before_by(int member, std::size_t bytes) const {
    if (has_left()) [[unlikely]]
      return nowhere();
    return board_.earlier_place(static_cast<std::uint32_t>(member), bytes);
  }
  /// How many bytes that member says it shows.
  [[nodiscard]] std::size_t bytes_of(int member) const {
    return board_.bytes_of(static_cast<std::uint32_t>(member));
  }
  /// MEMBER, who has arrived, shows BYTES, or else that is what is wrong: RESULT, if nothing was. A
  /// member looks at those whose cells it reads anyway; where all wait for all, at the next() one:
  /// if not all show as many, somebody finds it.
  void expect(int member, std::size_t bytes, base::Result<void>& result) const {
    expect_bytes(member, bytes_of(member), bytes, result);
  }
  /// The same where MEMBER gives SHOWN bytes in another way.
  static void expect_bytes(int member, std::size_t shown, std::size_t bytes,
                           base::Result<void>& result) {
    if (shown != bytes) [[unlikely]]
      note_wrong_length(member, shown, bytes, result);
  }
  [[nodiscard]] std::byte* result(std::size_t bytes) const {
    return has_left() ? nowhere() : board_.result(bytes);
  }

 private:
  /// While this member waits for others, who move data in their turns on its core.
  class LongTurns {
   public:
    explicit LongTurns(const Team& team) : team_(team) { expect(team.board_.bytes_at_work()); }
    ~LongTurns() { expect(0); }
    LongTurns(const LongTurns&) = delete;
    LongTurns& operator=(const LongTurns&) = delete;

   private:
    void expect(std::size_t bytes) const {
      if (team_.has_last()) team_.engine_.waiter().expect_turns(bytes);
    }
    const Team& team_;
  };

  /// Until READY(), or until there is no hope for it.
  template <class Ready>
  void wait_until(const Ready& ready) {
    if (has_left()) [[unlikely]]
      return;
    if (!ready()) wait_long_until(ready);
  }
  template <class Ready>
  [[gnu::noinline]] void wait_long_until(const Ready& ready) {
    const LongTurns turns(*this);
    board_.make_known();
    bool is_ready = false;
    engine_.wait_until([&] { return (is_ready = ready()) || !comm_.is_sound(); });
    // Who died may have come first.
    if (!is_ready && !ready()) leave();
  }
  /// The same, where READY() is that all have arrived, or follows from it.
  template <class Ready>
  void wait_for_all_until(const Ready& ready) {
    if (has_left()) [[unlikely]]
      return;
    if (ready()) return;
    if (engine_.waiter().policy().looks_alone == 0 || !has_last()) {
      wait_long_until(ready);
    } else if (!comes_in_turn(ready)) {
      wait_long_until([&] { return ready() || comes_from_elsewhere(ready); });
    }
  }
  /// Most such waits are over once the others on this core have had their turn: no round of
  /// progress is made for those, but now and then.
  template <class Ready>
  [[gnu::noinline]] bool comes_in_turn(const Ready& ready) {
    if (++turns_ % turns_per_round == 0) return false;
    board_.make_known();
    if (comes_from_elsewhere(ready)) return true;
    const LongTurns turns(*this);
    engine_.waiter().relax();
    return ready();
  }
  /// Looks on for about as long as another's turn takes, if none of those that are missing seems to
  /// want this core: true if it was ready meanwhile.
  template <class Ready>
  bool comes_from_elsewhere(const Ready& ready) const {
    const std::uint32_t looks = engine_.waiter().policy().looks_alone;
    for (std::uint32_t i = 0; i < looks && board_.is_core_done(); ++i) {
      platform::cpu_relax();
      if (ready()) return true;
    }
    return false;
  }
  /// Of a row in which each member shows BYTES by FLOW: whether shorter steps than there is room
  /// for are better, since what is written in one has to be in a cache while another is read.
  [[nodiscard]] bool do_steps_overlap(std::size_t bytes, Flow flow) const {
    constexpr int few_members_max = 8;  // two short steps of so many stay there
    if (flow == Flow::one_way) return !has_last();
    return flow == Flow::all_ways && size() <= few_members_max && bytes > room();
  }
  static void note_wrong_length(int member, std::size_t shown, std::size_t expected,
                                base::Result<void>& result);
  /// Waits for MEMBER, who shows BYTES and may be steps ahead.
  void await_asking_ahead(int member, std::size_t bytes) {
    const auto number = static_cast<std::uint32_t>(member);
    if (board_.has_arrived(number)) {
      board_.ask_ahead(number, bytes);
    } else {
      await(member);
    }
  }
  /// Waits until the next step may be begun with BYTES.
  void find_place(std::size_t bytes);
  /// Of a row in which each member shows BYTES.
  void want_places(std::size_t bytes, Flow flow);
  /// Places that the board has once calls that would use them have earned them.
  struct Earned {
    bool are_there = false;
    std::int64_t calls = 0;  // until then
  };
  /// A call would use PLACES, in the BYTES of the board from OFFSET on.
  void earn(Earned& places, std::size_t offset, std::size_t bytes);
  void leave();

  hostmem::MeasuredCopy& copy_for(int member) {
    auto& copy = copies_for_[static_cast<std::size_t>(member)];
    if (copy == nullptr) [[unlikely]] {
      copy = std::make_unique<hostmem::MeasuredCopy>(hostmem::CopyEnds::to_peer);
      upkeep_.ledger->charge(memory::Account::collective, sizeof(hostmem::MeasuredCopy));
    }
    return *copy;
  }
  /// Memory of this process as large as what a member shows, instead of the board.
  [[nodiscard]] std::byte* nowhere() const { return nowhere_.get(); }

  p2p::Engine& engine_;
  const Ground ground_;
  static constexpr std::uint32_t turns_per_round = 16;  // of progress
  std::uint32_t turns_ = 0;                             // waits for all that began with a turn
  Earned blocks_;                                       // the block area
  Earned longs_;                                        // the long area
  std::size_t charged_bytes_;
  hostmem::Board board_;
  hostmem::MeasuredCopy copy_in_{hostmem::CopyEnds::to_peer};
  const core::Comm& comm_;
  const int rank_;
  std::unique_ptr<std::byte[]> nowhere_;
  std::vector<std::unique_ptr<hostmem::MeasuredCopy>> copies_for_;  // by member; those asked for
  const Upkeep upkeep_;
  static constexpr std::size_t contested_count = 5;
  /// Of each Contested, for lengths of one power of two each; the last one for all above.
  using Contests = std::array<std::array<Contest, 10>, contested_count>;
  std::unique_ptr<Contests> contests_;  // once one was asked for
  std::vector<pid_t> pids_;   // of the members, as this process sees them; empty: nobody reads
  std::uint64_t cookie_ = 0;  // what the others read to try
};

}  // namespace hawser::collective
