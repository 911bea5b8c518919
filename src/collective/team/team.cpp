#include "collective/team/team.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "platform/this_process.hpp"

namespace hawser::collective {

namespace {

/// What a member shows of itself before the others try to read its cookie.
struct Introduction {
  std::int64_t pid;
  std::uint64_t cookie;
  std::uint64_t cookie_address;  // 0: it is not willing
};

}  // namespace

Team::Team(p2p::Engine& engine, Ground ground, hostmem::Board board, const core::Comm& comm,
           const Upkeep& upkeep)
    : engine_(engine),
      ground_(std::move(ground)),
      charged_bytes_(board.shape().earned_offset()),
      board_(std::move(board)),
      comm_(comm),
      rank_(comm.rank()),
      copies_for_(static_cast<std::size_t>(size())),
      upkeep_(upkeep) {
  upkeep_.ledger->charge(upkeep_.account, charged_bytes_);
}

Team::~Team() {
  upkeep_.ledger->refund(upkeep_.account, charged_bytes_);
  const auto copies =
      std::ranges::count_if(copies_for_, [](const auto& c) { return c != nullptr; });
  upkeep_.ledger->refund(memory::Account::collective,
                         static_cast<std::size_t>(copies) * sizeof(hostmem::MeasuredCopy));
  if (contests_) upkeep_.ledger->refund(memory::Account::collective, sizeof(Contests));
  upkeep_.teams->fetch_sub(1, std::memory_order_relaxed);
}

void Team::want_room() {
  const hostmem::BoardShape& shape = board_.shape();
  if (shape.long_bytes > shape.bulk_bytes)
    earn(longs_, shape.long_offset(), shape.bytes() - shape.long_offset());
}

void Team::want_places(std::size_t bytes, Flow flow) {
  const hostmem::BoardShape& shape = board_.shape();
  if (bytes > room()) {
    want_room();
  } else if (flow == Flow::one_way && bytes <= shape.block_bytes) {
    earn(blocks_, shape.earned_offset(), shape.long_offset() - shape.earned_offset());
  }
}

/// The leader makes them; a host without memory for them refuses, and is asked again after as many
/// calls.
void Team::earn(Earned& places, std::size_t offset, std::size_t bytes) {
  if (places.are_there || ++places.calls % ground_.earned_after != 0) return;
  const bool are_there =
      !ground_.file.is_open() || platform::allocate_pages(ground_.file, offset, bytes).ok();
  if (!do_all_say(are_there)) return;
  places.are_there = true;
  charged_bytes_ += bytes;
  upkeep_.ledger->charge(upkeep_.account, bytes);
}

void Team::collect(std::size_t bytes) {
  if (has_left()) return;
  if (board_.collect(bytes)) board_.wake_others();
  for (int member = 0; member < size() && !has_left(); ++member) {
    const auto number = static_cast<std::uint32_t>(member);
    if (member == rank_) continue;
    if (board_.has_arrived(number)) {
      board_.ask_ahead(number, bytes);
    } else {
      const hostmem::Board::Awaiting awaiting(board_, number);
      await(member);
    }
  }
  if (!has_left()) board_.note_collected();
}

void Team::show_forward(std::size_t bytes) {
  if (has_left()) return;
  board_.show_forward();
  for (int member = 0; member < rank_ && !has_left(); ++member) await_asking_ahead(member, bytes);
}

void Team::find_place(std::size_t bytes) {
  constexpr int pauses_between_looks = 8;  // some 0.3 us: a few short steps of the slowest
  if (board_.has_just_looked(bytes))
    for (int i = 0; i < pauses_between_looks; ++i) platform::cpu_relax();
  if (board_.may_begin(bytes)) return;
  const hostmem::Board::PlaceWait wait(board_);
  wait_until([&] { return board_.may_begin(bytes); });
}

void Team::leave() {
  nowhere_ =
      std::make_unique<std::byte[]>(std::max<std::size_t>(room(), board_.shape().exchange_bytes));
}

base::Error Team::reason() const {
  if (comm_.is_revoked())
    return {base::ErrorClass::revoked, "the communicator was revoked during the call"};
  return {base::ErrorClass::proc_failed, "a member of the communicator died during the call"};
}

void Team::note_wrong_length(int member, std::size_t shown, std::size_t expected,
                             base::Result<void>& result) {
  if (!result.ok()) return;
  result = base::Error(
      base::ErrorClass::truncate,
      fmt::format("rank {} takes part with {} bytes at a time where this process expects {}; "
                  "all members must give the same counts and types to a collective call",
                  member, shown, expected));
}

void Team::learn_to_read(bool willing) {
  cookie_ = platform::random_number();
  const Introduction mine{platform::process_id(), cookie_,
                          willing ? reinterpret_cast<std::uint64_t>(&cookie_) : 0};
  std::memcpy(begin(sizeof(mine)), &mine, sizeof(mine));
  arrive();
  await_all();
  bool can_read = true;
  for (int member = 0; member < size(); ++member) {
    Introduction theirs;
    std::memcpy(&theirs, shown_by(member, sizeof(theirs)), sizeof(theirs));
    pids_.push_back(static_cast<pid_t>(theirs.pid));
    can_read = can_read && theirs.cookie_address != 0 &&
               platform::holds_word(pids_.back(), theirs.cookie_address, theirs.cookie);
  }
  if (!do_all_say(can_read)) stop_reading();
}

bool Team::do_all_say(bool yes) {
  std::byte* const mine = begin(1);
  *mine = std::byte{yes};
  arrive();
  await_all();
  if (has_left()) {
    // Others may still read what this member let them read and will not keep any longer: they must
    // not think that it said yes. It is on the board before the memory is used for anything else.
    *mine = std::byte{0};
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return false;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  bool all = true;
  for (int member = 0; member < size(); ++member) all = all && *shown_by(member, 1) == std::byte{1};
  return all;
}

Contest& Team::contest(Contested what, base::Count bytes) {
  if (!contests_) {
    contests_ = std::make_unique<Contests>();
    upkeep_.ledger->charge(memory::Account::collective, sizeof(Contests));
  }
  auto& lengths = (*contests_)[static_cast<std::size_t>(what)];
  const auto times = static_cast<std::uint64_t>(bytes / contested_bytes_min);
  const auto length = static_cast<std::size_t>(std::bit_width(times)) - 1;
  return lengths[std::min(length, lengths.size() - 1)];
}

void Team::settle(Contest& contest) {
  const Contest::Paces mine = contest.paces();
  constexpr std::size_t bytes = sizeof(mine);
  std::memcpy(begin(bytes), &mine, bytes);
  arrive();
  await_all();
  std::array<std::uint64_t, 2> sums{};
  for (int member = 0; member < size(); ++member) {
    Contest::Paces paces;
    std::memcpy(&paces, shown_by(member, bytes), bytes);
    for (std::size_t way = 0; way < sums.size(); ++way) sums[way] += paces[way];
  }
  contest.decide(sums);
}

namespace {

/// COPY(here, there), as read_memory() and write_memory() do, until all BYTES are copied.
template <class Copy>
bool copy_whole(std::uint64_t here, std::uint64_t there, std::size_t bytes, const Copy& copy) {
  while (bytes > 0) {
    const platform::MemoryPiece ours{here, bytes}, theirs{there, bytes};
    const std::int64_t copied = copy({&ours, 1}, {&theirs, 1});
    if (copied <= 0) return false;
    here += static_cast<std::uint64_t>(copied);
    there += static_cast<std::uint64_t>(copied);
    bytes -= static_cast<std::size_t>(copied);
  }
  return true;
}
using Pieces = std::span<const platform::MemoryPiece>;

}  // namespace

bool Team::read(int member, std::uint64_t address, std::byte* to, std::size_t bytes) const {
  if (has_left()) return false;
  const pid_t pid = pids_[static_cast<std::size_t>(member)];
  return copy_whole(
      reinterpret_cast<std::uint64_t>(to), address, bytes,
      [pid](Pieces here, Pieces there) { return platform::read_memory(pid, here, there); });
}

bool Team::write(int member, std::uint64_t address, const std::byte* from,
                 std::size_t bytes) const {
  if (has_left()) return false;
  const pid_t pid = pids_[static_cast<std::size_t>(member)];
  return copy_whole(
      reinterpret_cast<std::uint64_t>(from), address, bytes,
      [pid](Pieces here, Pieces there) { return platform::write_memory(pid, here, there); });
}

}  // namespace hawser::collective
