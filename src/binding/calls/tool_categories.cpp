// The tools interface: categories (MPI-5.0 §15.3.9), and the events that there are none of
// (§15.3.8).
#include <algorithm>

#include "binding/calls/tool_names.hpp"
#include "binding/generated/tool.hpp"

namespace hawser::calls {

using base::Error;
using base::ErrorClass;
using tool::Category;

namespace {

/// As many as there is room for.
Result<void> copy_members(const Tools& tools, int cat_index, std::vector<int> Category::*members,
                          std::span<int> indices) {
  const Result<const Category*> category = element_of(tools.categories(), cat_index);
  if (!category) return category.error();
  const std::vector<int>& all = (*category)->*members;
  std::copy_n(all.begin(), std::min(all.size(), indices.size()), indices.begin());
  return {};
}

}  // namespace

Result<void> t_category_get_num(Tools& tools, int& num_cat) {
  num_cat = static_cast<int>(tools.categories().size());
  return {};
}

Result<void> t_category_get_info(Tools& tools, int cat_index, ToolText name, ToolText desc,
                                 OptionalOut<int> num_cvars, OptionalOut<int> num_pvars,
                                 OptionalOut<int> num_categories) {
  const Result<const Category*> found = element_of(tools.categories(), cat_index);
  if (!found) return found.error();
  const Category& category = **found;
  name.set(category.name);
  desc.set(category.sentence);
  num_cvars.set(static_cast<int>(category.controls.size()));
  num_pvars.set(static_cast<int>(category.performances.size()));
  num_categories.set(static_cast<int>(category.categories.size()));
  return {};
}

Result<void> t_category_get_index(Tools& tools, std::string_view name, int& cat_index) {
  return find_index(
      tools.categories(), [&](const Category& category) { return category.name == name; },
      cat_index);
}

Result<void> t_category_get_cvars(Tools& tools, int cat_index, std::span<int> indices) {
  return copy_members(tools, cat_index, &Category::controls, indices);
}

Result<void> t_category_get_pvars(Tools& tools, int cat_index, std::span<int> indices) {
  return copy_members(tools, cat_index, &Category::performances, indices);
}

Result<void> t_category_get_categories(Tools& tools, int cat_index, std::span<int> indices) {
  return copy_members(tools, cat_index, &Category::categories, indices);
}

// The lists are made once and never change.
Result<void> t_category_changed(Tools&, int& update_number) {
  update_number = 0;
  return {};
}

Result<void> t_category_get_num_events(Tools& tools, int cat_index, int& num_events) {
  const Result<const Category*> category = element_of(tools.categories(), cat_index);
  if (!category) return category.error();
  num_events = 0;
  return {};
}

Result<void> t_category_get_events(Tools& tools, int cat_index, std::span<int>) {
  const Result<const Category*> category = element_of(tools.categories(), cat_index);
  return category.ok() ? Result<void>() : category.error();
}

Result<void> t_event_get_num(Tools&, int& num_events) {
  num_events = 0;
  return {};
}

Result<void> t_event_get_index(Tools&, std::string_view, int&) {
  return Error(ErrorClass::t_invalid_name, "there are no events");
}

Result<void> t_source_get_num(Tools&, int& num_sources) {
  num_sources = 0;
  return {};
}

}  // namespace hawser::calls
