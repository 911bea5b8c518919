// ContentsBuilder: records a constructor's arguments as MPI_Type_get_contents shows them.
//
// Invariant: a type made by a large-count call has no addresses; what would be integers that count,
//            or addresses, are counts there, in the same order.
#pragma once

#include "core/datatype/datatype.hpp"

namespace hawser::core {

class ContentsBuilder {
 public:
  ContentsBuilder(Combiner combiner, bool large) {
    contents_.combiner = combiner;
    contents_.large = large;
  }

  ContentsBuilder& integer(int value) {
    contents_.integers.push_back(value);
    return *this;
  }
  ContentsBuilder& integers(std::span<const int> values) {
    contents_.integers.insert(contents_.integers.end(), values.begin(), values.end());
    return *this;
  }
  ContentsBuilder& count(Count value) {
    if (contents_.large) {
      contents_.counts.push_back(value);
    } else {
      contents_.integers.push_back(static_cast<int>(value));
    }
    return *this;
  }
  ContentsBuilder& counts(std::span<const Count> values) {
    for (const Count value : values) count(value);
    return *this;
  }
  ContentsBuilder& address(Count value) {
    (contents_.large ? contents_.counts : contents_.addresses).push_back(value);
    return *this;
  }
  ContentsBuilder& addresses(std::span<const Count> values) {
    for (const Count value : values) address(value);
    return *this;
  }
  ContentsBuilder& type(Datatype& type) {
    contents_.types.push_back(Ref<Datatype>::share(&type));
    return *this;
  }
  Datatype::Contents take() { return std::move(contents_); }

 private:
  Datatype::Contents contents_;
};

}  // namespace hawser::core
