// The objects behind the handles of libibverbs.
//
// A program sees a structure of libibverbs; ours begins with it and goes on with a pointer to the
// object. Ownership: the program's, from create to destroy; an object that others still use can't
// be destroyed (EBUSY). Threads: the adapter's lock, but for what never changes.
#pragma once

#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "platform/file.hpp"
#include "softrdma/queue/completion_queue.hpp"
#include "softrdma/queue/shared_receive_queue.hpp"
#include "softrdma/queue/tag_matcher.hpp"
#include "softrdma/verbs/adapter.hpp"
#include "softrdma/verbs/event_queue.hpp"
#include "softrdma/verbs/send_builder.hpp"

namespace softrdma::verbs {

template <class Visible, class Object>
struct Handle {
  Visible visible{};
  Object* object = nullptr;
};

/// The object of a handle that the program gave us.
template <class Object, class Visible>
Object& object_of(Visible* visible) {
  return *reinterpret_cast<typename Object::HandleType*>(visible)->object;
}

struct Context {
  // The last member of verbs_context is the ibv_context.
  verbs_context visible{};
  Adapter* adapter = nullptr;
  EventQueue<ibv_async_event> events;
  /// Stands for the device file that programs duplicate; nothing is read or written there.
  const hawser::platform::FileDescriptor descriptor{::memfd_create("softrdma", MFD_CLOEXEC)};

  static Context& of(ibv_context* context) {
    return *reinterpret_cast<Context*>(reinterpret_cast<std::byte*>(context) -
                                       offsetof(verbs_context, context));
  }
};

/// A promise of the program that one thread uses what is made with it; nothing follows from it.
struct ThreadDomain {
  using HandleType = Handle<ibv_td, ThreadDomain>;
  HandleType handle;
  int users = 0;
};

struct Domain {
  using HandleType = Handle<ibv_pd, Domain>;
  HandleType handle;
  std::uint32_t number = 0;
  int users = 0;
  Domain* parent = nullptr;  // of a parent domain (as the verbs call it): the one that it is about
  ThreadDomain* thread = nullptr;
};

struct DeviceMemory {
  using HandleType = Handle<ibv_dm, DeviceMemory>;
  DeviceMemory(std::size_t size, std::align_val_t aligned)
      : bytes(size),
        alignment(aligned),
        data(static_cast<std::byte*>(::operator new(size, aligned))) {
    std::memset(data, 0, bytes);
  }
  ~DeviceMemory() { ::operator delete(data, alignment); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  HandleType handle;
  const std::size_t bytes;
  const std::align_val_t alignment;
  std::byte* const data;
  int users = 0;
};

struct Region {
  using HandleType = Handle<ibv_mr, Region>;
  HandleType handle;
  DeviceMemory* device_memory = nullptr;  // if it is on that
};

struct Window {
  using HandleType = Handle<ibv_mw, Window>;
  HandleType handle;
};

struct AddressHandle {
  using HandleType = Handle<ibv_ah, AddressHandle>;
  HandleType handle;
  ibv_ah_attr attributes{};
};

struct CompletionQueue;
struct Channel {
  using HandleType = Handle<ibv_comp_channel, Channel>;
  HandleType handle;
  EventQueue<CompletionQueue*> events;
};

struct CompletionQueue final : private queue::CompletionListener {
  using HandleType = Handle<ibv_cq_ex, CompletionQueue>;
  explicit CompletionQueue(std::uint32_t capacity) : completions(capacity, *this) {}
  ~CompletionQueue() override;
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  /// The next completion, or the next solicited one, makes an event.
  void arm(bool solicited_only);

  HandleType handle;
  queue::CompletionQueue completions;
  queue::Completion current;  // between start_poll and end_poll
  Context* context = nullptr;
  Channel* channel = nullptr;
  int users = 0;
  // How many events were fetched; the program acknowledges each.
  std::uint32_t events_fetched = 0;
  std::uint32_t errors_fetched = 0;

 private:
  void on_completion_event() override;
  void on_overrun() override;
};

/// What XRC target queue pairs and their receive queues have in common.
struct XrcDomain {
  using HandleType = Handle<ibv_xrcd, XrcDomain>;
  HandleType handle;
  Context* context = nullptr;
  std::uint32_t number = 0;
  int users = 0;
};

struct SharedReceives final : private queue::LimitListener {
  using HandleType = Handle<ibv_srq, SharedReceives>;
  SharedReceives(std::uint32_t capacity, std::uint32_t entries_max)
      : queue(capacity, entries_max, *this) {}

  HandleType handle;
  queue::SharedReceiveQueue queue;
  Context* context = nullptr;
  int users = 0;
  std::uint32_t events_fetched = 0;
  // Of XRC, and of tag matching
  std::uint32_t number = 0;
  CompletionQueue* completions = nullptr;
  XrcDomain* xrc = nullptr;                 // of XRC
  std::unique_ptr<queue::TagMatcher> tags;  // of tag matching

 private:
  void on_limit_reached() override;
};

struct QueuePair final : EventListener {
  using HandleType = Handle<ibv_qp_ex, QueuePair>;

  HandleType handle;
  qp::QueuePair* inner = nullptr;
  Context* context = nullptr;
  ibv_qp_init_attr made_with{};
  XrcDomain* xrc = nullptr;  // of a target queue pair
  std::uint32_t events_fetched = 0;
  std::unique_ptr<SendBuilder> builder;  // of the extended interface, if it was asked for

  void on_event(ibv_event_type event) override;
};

}  // namespace softrdma::verbs
