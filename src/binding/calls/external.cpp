// Statuses: what they say, and how users set them. Generalized requests stand in grequests.cpp.
#include "binding/generated/external.hpp"

namespace hawser::calls {

using core::Datatype;
using core::Status;

namespace {

/// Bytes of the packed stream of TYPE in which its first ELEMENTS basic elements are; -1 if
/// ELEMENTS is no number of elements that TYPE can have (a half of a pair).
Count bytes_of_elements(const Datatype& type, Count elements) {
  const Count per_item = type.elements_in(type.size());
  if (per_item <= 0) return 0;
  const Count whole = elements / per_item * type.size();
  const Count rest = elements % per_item;
  for (Count bytes = 0; bytes <= type.size(); ++bytes) {
    if (type.elements_in(bytes) == rest) return whole + bytes;
  }
  return -1;
}

}  // namespace

Result<void> get_count(Runtime&, const Status& status, Datatype& datatype, CountOut count) {
  if (datatype.size() == 0) {
    count.set(status.bytes == 0 ? 0 : MPI_UNDEFINED);
  } else if (status.bytes % datatype.size() != 0) {
    count.set(MPI_UNDEFINED);
  } else {
    count.set(status.bytes / datatype.size());
  }
  return {};
}

Result<void> get_elements(Runtime&, const Status& status, Datatype& datatype, CountOut count) {
  const Count elements = datatype.elements_in(status.bytes);
  count.set(elements >= 0 ? elements : MPI_UNDEFINED);
  return {};
}

Result<void> test_cancelled(Runtime&, const Status& status, int& flag) {
  flag = status.cancelled ? 1 : 0;
  return {};
}

Result<void> status_get_source(Runtime&, const Status& status, int& source) {
  source = status.source;
  return {};
}

Result<void> status_get_tag(Runtime&, const Status& status, int& tag) {
  tag = status.tag;
  return {};
}

Result<void> status_get_error(Runtime&, const Status& status, int& err) {
  err = status.error;
  return {};
}

Result<void> status_set_source(Runtime&, StatusInOut status, int source) {
  Status changed = status.get();
  changed.source = source;
  status.set(changed);
  return {};
}

Result<void> status_set_tag(Runtime&, StatusInOut status, int tag) {
  Status changed = status.get();
  changed.tag = tag;
  status.set(changed);
  return {};
}

Result<void> status_set_error(Runtime&, StatusInOut status, int err) {
  Status changed = status.get();
  changed.error = err;
  status.set(changed);
  return {};
}

Result<void> status_set_cancelled(Runtime&, StatusInOut status, bool flag) {
  Status changed = status.get();
  changed.cancelled = flag;
  status.set(changed);
  return {};
}

Result<void> status_set_elements(Runtime&, StatusInOut status, Datatype& datatype, Count count) {
  const Count bytes = bytes_of_elements(datatype, count);
  if (bytes < 0) {
    return base::Error(base::ErrorClass::count,
                       "argument 'count' is no number of whole elements of the datatype");
  }
  Status changed = status.get();
  changed.bytes = bytes;
  status.set(changed);
  return {};
}

}  // namespace hawser::calls
