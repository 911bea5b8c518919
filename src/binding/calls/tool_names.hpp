// What the calls of the tools interface share: indices, names, verbosities.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/result.hpp"
#include "base/verbosity.hpp"
#include "binding/mpi_abi.hpp"

namespace hawser::calls {

/// Element INDEX of LIST; MPI_T_ERR_INVALID_INDEX if there is none.
template <class T>
base::Result<const T*> element_of(const std::vector<T>& list, int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= list.size()) {
    return base::Error(base::ErrorClass::t_invalid_index,
                       fmt::format("index {} is not in [0,{})", index, list.size()));
  }
  return &list[static_cast<std::size_t>(index)];
}

/// The place in LIST of the one that IS_IT says; MPI_T_ERR_INVALID_NAME if there is none.
template <class T, class IsIt>
base::Result<void> find_index(const std::vector<T>& list, IsIt&& is_it, int& index) {
  const auto found = std::ranges::find_if(list, is_it);
  if (found == list.end())
    return base::Error(base::ErrorClass::t_invalid_name, "there is nothing of that name");
  index = static_cast<int>(found - list.begin());
  return {};
}

inline int verbosity_of(base::Verbosity verbosity) {
  switch (verbosity) {
    case base::Verbosity::user_basic:
      return MPI_T_VERBOSITY_USER_BASIC;
    case base::Verbosity::user_detail:
      return MPI_T_VERBOSITY_USER_DETAIL;
    case base::Verbosity::user_all:
      return MPI_T_VERBOSITY_USER_ALL;
    case base::Verbosity::tuner_basic:
      return MPI_T_VERBOSITY_TUNER_BASIC;
    case base::Verbosity::tuner_detail:
      return MPI_T_VERBOSITY_TUNER_DETAIL;
    case base::Verbosity::tuner_all:
      return MPI_T_VERBOSITY_TUNER_ALL;
    case base::Verbosity::developer_basic:
      return MPI_T_VERBOSITY_MPIDEV_BASIC;
    case base::Verbosity::developer_detail:
      return MPI_T_VERBOSITY_MPIDEV_DETAIL;
    case base::Verbosity::developer_all:
      break;
  }
  return MPI_T_VERBOSITY_MPIDEV_ALL;
}

}  // namespace hawser::calls
