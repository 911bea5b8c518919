// World: the world model of this OS process: MPI_COMM_WORLD and MPI_COMM_SELF, between MPI_Init and
// MPI_Finalize (MPI-5.0 §11.2). It can be entered once.
//
// Ownership: one global of the binding, never destroyed; owns the two communicators.
// Threads:   begin and end are called by one thread each.
#pragma once

#include <atomic>
#include <thread>

#include "base/result.hpp"
#include "binding/arguments.hpp"
#include "binding/runtime.hpp"

namespace hawser::binding {

using base::Result;

class World {
 public:
  static World& get();

  /// Also connects with the processes that have spawned this one's job, if such did.
  Result<void> begin(Runtime& runtime, int thread_level);
  /// Deletes the attributes of MPI_COMM_SELF, then those of MPI_COMM_WORLD, last set first.
  Result<void> delete_attributes(Runtime& runtime);
  void end(Runtime& runtime);

  /// The communicator with the parents, if there is one and it was not ended yet.
  void show_parent(Runtime& runtime, HandleOut<core::Comm> parent) const;

  [[nodiscard]] bool was_initialized() const { return state_ != State::before; }
  [[nodiscard]] bool is_running() const { return state_ == State::running; }
  [[nodiscard]] int thread_level() const { return thread_level_; }
  [[nodiscard]] bool is_main_thread() const { return std::this_thread::get_id() == main_thread_; }

 private:
  Result<void> connect_to_parents(Runtime& runtime);

  enum class State : std::uint8_t { before, running, ended };

  std::atomic<State> state_{State::before};
  int thread_level_ = 0;
  std::thread::id main_thread_ = std::this_thread::get_id();
  Ref<core::Comm> world_;
  Ref<core::Comm> self_;
  MPI_Comm parent_ = MPI_COMM_NULL;
};

}  // namespace hawser::binding
