#include "sim/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/assert.hpp"
#include "base/sanitizers.hpp"

#if HAWSER_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#elif HAWSER_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace hawser::sim {

namespace {

constexpr std::size_t stack_bytes = 256UL * 1024;

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {
  const std::size_t guard_bytes = page_bytes();
  mapping_bytes_ = guard_bytes + stack_bytes;
  mapping_ = ::mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  HAWSER_ASSERT(mapping_ != MAP_FAILED);
  HAWSER_ASSERT(::mprotect(mapping_, guard_bytes, PROT_NONE) == 0);
  void* stack = static_cast<std::byte*>(mapping_) + guard_bytes;
  HAWSER_ASSERT(::getcontext(&context_) == 0);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = stack_bytes;
  context_.uc_link = nullptr;
  fiber_side_ = {nullptr, stack, stack_bytes};
  // makecontext() passes ints only.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
#if HAWSER_THREAD_SANITIZER
  fiber_side_.handle = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if HAWSER_THREAD_SANITIZER
  __tsan_destroy_fiber(fiber_side_.handle);
#endif
  ::munmap(mapping_, mapping_bytes_);
}

void Fiber::enter(unsigned high, unsigned low) {
  auto* fiber = reinterpret_cast<Fiber*>((static_cast<std::uintptr_t>(high) << 32) | low);
#if HAWSER_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &fiber->owner_side_.stack,
                                  &fiber->owner_side_.stack_bytes);
#endif
  fiber->body_();
  fiber->body_ = nullptr;
  fiber->done_ = true;
  fiber->switch_to_owner(true);
}

void Fiber::resume() {
  HAWSER_ASSERT(!done_);
  switch_to_fiber();
}

void Fiber::suspend() { switch_to_owner(false); }

void Fiber::switch_to_fiber() {
#if HAWSER_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&owner_side_.handle, fiber_side_.stack, fiber_side_.stack_bytes);
#elif HAWSER_THREAD_SANITIZER
  owner_side_.handle = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber_side_.handle, 0);
#endif
  ::swapcontext(&owner_, &context_);
#if HAWSER_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(owner_side_.handle, nullptr, nullptr);
#endif
}

/// FOR_EVER: the fiber is not resumed again.
void Fiber::switch_to_owner([[maybe_unused]] bool for_ever) {
#if HAWSER_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &fiber_side_.handle, owner_side_.stack,
                                 owner_side_.stack_bytes);
#elif HAWSER_THREAD_SANITIZER
  __tsan_switch_to_fiber(owner_side_.handle, 0);
#endif
  ::swapcontext(&context_, &owner_);
#if HAWSER_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fiber_side_.handle, &owner_side_.stack, &owner_side_.stack_bytes);
#endif
}

}  // namespace hawser::sim
