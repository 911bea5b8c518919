// Processes that join and leave (MPI-5.0 §11.7 to §11.10).
#include "binding/generated/dynamic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "binding/calls/show.hpp"
#include "binding/generated/comms.hpp"
#include "binding/world.hpp"
#include "collective/collective.hpp"
#include "dynamic/join.hpp"
#include "dynamic/spawn.hpp"
#include "platform/find_program.hpp"

namespace hawser::calls {

using base::Error;
using base::ErrorClass;
using core::Comm;

namespace {

dynamic::Connections& connections(Runtime& runtime) { return runtime.process()->connections(); }

/// What matters at the root alone, and there is TEXT.
std::string text_at_root(const char* text) { return text == nullptr ? "" : text; }

/// Of one program: COMMAND with the arguments ARGV (may be null), PROCESSES times. INFO (may be
/// null): wdir; path, where to look for it. Other hints do not matter where there is one host, or
/// are the launcher's affair.
Result<bootstrap::SpawnProgram> program_of(const char* command, char** argv, int processes,
                                           const core::Info* info) {
  if (command == nullptr || *command == '\0')
    return Error(ErrorClass::arg, "the command is empty; a program's name would be right");
  if (processes < 1)
    return Error(ErrorClass::arg, fmt::format("maxprocs is {} for {}; 1 or more would be right",
                                              processes, command));
  bootstrap::SpawnProgram program{
      .command = {command}, .processes = static_cast<std::uint32_t>(processes), .directory = {}};
  for (; argv != nullptr && *argv != nullptr; ++argv) program.command.emplace_back(*argv);
  if (info == nullptr) return program;
  if (const auto directory = info->get("wdir")) program.directory = *directory;
  if (const auto path = info->get("path"))
    program.command.front() = platform::find_program(program.command.front(), *path);
  return program;
}

Result<void> spawn(Runtime& runtime, Result<bootstrap::SpawnRequest> request, int root, Comm& comm,
                   HandleOut<Comm> intercomm, std::span<int> codes) {
  session::Process& process = *runtime.process();
  Result<Ref<Comm>> made =
      dynamic::spawn(process.connections(), process.outside(), std::move(request), comm, root);
  std::ranges::fill(codes, made ? MPI_SUCCESS : made.error().code());
  if (!made) intercomm.set_predefined(MPI_COMM_NULL);
  return show(std::move(made), intercomm);
}

}  // namespace

Result<void> comm_spawn(Runtime& runtime, const char* command, char** argv, int maxprocs,
                        core::Info* info, int root, Comm& comm, HandleOut<Comm> intercomm,
                        int* array_of_errcodes) {
  Result<bootstrap::SpawnRequest> request = bootstrap::SpawnRequest{};
  const bool is_root = comm.rank() == root;
  if (is_root) {
    Result<bootstrap::SpawnProgram> program = program_of(command, argv, maxprocs, info);
    if (program) {
      request->programs.push_back(std::move(*program));
    } else {
      request = program.take_error();
    }
  }
  const std::size_t codes = array_of_errcodes == MPI_ERRCODES_IGNORE
                                ? 0
                                : static_cast<std::size_t>(std::max(maxprocs, 0));
  return spawn(runtime, std::move(request), root, comm, intercomm, {array_of_errcodes, codes});
}

Result<void> comm_spawn_multiple(Runtime& runtime, int count, char** array_of_commands,
                                 char*** array_of_argv, const int* array_of_maxprocs,
                                 const MPI_Info* array_of_info, int root, Comm& comm,
                                 HandleOut<Comm> intercomm, int* array_of_errcodes) {
  Result<bootstrap::SpawnRequest> request = bootstrap::SpawnRequest{};
  if (comm.rank() == root) {
    if (count < 1 || array_of_commands == nullptr || array_of_maxprocs == nullptr)
      request = Error(ErrorClass::arg,
                      fmt::format("count is {} or an array is missing; 1 or more programs, with "
                                  "their numbers of processes, would be right",
                                  count));
    for (int i = 0; request && i < count; ++i) {
      const core::Info* const info =
          array_of_info == nullptr ? nullptr : runtime.find<core::Info>(array_of_info[i]);
      Result<bootstrap::SpawnProgram> program = program_of(
          array_of_commands[i], array_of_argv == MPI_ARGVS_NULL ? nullptr : array_of_argv[i],
          array_of_maxprocs[i], info);
      if (program) {
        request->programs.push_back(std::move(*program));
      } else {
        request = program.take_error();
      }
    }
  }
  const bool has_codes = array_of_errcodes != MPI_ERRCODES_IGNORE && array_of_maxprocs != nullptr;
  std::size_t codes = 0;
  for (int i = 0; has_codes && i < count; ++i)
    codes += static_cast<std::size_t>(std::max(array_of_maxprocs[i], 0));
  return spawn(runtime, std::move(request), root, comm, intercomm, {array_of_errcodes, codes});
}

/// Both sides have sent what they had to, and hear of it.
Result<void> comm_disconnect(Runtime& runtime, HandleInOut<Comm> comm) {
  if (!comm.is_predefined())
    HAWSER_TRY(collective::barrier(runtime.process()->blocking(), *comm.get(), {}));
  return comm_free(runtime, comm);
}

Result<void> open_port(Runtime& runtime, core::Info*, StringOut port_name) {
  const Result<std::string> name = connections(runtime).ports().open();
  if (!name) return name.error();
  port_name.set(*name);
  return {};
}

Result<void> close_port(Runtime& runtime, std::string_view port_name) {
  return connections(runtime).ports().close(port_name);
}

Result<void> comm_accept(Runtime& runtime, const char* port_name, core::Info*, int root, Comm& comm,
                         HandleOut<Comm> newcomm) {
  return show(connections(runtime).accept(text_at_root(port_name), comm, root), newcomm);
}

Result<void> comm_connect(Runtime& runtime, const char* port_name, core::Info*, int root,
                          Comm& comm, HandleOut<Comm> newcomm) {
  return show(connections(runtime).connect(text_at_root(port_name), comm, root), newcomm);
}

Result<void> comm_join(Runtime& runtime, int fd, HandleOut<Comm> intercomm) {
  session::Process& process = *runtime.process();
  const Ref<Comm> self =
      process.comms().make_self(Ref<core::Errhandler>::share(&runtime.initial_errhandler()));
  return show(dynamic::join(connections(runtime), fd, *self), intercomm);
}

Result<void> publish_name(Runtime& runtime, std::string_view service_name, core::Info*,
                          std::string_view port_name) {
  return runtime.process()->bootstrap().publish_name(service_name, port_name);
}

Result<void> lookup_name(Runtime& runtime, std::string_view service_name, core::Info*,
                         StringOut port_name) {
  const Result<std::string> name = runtime.process()->bootstrap().look_up_name(service_name);
  if (!name) return name.error();
  port_name.set(*name);
  return {};
}

Result<void> unpublish_name(Runtime& runtime, std::string_view service_name, core::Info*,
                            std::string_view) {
  return runtime.process()->bootstrap().unpublish_name(service_name);
}

Result<void> comm_get_parent(Runtime& runtime, HandleOut<Comm> parent) {
  World::get().show_parent(runtime, parent);
  return {};
}

}  // namespace hawser::calls
