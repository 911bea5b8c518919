// The objects of MPI that no layer below gives a class: what the binding itself needs of them.
//
// Ownership: Ref<T>, like every object behind a handle.
#pragma once

#include <utility>

#include "core/attribute/attribute.hpp"
#include "core/errhandler/errhandler.hpp"
#include "core/info/info.hpp"
#include "core/object.hpp"

namespace hawser::binding {

using base::Ref;

/// An object that has an error handler and hints.
class HandlerOwner : public core::NamedObject {
 public:
  explicit HandlerOwner(Ref<core::Errhandler> errhandler) : errhandler_(std::move(errhandler)) {}
  [[nodiscard]] core::Errhandler& errhandler() const { return *errhandler_; }
  void set_errhandler(Ref<core::Errhandler> errhandler) { errhandler_ = std::move(errhandler); }
  /// Hints that the user set; may be null.
  [[nodiscard]] core::Info* info() const { return info_.get(); }
  void set_info(Ref<core::Info> info) { info_ = std::move(info); }

 private:
  Ref<core::Errhandler> errhandler_;
  Ref<core::Info> info_;
};

/// A session as the user sees it; what it holds alive is the business of session/.
class Session : public HandlerOwner {
 public:
  using HandlerOwner::HandlerOwner;
};

class Win : public HandlerOwner {
 public:
  using HandlerOwner::HandlerOwner;
  [[nodiscard]] core::AttributeSet& attributes() { return attributes_; }

 private:
  core::AttributeSet attributes_;
};

class File : public HandlerOwner {
 public:
  using HandlerOwner::HandlerOwner;
};

}  // namespace hawser::binding
