// CompositeRequest: several requests that complete as one; with none, a request that is complete
// from the start.
//
// Ownership: holds its parts. Memory that they need is the business of derived classes.
// Threads:   see Request.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "core/request/parts.hpp"

namespace hawser::core {

class CompositeRequest : public Request {
 public:
  static constexpr std::size_t no_part = std::numeric_limits<std::size_t>::max();

  /// Errors are raised on OWNER (may be null). The status is that of part number STATUS_PART, else
  /// empty; the error is that part's, else the first one among the others.
  CompositeRequest(RequestKind kind, Ref<Object> owner, std::vector<Ref<Request>> parts,
                   std::size_t status_part = no_part)
      : Request(kind, false, Completion::derived),
        owner_(std::move(owner)),
        parts_(std::move(parts)),
        status_part_(status_part) {}

  void finish_status(Status& status) override;
  [[nodiscard]] Object* error_object() const override { return owner_.get(); }

 protected:
  [[nodiscard]] bool are_parts_complete() const override { return parts_.are_complete(); }
  [[nodiscard]] bool are_parts_interrupted() const override { return parts_.are_interrupted(); }

 private:
  Ref<Object> owner_;
  Parts parts_;
  const std::size_t status_part_;
  bool finished_ = false;
};

}  // namespace hawser::core
