// HandleTable: the objects of one kind that the user holds handles to (DESIGN §4).
//
// A handle has the size of a pointer and lies far above the zero page, where the predefined handles
// of the ABI are:
//
//     63                    31        23                  0
//    +-----------------------+---------+-------------------+
//    |      generation       |  kind   |       index       |
//    +-----------------------+---------+-------------------+
//
// The integer that MPI_*_toint gives is index + the low 7 bits of the generation. Indices begin at
// 0x1000, so that such an integer is never that of a predefined handle.
//
// Ownership: a handle owns one reference to its object, erase() hands it back.
// Threads:   find() is a few loads and takes no lock. insert() and erase() work on a lock-free free
//            list, or on the place that a pooled object keeps; in steady state they allocate
//            nothing. share() is serialised by a mutex. A table that only one thread uses at a time
//            can be told so, and spares the atomic exchanges.
// Invariant: slots never move. A generation is odd while its slot is in use and even while it is
//            free, so that a handle that was freed, or never given out, finds nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/object.hpp"

namespace hawser::binding {

using base::Ref;

/// Kinds of objects; part of every handle.
enum class HandleKind : std::uint8_t {
  comm = 1,
  group,
  datatype,
  op,
  request,
  message,
  info,
  errhandler,
  session,
  win,
  file,
  // of the tools interface
  enumeration,
  control_handle,
  performance_handle,
  performance_session,
};

/// Whether no object of KIND is ever shown to the user a second time: their handles need no
/// share().
constexpr bool is_shown_once(HandleKind kind) {
  return kind == HandleKind::request || kind == HandleKind::message;
}

/// Handles below this are predefined by the ABI, or null handles, or garbage.
inline constexpr std::uint64_t predefined_end = 0x1000;

class HandleTable {
  static constexpr std::uint32_t none = 0xffffffff;

  struct Slot {
    core::Object* object = nullptr;
    std::atomic<std::uint32_t> generation{0};
    std::uint32_t extra_handles = 0;  // erase() calls that only count, see share()
    std::atomic<std::uint32_t> next_free{none};
  };

 public:
  explicit HandleTable(HandleKind kind)
      : live_bits_((static_cast<std::uint64_t>(kind) << kind_shift) | use_bit) {}
  ~HandleTable();
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  /// False: from now on no two threads insert or erase at the same time. True at first.
  void set_threaded(bool threaded) { threaded_ = threaded; }

  /// A live handle and where it leads. Means nothing once the handle was freed.
  class Place {
   public:
    [[nodiscard]] core::Object* object() const { return object_; }

   private:
    friend class HandleTable;
    Place(std::uint64_t handle, Slot* slot)
        : handle_(handle), slot_(slot), object_(slot == nullptr ? nullptr : slot->object) {}

    std::uint64_t handle_;
    Slot* slot_;
    core::Object* object_;
  };
  /// Whose object is null if HANDLE was freed, never existed, or is of another kind.
  [[nodiscard, gnu::always_inline]] Place look_up(std::uint64_t handle) const {
    return {handle, live_slot(handle)};
  }
  /// The object behind HANDLE; null where look_up() finds none.
  [[nodiscard, gnu::always_inline]] core::Object* find(std::uint64_t handle) const {
    return look_up(handle).object();
  }

  /// Gives a new object, that has no handle yet, its handle. Zero: 2^24 handles are in use. A
  /// pinned object keeps the handle of its first time for ever.
  std::uint64_t insert(Ref<core::Object> object) { return insert_owned(*object.leak()); }
  /// The same; takes over a reference to OBJECT.
  [[gnu::always_inline]] std::uint64_t insert_owned(core::Object& object) {
    return object.handle() != 0 ? insert_again(object) : insert_first(object);
  }
  /// For objects that may be shown to the user more than once (the group of a communicator): an
  /// object that has a handle keeps it, and needs one more erase() before the handle is stale.
  std::uint64_t share(Ref<core::Object> object);
  /// Returns the reference that HANDLE owned; null if HANDLE is stale.
  [[gnu::always_inline]] Ref<core::Object> erase(std::uint64_t handle) {
    const Place place = look_up(handle);
    if (place.object() == nullptr) [[unlikely]]
      return {};
    return erase(place);
  }
  /// The same for a handle that look_up() has found.
  [[gnu::always_inline]] Ref<core::Object> erase(const Place& place) {
    core::Object& object = *place.object_;
    if (!object.keeps_place()) return erase_slot(*place.slot_, place.handle_);
    end_handle(*place.slot_, object, place.handle_);
    return Ref<core::Object>::adopt(&object);
  }

  /// 31 bits for HANDLE, a live one.
  [[nodiscard]] static int to_int(std::uint64_t handle) {
    const auto generation = static_cast<std::uint32_t>(handle >> generation_shift);
    return static_cast<int>((handle & index_mask) |
                            (static_cast<std::uint64_t>((generation >> 1) & 0x7f) << 24));
  }
  /// The live handle that INTEGER stands for, or zero.
  [[nodiscard]] std::uint64_t from_int(int integer) const;

 private:
  static constexpr int kind_shift = 24;
  static constexpr int generation_shift = 32;
  static constexpr std::uint64_t index_mask = 0xffffff;
  static constexpr std::uint64_t use_bit = std::uint64_t{1} << generation_shift;
  static constexpr std::uint64_t first_index = predefined_end;
  static constexpr std::uint32_t slots_max = index_mask - first_index;
  // A slot's place is its index + first_chunk. Chunk c has those of first_chunk << c places, which
  // have the same highest bit.
  static constexpr std::uint32_t first_chunk = 64;
  static constexpr std::uint32_t first_chunk_bits = 6;
  static constexpr std::size_t chunks_max = 18;

  [[nodiscard]] HandleKind kind() const {
    return static_cast<HandleKind>((live_bits_ >> kind_shift) & 0xff);
  }
  /// Of the chunk that PLACE is in.
  [[nodiscard, gnu::always_inline]] std::uintptr_t origin_of(std::uint32_t place) const {
    const int highest_bit = 31 ^ __builtin_clz(place | 1);
    return origins_[static_cast<std::size_t>(highest_bit)].load(std::memory_order_acquire);
  }
  [[nodiscard, gnu::always_inline]] static Slot* slot_in(std::uintptr_t origin,
                                                         std::uint32_t place) {
    Slot* const slot = reinterpret_cast<Slot*>(origin + place * sizeof(Slot));
    if (slot == nullptr) __builtin_unreachable();
    return slot;
  }
  /// Null if no such slot was made yet. An index below zero is none.
  [[nodiscard, gnu::always_inline]] Slot* find_slot(std::uint32_t index) const {
    const std::uint32_t place = index + first_chunk;
    const std::uintptr_t origin = origin_of(place);
    return origin == 0 ? nullptr : slot_in(origin, place);
  }
  /// The slot that HANDLE, unless it is stale, leads to.
  [[nodiscard, gnu::always_inline]] Slot* live_slot(std::uint64_t handle) const {
    // A slot that is free has an even generation, which no handle of a user ever has.
    constexpr std::uint64_t kind_and_use_bits = use_bit | (std::uint64_t{0xff} << kind_shift);
    if ((handle & kind_and_use_bits) != live_bits_) return nullptr;
    Slot* const slot = find_slot(index_of(handle));
    if (slot == nullptr || slot->generation.load(std::memory_order_acquire) !=
                               static_cast<std::uint32_t>(handle >> generation_shift))
      return nullptr;
    return slot;
  }
  /// A slot that is known to exist.
  [[nodiscard, gnu::always_inline]] Slot& slot_at(std::uint32_t index) const {
    const std::uint32_t place = index + first_chunk;
    return *slot_in(origin_of(place), place);
  }
  [[nodiscard]] static std::uint32_t index_of(std::uint64_t handle) {
    return static_cast<std::uint32_t>((handle & index_mask) - first_index);
  }
  /// The slot of a handle that is or was live.
  [[nodiscard, gnu::always_inline]] Slot& slot_of(std::uint64_t handle) const {
    return slot_at(index_of(handle));
  }
  [[nodiscard]] std::uint64_t handle_of(std::uint32_t index, std::uint32_t generation) const {
    return (live_bits_ - use_bit) | (static_cast<std::uint64_t>(generation) << generation_shift) |
           (index + first_index);
  }
  Ref<core::Object> erase_slot(Slot& slot, std::uint64_t handle);
  /// HANDLE, a live one of SLOT, is stale from now on; its object gets the stale one that follows.
  static void end_handle(Slot& slot, core::Object& object, std::uint64_t handle) {
    const std::uint64_t next = handle + use_bit;
    object.set_handle(next);
    // Only the one that ends the handle gets here, so that a plain store will do.
    slot.generation.store(static_cast<std::uint32_t>(next >> generation_shift),
                          std::memory_order_release);
  }
  // Both take over a reference to OBJECT.
  std::uint64_t insert_first(core::Object& object);
  /// One that was here before, and is pinned or kept its place.
  std::uint64_t insert_again(core::Object& object) {
    const std::uint64_t stale = object.handle();
    if ((stale & use_bit) != 0) return stale;  // it isn't: the object is pinned
    const std::uint64_t handle = stale + use_bit;
    object.set_handle(handle);
    // The slot knows it already.
    slot_of(handle).generation.store(static_cast<std::uint32_t>(handle >> generation_shift),
                                     std::memory_order_release);
    return handle;
  }
  std::uint32_t pop_free();
  void push_free(std::uint32_t first, std::uint32_t last);
  /// Puts WANTED into free_ if that is still HEAD, which is brought up to date if not.
  bool exchange_free(std::uint64_t& head, std::uint64_t wanted, std::memory_order order);
  bool grow();

  const std::uint64_t live_bits_;  // what a handle that leads somewhere says of kind and use
  bool threaded_ = true;
  // By the highest bit of a place, whatever 32 bits it has: where place 0 would be if the chunk
  // began there, so that a place leads to its slot by one multiplication. Zero: there is no such
  // chunk, or not yet.
  std::array<std::atomic<std::uintptr_t>, 32> origins_{};
  // Low half: index of the first free slot; high half: a counter against ABA.
  std::atomic<std::uint64_t> free_{none};
  std::mutex growth_;
  std::mutex sharing_;
  std::array<std::unique_ptr<Slot[]>, chunks_max> chunks_;
  std::size_t chunk_count_ = 0;
};

}  // namespace hawser::binding
