#include "transport/shm/segment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace hawser::transport::shm {

using base::Error;
using base::ErrorClass;

namespace {

std::size_t queue_offset() { return platform::round_to_pages(sizeof(SegmentHeader)); }

std::size_t rings_offset(std::uint64_t queue_slots) {
  return platform::round_to_pages(queue_offset() + queue_slots * sizeof(QueueSlot));
}

}  // namespace

Result<Segment> Segment::create(const Settings& settings, memory::Ledger& ledger) {
  const auto slots = std::bit_ceil(static_cast<std::uint32_t>(settings.queue_slots));
  const RingShape shape{std::bit_ceil(static_cast<std::uint32_t>(settings.ring_lines)),
                        static_cast<std::uint32_t>(base::round_to_lines(
                            static_cast<std::size_t>(settings.ring_bulk_bytes))),
                        static_cast<std::uint32_t>(base::round_to_lines(
                            static_cast<std::size_t>(settings.ring_long_bytes))),
                        static_cast<std::uint32_t>(settings.ring_cells)};
  const std::size_t fixed_bytes = rings_offset(slots);
  const std::size_t window_bytes = fixed_bytes + static_cast<std::size_t>(settings.rings_max) *
                                                     platform::round_to_pages(shape.whole_bytes());

  Result<platform::FileDescriptor> file =
      platform::create_anonymous_file("hawser-segment", fixed_bytes);
  if (!file) return file.take_error();
  HAWSER_TRY(platform::allocate_pages(*file, 0, fixed_bytes));
  // The window reaches beyond the end of the file: rings appear in it as the file grows.
  Result<platform::Mapping> mapping = platform::Mapping::shared(*file, 0, window_bytes);
  if (!mapping) return mapping.take_error();

  Segment segment(std::move(*file), std::move(*mapping), shape, settings.whole_rings, ledger);
  SegmentHeader* header = segment.header();
  header->magic = segment_magic;
  header->version = segment_version;
  header->queue_slots = slots;
  header->queue_offset = queue_offset();
  header->window_bytes = window_bytes;
  segment.next_ring_offset_ = fixed_bytes;
  segment.fixed_bytes_ = fixed_bytes;
  ledger.charge(memory::Account::segment, fixed_bytes);
  return segment;
}

Segment::Segment(platform::FileDescriptor file, platform::Mapping mapping, RingShape shape,
                 std::int64_t whole_rings, memory::Ledger& ledger)
    : file_(std::move(file)),
      mapping_(std::move(mapping)),
      shape_(shape),
      ledger_(&ledger),
      next_ring_offset_(0),
      fixed_bytes_(0),
      whole_rings_(whole_rings) {}

Segment::~Segment() {
  if (mapping_.data() == nullptr) return;
  ledger_->refund(memory::Account::segment, fixed_bytes_);
  ledger_->refund(memory::Account::rings, rings_bytes_);
}

QueueReceiver Segment::queue_receiver() const {
  return {reinterpret_cast<QueueSlot*>(mapping_.data() + header()->queue_offset),
          header()->queue_slots};
}

RingShape Segment::next_shape() const {
  if (rings_ < whole_rings_) return shape_;
  RingShape shape = shape_;
  shape.bulk_bytes = static_cast<std::uint32_t>(
      base::round_to_lines(std::max<std::size_t>(shape_.bulk_bytes / 4, 4096)));
  return shape;
}

Result<Segment::Ring> Segment::allocate_ring() {
  const RingShape shape = next_shape();
  const std::size_t bytes = ring_bytes(shape);
  const bool is_reused = !free_offsets_.empty();
  const std::uint64_t offset = is_reused ? free_offsets_.back() : next_ring_offset_;
  if (offset + place_bytes() > mapping_.bytes())
    return Error(ErrorClass::no_mem,
                 fmt::format("all {} rings of this process are granted (shm.rings_max)",
                             (mapping_.bytes() - fixed_bytes_) / place_bytes()));
  HAWSER_TRY(platform::allocate_pages(file_, offset, bytes));
  if (is_reused) {
    free_offsets_.pop_back();
  } else {
    next_ring_offset_ += place_bytes();
  }
  ++rings_;
  rings_bytes_ += bytes;
  ledger_->charge(memory::Account::rings, bytes);
  return Ring{offset, mapping_.data() + offset, shape};
}

Result<void> Segment::extend_ring(const Ring& ring) {
  const std::size_t before = ring_bytes(ring.shape);
  const std::size_t bytes = whole_ring_bytes(ring.shape) - before;
  HAWSER_TRY(platform::allocate_pages(file_, ring.offset + before, bytes));
  rings_bytes_ += bytes;
  ledger_->charge(memory::Account::rings, bytes);
  return {};
}

void Segment::free_ring(const Ring& ring, bool is_extended) {
  const std::size_t bytes = is_extended ? whole_ring_bytes(ring.shape) : ring_bytes(ring.shape);
  // What comes back later must be zero: a host that can't release pages keeps the place unused.
  if (platform::release_pages(file_, ring.offset, bytes)) free_offsets_.push_back(ring.offset);
  --rings_;
  rings_bytes_ -= bytes;
  ledger_->refund(memory::Account::rings, bytes);
}

Result<PeerSegment> PeerSegment::attach(const platform::FileDescriptor& file,
                                        std::uint32_t queue_slots, std::uint64_t window_bytes) {
  constexpr std::uint64_t window_bytes_max = 1ULL << 40;
  const auto refuse = [](std::string_view what) {
    return Error(ErrorClass::other, fmt::format("a peer's segment is refused: {}", what));
  };
  if (!std::has_single_bit(queue_slots)) return refuse("its queue size is no power of two");
  if (window_bytes > window_bytes_max || window_bytes % platform::page_bytes() != 0)
    return refuse("its window size is out of range");
  if (!platform::is_sealed_against_shrinking(file)) return refuse("its file can shrink");
  const Result<std::size_t> bytes = platform::file_size(file);
  if (!bytes || *bytes < rings_offset(queue_slots) || *bytes > window_bytes)
    return refuse("its file is shorter than its queue");
  Result<platform::Mapping> mapping = platform::Mapping::shared(file, 0, window_bytes);
  if (!mapping) return mapping.take_error();
  PeerSegment peer;
  peer.mapping_ = std::move(*mapping);
  peer.queue_slots_ = queue_slots;
  if (peer.header()->magic != segment_magic || peer.header()->version != segment_version)
    return refuse("its header is not of this version");
  return peer;
}

QueueSender PeerSegment::queue_sender(std::uint32_t owner) const {
  return {reinterpret_cast<QueueSlot*>(mapping_.data() + queue_offset()), queue_slots_,
          &header()->queue_tail, owner};
}

std::byte* PeerSegment::ring_memory(std::uint64_t offset, RingShape shape) const {
  const bool sane = std::has_single_bit(shape.line_count) && shape.bulk_bytes > 0 &&
                    shape.bulk_bytes % cache_line_bytes == 0 && shape.long_bytes > 0 &&
                    shape.long_bytes % cache_line_bytes == 0 && shape.cells <= cells_max &&
                    offset % cache_line_bytes == 0 && offset <= mapping_.bytes() &&
                    shape.whole_bytes() <= mapping_.bytes() - offset;
  return sane ? mapping_.data() + offset : nullptr;
}

}  // namespace hawser::transport::shm
