#include "binding/world.hpp"

#include "binding/instance.hpp"
#include "bootstrap/variables.hpp"
#include "dynamic/spawn.hpp"

namespace hawser::binding {

World& World::get() {
  static World* const world = new World;
  return *world;
}

Result<void> World::begin(Runtime& runtime, int thread_level) {
  session::Process& process = Instance::get().process();
  thread_level_ = thread_level;
  main_thread_ = std::this_thread::get_id();
  const auto errhandler = Ref<core::Errhandler>::share(&runtime.initial_errhandler());
  world_ = process.comms().make_world(static_cast<int>(process.placement().size), errhandler);
  self_ = process.comms().make_self(errhandler);
  // Neither can be freed, and both are kept until the process exits.
  world_->pin();
  self_->pin();
  world_->set_handle(raw_handle(MPI_COMM_WORLD));
  self_->set_handle(raw_handle(MPI_COMM_SELF));
  runtime.set_predefined(raw_handle(MPI_COMM_WORLD), world_.get());
  runtime.set_predefined(raw_handle(MPI_COMM_SELF), self_.get());
  state_ = State::running;
  return connect_to_parents(runtime);
}

Result<void> World::connect_to_parents(Runtime& runtime) {
  const auto port = bootstrap::take_variable(dynamic::parent_port_variable);
  if (!port) return {};
  Result<Ref<core::Comm>> parent =
      Instance::get().process().connections().connect(*port, *world_, 0);
  if (!parent) return parent.take_error();
  (*parent)->set_name("MPI_COMM_PARENT");
  parent_ = runtime.show<core::Comm>(std::move(*parent));
  return {};
}

void World::show_parent(Runtime& runtime, HandleOut<core::Comm> parent) const {
  const bool is_there = parent_ != MPI_COMM_NULL && runtime.find<core::Comm>(parent_) != nullptr;
  parent.set_predefined(is_there ? parent_ : MPI_COMM_NULL);
}

Result<void> World::delete_attributes(Runtime&) {
  HAWSER_TRY(self_->attributes().clear(*self_));
  return world_->attributes().clear(*world_);
}

void World::end(Runtime& runtime) {
  state_ = State::ended;
  runtime.set_predefined(raw_handle(MPI_COMM_WORLD), nullptr);
  runtime.set_predefined(raw_handle(MPI_COMM_SELF), nullptr);
}

}  // namespace hawser::binding
