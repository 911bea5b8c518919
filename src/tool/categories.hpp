// Categories: parameters and counters by the first word of their names ("shm", "channel", …), all
// below one root (MPI-5.0 §15.3.9).
//
// Ownership: plain values, made once; an index is a place in the lists that they were made of.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hawser::tool {

struct Category {
  std::string name;
  std::string sentence;
  std::vector<int> controls;
  std::vector<int> performances;
  std::vector<int> categories;
};

/// The first one is the root; the others are in the order of their names.
std::vector<Category> make_categories(std::span<const std::string> controls,
                                      std::span<const std::string> performances);

/// What a category with this NAME is about; empty for one that nobody has described yet.
std::string_view category_sentence(std::string_view name);

}  // namespace hawser::tool
