// Attributes that users cache on communicators, datatypes and windows (MPI-5.0 §7.7).
//
// Keyval:       a key with its copy and delete callbacks. Freed by the user, it lives on while any
//               object still has an attribute under it.
// AttributeSet: the attributes of one object, in the order in which they were set; deleted in the
//               opposite order (MPI-5.0 §7.7.4 and §11.2.2).
// Threads:      callbacks run without any lock of ours held (DESIGN §7).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/object.hpp"

namespace hawser::core {

enum class KeyvalKind : std::uint8_t { comm, type, win };

/// Returns an MPI error code (0: success); sets *flag to copy, with the new value in *value_out.
using AttributeCopy =
    std::function<int(Object& object, int keyval, void* value_in, void** value_out, bool* flag)>;
/// Returns an MPI error code (0: success).
using AttributeDelete = std::function<int(Object& object, int keyval, void* value)>;

class Keyval : public base::RefCounted {
 public:
  Keyval(KeyvalKind kind, int id, AttributeCopy copy, AttributeDelete destroy)
      : kind_(kind), id_(id), copy_(std::move(copy)), delete_(std::move(destroy)) {}
  [[nodiscard]] KeyvalKind kind() const { return kind_; }
  [[nodiscard]] int id() const { return id_; }
  /// Empty: the attribute is not copied (MPI_NULL_COPY_FN).
  [[nodiscard]] const AttributeCopy& copy() const { return copy_; }
  /// Empty: nothing to do (MPI_NULL_DELETE_FN).
  [[nodiscard]] const AttributeDelete& destroy() const { return delete_; }

 private:
  KeyvalKind kind_;
  int id_;
  AttributeCopy copy_;
  AttributeDelete delete_;
};

/// The keyvals that the user made. Ids are positive, never reused, and above those of the
/// predefined attributes (501..605). One per OS process; internally locked.
class KeyvalTable {
 public:
  KeyvalTable();
  ~KeyvalTable();
  int create(KeyvalKind kind, AttributeCopy copy, AttributeDelete destroy);
  /// MPI_ERR_KEYVAL unless ID is a live keyval of KIND.
  Result<Ref<Keyval>> find(KeyvalKind kind, int id) const;
  Result<void> free(KeyvalKind kind, int id);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class AttributeSet {
 public:
  /// Replaces (and first deletes, by callback) an earlier value under the same keyval.
  Result<void> set(Object& owner, Ref<Keyval> keyval, void* value);
  /// False if there is none.
  [[nodiscard]] bool get(int keyval, void** value) const;
  /// Calls the delete callback; its error keeps the attribute. No attribute: MPI_ERR_KEYVAL.
  Result<void> erase(Object& owner, int keyval);
  /// Copies what the copy callbacks allow, in the order of setting. On an error of a callback the
  /// rest is not copied; the caller gives TARGET up.
  Result<void> copy_to(Object& owner, AttributeSet& target) const;
  /// Deletes all, last set first. The first error is returned, after the others were deleted too.
  Result<void> clear(Object& owner);
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    Ref<Keyval> keyval;
    void* value;
  };
  std::vector<Entry> entries_;
};

}  // namespace hawser::core
