#include "binding/tools.hpp"

#include <string>

#include "binding/instance.hpp"
#include "binding/world.hpp"

namespace hawser::binding {
namespace {

/// The only thread that may call MPI is the one that is here.
bool is_only_caller() {
  const World& world = World::get();
  return world.is_running() && world.is_main_thread() &&
         world.thread_level() <= MPI_THREAD_FUNNELED;
}

}  // namespace

Tools& Tools::get() {
  static Tools* const tools = new Tools;
  return *tools;
}

Result<int> Tools::begin(int required) {
  if (categories_.empty()) HAWSER_TRY(make_lists());
  ++users_;
  if (required != MPI_THREAD_MULTIPLE) return required;
  return Instance::get().let_tools_look(is_only_caller()) ? MPI_THREAD_MULTIPLE
                                                          : MPI_THREAD_SERIALIZED;
}

Result<void> Tools::make_lists() {
  const Result<void> loaded = Instance::get().load_parameters();
  if (!loaded) return base::Error(base::ErrorClass::t_cannot_init, loaded.error().sentence());
  controls_ = Instance::get().control_variables();
  performances_ = tool::make_performance_variables();
  std::vector<std::string> control_names;
  for (const auto& variable : controls_) control_names.push_back(variable.description.name);
  std::vector<std::string> performance_names;
  for (const auto& variable : performances_) performance_names.push_back(variable.name);
  categories_ = tool::make_categories(control_names, performance_names);
  return {};
}

std::vector<std::uint64_t> Tools::read(const tool::PerformanceVariable& variable) {
  std::vector<std::uint64_t> numbers(variable.length);
  Instance::get().read(variable, numbers);
  return numbers;
}

}  // namespace hawser::binding
