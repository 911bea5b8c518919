// What the calls of several chapters need: the engine, and new handles for what was made.
#pragma once

#include "binding/arguments.hpp"
#include "session/process.hpp"

namespace hawser::calls {

inline p2p::Engine& engine(binding::Runtime& runtime) { return runtime.process()->engine(); }

/// Shows what was MADE under a new handle.
template <class T>
[[gnu::always_inline]] inline base::Result<void> show(base::Result<base::Ref<T>> made,
                                                      binding::HandleOut<T> out) {
  if (!made) return made.take_error();
  out.set(std::move(*made));
  return {};
}

}  // namespace hawser::calls
