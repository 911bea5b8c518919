#include "core/request/composite_request.hpp"

namespace hawser::core {

void CompositeRequest::finish_status(Status& status) {
  if (!finished_) {
    finished_ = true;
    if (status_part_ < parts_.size() && parts_[status_part_]) adopt(*parts_[status_part_]);
    for (std::size_t i = 0; i < parts_.size() && error() == nullptr; ++i) {
      if (parts_[i] && parts_[i]->error() != nullptr) fail(*parts_[i]->error());
    }
  }
  status = this->status();
}

}  // namespace hawser::core
