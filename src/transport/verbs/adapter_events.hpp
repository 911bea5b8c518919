// AdapterEvents: what an adapter reports beside completions: of its ports and queues.
//
// Ownership: borrows the port's context. Threads: the lane lock.
#pragma once

#include "platform/file.hpp"
#include "transport/verbs/handles.hpp"

namespace hawser::transport::verbs {

class AdapterEvents {
 public:
  /// From now on looking for an event of CONTEXT does not wait for one.
  explicit AdapterEvents(ibv_context& context) : context_(context) {
    platform::never_wait_on(context.async_fd);
  }

  /// Readable while there is one.
  [[nodiscard]] int descriptor() const { return context_.async_fd; }
  /// Calls HANDLE(const ibv_async_event&) for each that is there. A call of the system: seldom.
  template <class Handle>
  void take(Handle&& handle) {
    ibv_async_event event{};
    while (ibv_get_async_event(&context_, &event) == 0) {
      handle(event);
      ibv_ack_async_event(&event);  // what it is about can't end before
    }
  }

 private:
  ibv_context& context_;
};

}  // namespace hawser::transport::verbs
