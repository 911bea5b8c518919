#include "softrdma/fabric/direct.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "platform/process.hpp"

namespace softrdma::fabric {

using hawser::platform::MemoryPiece;

namespace {

/// FILL changes what is on CARD.
template <class Card, class Fill>
void change(Card& card, Fill&& fill) {
  const std::uint32_t version = card.version.load(std::memory_order_relaxed) | 1;
  card.version.store(version);
  fill(card);
  card.version.store(version + 1);
}

/// What TAKE returns of CARD, if its owner did not change it meanwhile. The loads of TAKE are not
/// reordered with the second look: they acquire.
template <class Card, class Take>
auto look_at(const Card& card, Take&& take) {
  const std::uint32_t before = card.version.load();
  auto taken = take(card);
  if (before % 2 != 0 || card.version.load() != before) taken.reset();
  return taken;
}

struct Opening {
  std::uint32_t domain;
  unsigned access;
};

/// What the process with cookie OWNER lets queue pair PEER do.
std::optional<Opening> opening_on(const QueuePairCard& card, std::uint64_t owner,
                                  std::uint32_t peer) {
  return look_at(card, [&](const QueuePairCard& seen) -> std::optional<Opening> {
    if (seen.owner != owner || seen.peer != peer) return std::nullopt;
    return Opening{seen.domain, seen.access};
  });
}

/// Where RANGE begins in the memory of the process with cookie OWNER.
std::optional<std::uint64_t> address_on(const RegionCard& card, std::uint64_t owner,
                                        const wire::RemoteRange& range,
                                        const memory::Access& access) {
  return look_at(card, [&](const RegionCard& seen) -> std::optional<std::uint64_t> {
    const std::uint64_t bytes = seen.bytes;
    const std::uint64_t offset = range.address - seen.address;
    const bool opens = seen.owner == owner && seen.key == range.key &&
                       seen.domain == access.domain &&
                       (seen.only_for_qp == 0 || seen.only_for_qp == access.queue_pair) &&
                       (seen.access & access.rights) == access.rights;
    // An address below the region's gives a huge offset.
    if (!opens || offset > bytes || range.bytes > bytes - offset) return std::nullopt;
    return seen.memory + offset;
  });
}

/// A program that polls the last bytes of what is written finds all others in place.
constexpr std::uint64_t tail_bytes = sizeof(std::uint64_t);

/// The local side of a copy. The kernel copies piece by piece, each with instructions of its own,
/// whose stores others see in that order; those of one piece they may see in any. (Remote pieces
/// would do the same, but the kernel looks up the pages of each anew: 0.35 us of 1.8.)
class LocalPieces {
 public:
  void add(std::span<std::byte> part) {
    pieces_[count_++] = {reinterpret_cast<std::uint64_t>(part.data()), part.size()};
  }
  /// So that a piece begins at OFFSET.
  void split_at(std::uint64_t offset) {
    std::size_t i = 0;
    for (; i < count_ && offset >= pieces_[i].bytes; ++i) offset -= pieces_[i].bytes;
    if (i == count_ || offset == 0) return;
    std::copy_backward(pieces_.begin() + i, pieces_.begin() + count_, pieces_.begin() + count_ + 1);
    ++count_;
    pieces_[i].bytes = offset;
    pieces_[i + 1].address += offset;
    pieces_[i + 1].bytes -= offset;
  }
  [[nodiscard]] std::span<const MemoryPiece> all() const { return {pieces_.data(), count_}; }

 private:
  std::array<MemoryPiece, memory::entries_max + 2> pieces_;  // a header's, and one that is split
  std::size_t count_ = 0;
};

}  // namespace

// What we let others do

void Direct::publish(std::uint32_t key, const memory::Region& region) {
  RegionCard& card = host_.region_card(host_.seat(), key);
  // Its place may be another key's: this one is for packets alone.
  if (card.owner == own_cookie() && card.key != 0) return;
  change(card, [&](RegionCard& out) {
    out.owner = own_cookie();
    out.key = key;
    out.address = region.address;
    out.bytes = region.bytes;
    out.memory = reinterpret_cast<std::uint64_t>(region.memory);
    out.domain = region.domain;
    out.access = region.access;
    out.only_for_qp = region.only_for_qp;
  });
}

void Direct::withdraw(std::uint32_t key) {
  RegionCard& card = host_.region_card(host_.seat(), key);
  if (card.owner != own_cookie() || card.key != key) return;
  change(card, [](RegionCard& out) { out.key = 0; });
  neighbours_.wait_for_visitors();
}

void Direct::open(const qp::PeerAccess& access, const ibv_ah_attr& address) {
  if (!link::is_addressed(ports_, address)) return;
  change(host_.queue_pair_card(access.queue_pair), [&](QueuePairCard& out) {
    out.owner = own_cookie();
    out.peer = access.peer;
    out.domain = access.domain;
    out.access = access.access;
  });
}

void Direct::close(std::uint32_t queue_pair) {
  QueuePairCard& card = host_.queue_pair_card(queue_pair);
  if (card.owner != own_cookie()) return;
  change(card, [](QueuePairCard& out) { out.owner = 0; });
  neighbours_.wait_for_visitors();
}

// What others let us do

bool Direct::copy(const qp::DirectCopy& what, std::uint32_t from, const qp::Destination& to,
                  std::uint64_t now_ns) {
  if (!link::is_addressed(ports_, *to.address)) return false;
  const std::optional<std::uint16_t> seat = host_.owner_of(to.queue_pair);
  // Packets to ourselves are as quick.
  if (!seat || *seat == host_.seat() || !neighbours_.lives(*seat, now_ns) ||
      !neighbours_.may_visit(*seat))
    return false;
  const Neighbours::Visit visit(neighbours_, *seat);
  const std::optional<std::uint64_t> address = find(*seat, what, from, to.queue_pair);
  if (!address || !copy_at(*seat, *address, what)) return false;
  ++counters_.copies;
  counters_.bytes += what.remote.bytes;
  return true;
}

/// Where that is in the memory of the process on SEAT; nothing if queue pair TO of it does not let
/// FROM.
std::optional<std::uint64_t> Direct::find(std::uint16_t seat, const qp::DirectCopy& what,
                                          std::uint32_t from, std::uint32_t to) const {
  const unsigned right =
      what.is_write ? unsigned{IBV_ACCESS_REMOTE_WRITE} : unsigned{IBV_ACCESS_REMOTE_READ};
  const std::uint64_t owner = host_.seat_memory(seat).cookie.load();
  const std::optional<Opening> opening = opening_on(host_.queue_pair_card(to), owner, from);
  if (!opening || (opening->access & right) == 0) return std::nullopt;
  return address_on(host_.region_card(seat, what.remote.key), owner, what.remote,
                    {opening->domain, to, right});
}

bool Direct::copy_at(std::uint16_t seat, std::uint64_t address, const qp::DirectCopy& what) {
  const std::uint64_t bytes = what.remote.bytes;
  LocalPieces here;
  for (const std::span<std::byte> part : what.local.all()) here.add(part);
  if (what.is_write && bytes > tail_bytes) here.split_at(bytes - tail_bytes);
  const MemoryPiece there{address, bytes};
  const auto copy_memory =
      what.is_write ? hawser::platform::write_memory : hawser::platform::read_memory;
  const std::int64_t copied = copy_memory(neighbours_.process_of(seat), here.all(), {&there, 1});
  return copied == static_cast<std::int64_t>(bytes);
}

}  // namespace softrdma::fabric
