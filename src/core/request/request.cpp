#include "core/request/request.hpp"

#include <fmt/format.h>

namespace hawser::core {
namespace {

const char* operation_name(RequestKind kind) {
  switch (kind) {
    case RequestKind::send:
      return "a send";
    case RequestKind::receive:
      return "a receive";
    case RequestKind::collective:
      return "a collective operation";
    case RequestKind::generalized:
      return "a generalized request";
    case RequestKind::partitioned:
      return "a partitioned operation";
    case RequestKind::composite:
      return "a combined operation";
  }
  return "an operation";
}

}  // namespace

Result<void> Request::start() {
  return Error(ErrorClass::request,
               fmt::format("the request is of {} that is under way already; only persistent and "
                           "partitioned requests can be started",
                           operation_name(kind_)));
}

Result<void> Request::cancel() {
  return Error(ErrorClass::request, fmt::format("the request is of {}, which cannot be cancelled",
                                                operation_name(kind_)));
}

void Request::finish_status(Status& /*status*/) {}

void Request::adopt(Request& part) {
  status_ = part.status();
  part.finish_status(status_);
  if (part.error() != nullptr) error_ = std::make_unique<Error>(*part.error());
}

Result<void> Request::restart() {
  if (active_) {
    return Error(ErrorClass::request,
                 "the request is active: it can be started again once a wait or test has completed "
                 "it");
  }
  activate();
  return {};
}

}  // namespace hawser::core
