// CallbackHandle: the handle of an object for a user's callback. An object that the user has freed
// while an operation still uses it gets one for the duration of the call.
#pragma once

#include "binding/runtime.hpp"

namespace hawser::binding {

template <class T>
class CallbackHandle {
 public:
  explicit CallbackHandle(core::Object& object)
      : temporary_(object.handle() == 0),
        handle_(temporary_ ? Runtime::get().show(Ref<T>::share(static_cast<T*>(&object)))
                           : c_handle<T>(object.handle())) {}
  ~CallbackHandle() {
    if (temporary_) static_cast<void>(Runtime::get().table<T>().erase(raw_handle(handle_)));
  }
  CallbackHandle(const CallbackHandle&) = delete;
  CallbackHandle& operator=(const CallbackHandle&) = delete;

  [[nodiscard]] typename HandleTraits<T>::c_type get() const { return handle_; }

 private:
  const bool temporary_;
  const typename HandleTraits<T>::c_type handle_;
};

}  // namespace hawser::binding
