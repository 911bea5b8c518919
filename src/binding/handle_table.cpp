#include "binding/handle_table.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace hawser::binding {

HandleTable::~HandleTable() {
  for (std::size_t c = 0; c < chunk_count_; ++c) {
    for (std::size_t i = 0; i < std::size_t{first_chunk} << c; ++i) {
      const Slot& slot = chunks_[c][i];
      if (slot.generation.load(std::memory_order_relaxed) % 2 == 1) slot.object->release();
    }
  }
}

std::uint64_t HandleTable::insert_first(core::Object& object) {
  const std::uint32_t index = pop_free();
  if (index == none) [[unlikely]] {
    object.release();
    return 0;
  }
  Slot& slot = slot_at(index);
  const std::uint32_t generation = slot.generation.load(std::memory_order_relaxed) + 1;
  const std::uint64_t handle = handle_of(index, generation);
  object.set_handle(handle);
  slot.object = &object;
  // release: whoever learns the handle from another thread sees the object.
  slot.generation.store(generation, std::memory_order_release);
  return handle;
}

std::uint64_t HandleTable::share(Ref<core::Object> object) {
  const std::scoped_lock lock(sharing_);
  const std::uint64_t handle = object->handle();
  if (handle == 0) return insert(std::move(object));
  if (handle < predefined_end) return handle;
  HAWSER_ASSERT(find(handle) == object.get());
  ++slot_of(handle).extra_handles;
  return handle;
}

Ref<core::Object> HandleTable::erase_slot(Slot& slot, std::uint64_t handle) {
  core::Object* const object = slot.object;
  if (object->is_pinned()) return Ref<core::Object>::share(object);
  if (!is_shown_once(kind())) {
    const std::scoped_lock lock(sharing_);
    if (slot.extra_handles > 0) {
      --slot.extra_handles;
      return Ref<core::Object>::share(object);
    }
  }
  end_handle(slot, *object, handle);
  object->set_handle(0);
  const auto index = static_cast<std::uint32_t>((handle & index_mask) - first_index);
  push_free(index, index);
  return Ref<core::Object>::adopt(object);
}

std::uint64_t HandleTable::from_int(int integer) const {
  const std::uint64_t position = static_cast<std::uint64_t>(integer) & index_mask;
  if (integer < 0 || position < first_index || position - first_index > slots_max) return 0;
  const auto index = static_cast<std::uint32_t>(position - first_index);
  const Slot* const slot = find_slot(index);
  if (slot == nullptr) return 0;
  const std::uint32_t generation = slot->generation.load(std::memory_order_acquire);
  const std::uint64_t handle = handle_of(index, generation);
  return generation % 2 == 1 && to_int(handle) == integer ? handle : 0;
}

inline bool HandleTable::exchange_free(std::uint64_t& head, std::uint64_t wanted,
                                       std::memory_order order) {
  if (threaded_) [[unlikely]]
    return free_.compare_exchange_weak(head, wanted, order, std::memory_order_acquire);
  free_.store(wanted, std::memory_order_relaxed);
  return true;
}

std::uint32_t HandleTable::pop_free() {
  std::uint64_t head = free_.load(std::memory_order_acquire);
  for (;;) {
    const auto index = static_cast<std::uint32_t>(head);
    if (index == none) {
      if (!grow()) return none;
      head = free_.load(std::memory_order_acquire);
      continue;
    }
    // May be stale if another thread took the slot meanwhile; the counter makes the exchange fail.
    const std::uint32_t next = slot_at(index).next_free.load(std::memory_order_relaxed);
    const std::uint64_t wanted = (((head >> 32) + 1) << 32) | next;
    if (exchange_free(head, wanted, std::memory_order_acquire)) return index;
  }
}

void HandleTable::push_free(std::uint32_t first, std::uint32_t last) {
  Slot& tail = slot_at(last);
  std::uint64_t head = free_.load(std::memory_order_relaxed);
  std::uint64_t wanted = 0;
  do {
    tail.next_free.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    wanted = (((head >> 32) + 1) << 32) | first;
    // release: the slot's contents and the chain are visible to whoever pops it.
  } while (!exchange_free(head, wanted, std::memory_order_release));
}

bool HandleTable::grow() {
  const std::scoped_lock lock(growth_);
  if (static_cast<std::uint32_t>(free_.load(std::memory_order_acquire)) != none) return true;
  const std::uint32_t first = (first_chunk << chunk_count_) - first_chunk;
  if (chunk_count_ == chunks_max || first > slots_max) return false;
  const std::uint32_t size = std::min(first_chunk << chunk_count_, slots_max - first + 1);
  chunks_[chunk_count_] = std::make_unique<Slot[]>(std::size_t{first_chunk} << chunk_count_);
  Slot* const slots = chunks_[chunk_count_].get();
  for (std::uint32_t i = 0; i + 1 < size; ++i) {
    slots[i].next_free.store(first + i + 1, std::memory_order_relaxed);
  }
  const std::uint32_t first_place = first + first_chunk;
  origins_[first_chunk_bits + chunk_count_++].store(
      reinterpret_cast<std::uintptr_t>(slots) - first_place * sizeof(Slot),
      std::memory_order_release);
  push_free(first, first + size - 1);
  return true;
}

}  // namespace hawser::binding
