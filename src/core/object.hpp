// Object: what every MPI object behind a handle has in common.
//
// Ownership: Ref<T> (base/ref.hpp). A handle in the binding's table holds one reference; operations
//            in flight hold their own, so that MPI_*_free never pulls an object from under them.
// Threads:   the binding serialises access to one object as the standard demands of the user;
//            reference counts are atomic.
#pragma once

#include <cstdint>
#include <string>

#include "base/ref.hpp"
#include "base/result.hpp"

namespace hawser::core {

using base::Error;
using base::ErrorClass;
using base::Ref;
using base::Result;

class Object : public base::RefCounted {
 public:
  /// The handle under which the binding shows this object to the user; 0 while it has none.
  /// Opaque to everything but the binding.
  [[nodiscard]] std::uint64_t handle() const { return handle_; }
  void set_handle(std::uint64_t handle) { handle_ = handle; }
  /// Of pooled objects: between two lives they keep their place in the binding's table, and their
  /// handle, which is stale then. Such an object must not end before the process does.
  [[nodiscard]] bool keeps_place() const { return keeps_place_; }

 protected:
  void keep_place() { keeps_place_ = true; }

 private:
  std::uint64_t handle_ = 0;
  bool keeps_place_ = false;
};

/// An object with a user-visible name (MPI-5.0 §7.8): at most 127 bytes, empty at first.
class NamedObject : public Object {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

 private:
  std::string name_;
};

}  // namespace hawser::core
