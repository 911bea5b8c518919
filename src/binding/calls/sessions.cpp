// Initialization, the world model, sessions (MPI-5.0 chapter 11).
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <thread>

#include "binding/generated/sessions.hpp"
#include "binding/instance.hpp"
#include "binding/world.hpp"

namespace hawser::calls {

using base::Error;
using base::ErrorClass;
using core::Comm;

namespace {

constexpr std::string_view world_pset = "mpi://WORLD";
constexpr std::string_view self_pset = "mpi://SELF";
constexpr std::array<std::string_view, 2> psets = {world_pset, self_pset};

constexpr int known_levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                MPI_THREAD_MULTIPLE};
constexpr std::string_view level_names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                            "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};

Result<std::string_view> name_of_level(int level) {
  for (std::size_t i = 0; i < std::size(known_levels); ++i)
    if (known_levels[i] == level) return level_names[i];
  return Error(
      ErrorClass::arg,
      fmt::format("argument 'required' is {}; it must be one of the MPI_THREAD levels", level));
}

std::string read_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (char& c : text)
    if (c == '\0') c = ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// The keys of MPI_INFO_ENV (MPI-5.0 §11.2.1).
Result<void> fill_info_env(Runtime& runtime, std::string_view thread_level) {
  auto& info = runtime.predefined<core::Info>(raw_handle(MPI_INFO_ENV));
  const std::string command_line = read_command_line();
  const std::size_t blank = std::min(command_line.find(' '), command_line.size());
  const auto set = [&](std::string_view key, std::string_view value) {
    return value.empty() ? Result<void>()
                         : info.set(key, value.substr(0, core::Info::value_bytes_max));
  };
  std::array<char, 4096> directory{};
  const bool has_directory = ::getcwd(directory.data(), directory.size()) != nullptr;
  utsname system{};
  ::uname(&system);
  HAWSER_TRY(set("command", command_line.substr(0, blank)));
  HAWSER_TRY(
      set("argv", std::string_view(command_line).substr(std::min(blank + 1, command_line.size()))));
  HAWSER_TRY(set("maxprocs", std::to_string(Instance::get().process().placement().size)));
  HAWSER_TRY(set("host", system.nodename));
  HAWSER_TRY(set("arch", system.machine));
  HAWSER_TRY(set("wdir", has_directory ? directory.data() : ""));
  return set("thread_level", thread_level);
}

Result<void> refuse_second_init() {
  if (!World::get().was_initialized()) return {};
  return Error(ErrorClass::other, "MPI has been initialised already; it may be only once");
}

Result<std::string_view> check_pset(std::string_view name) {
  for (const std::string_view known : psets)
    if (known == name) return known;
  return Error(ErrorClass::arg, fmt::format("there is no process set '{}'; this process is in {} "
                                            "and {}",
                                            name, world_pset, self_pset));
}

}  // namespace

Result<void> init(Runtime& runtime, int* argc, char*** argv) {
  int provided = 0;
  return init_thread(runtime, argc, argv, MPI_THREAD_SINGLE, provided);
}

Result<void> init_thread(Runtime& runtime, int*, char***, int required, int& provided) {
  HAWSER_TRY(refuse_second_init());
  const Result<std::string_view> level = name_of_level(required);
  if (!level) return level.error();
  HAWSER_TRY(Instance::get().acquire(runtime, required == MPI_THREAD_MULTIPLE));
  HAWSER_TRY(World::get().begin(runtime, required));
  provided = required;
  return fill_info_env(runtime, *level);
}

Result<void> finalize(Runtime& runtime) {
  if (!World::get().is_running())
    return Error(ErrorClass::other, "MPI was not initialised by MPI_Init, or has been finalised");
  // Attributes of MPI_COMM_SELF go first: libraries hang their clean-up on them (§11.2.2).
  HAWSER_TRY(World::get().delete_attributes(runtime));
  HAWSER_TRY(Instance::get().release(runtime, true));
  World::get().end(runtime);
  return {};
}

Result<void> initialized(Runtime&, int& flag) {
  flag = World::get().was_initialized() ? 1 : 0;
  return {};
}

Result<void> finalized(Runtime&, int& flag) {
  flag = World::get().was_initialized() && !World::get().is_running() ? 1 : 0;
  return {};
}

Result<void> query_thread(Runtime&, int& provided) {
  provided = World::get().thread_level();
  return {};
}

Result<void> is_thread_main(Runtime&, int& flag) {
  flag = World::get().is_main_thread() ? 1 : 0;
  return {};
}

Result<void> abort(Runtime&, Comm& comm, int errorcode) {
  Instance::get().abort(
      errorcode, fmt::format("MPI_Abort on {} with code {}",
                             comm.name().empty() ? "a communicator" : comm.name(), errorcode));
}

Result<void> session_init(Runtime& runtime, core::Info* info, core::Errhandler& errhandler,
                          HandleOut<Session> session) {
  std::string_view level = "MPI_THREAD_MULTIPLE";
  if (info != nullptr)
    if (const auto wanted = info->get("thread_level"))
      for (const std::string_view known : level_names)
        if (known == *wanted) level = known;
  HAWSER_TRY(Instance::get().acquire(runtime, level == "MPI_THREAD_MULTIPLE"));
  auto made = base::make_ref<Session>(Ref<core::Errhandler>::share(&errhandler));
  auto used = base::make_ref<core::Info>();
  HAWSER_TRY(used->set("thread_level", level));
  made->set_info(std::move(used));
  session.set(std::move(made));
  return {};
}

Result<void> session_finalize(Runtime& runtime, HandleInOut<Session> session) {
  Instance::get().process().buffered_sends().drop(session.get());
  session.take();
  return Instance::get().release(runtime, false);
}

Result<void> session_get_num_psets(Runtime&, Session&, core::Info*, int& npset_names) {
  npset_names = static_cast<int>(psets.size());
  return {};
}

Result<void> session_get_nth_pset(Runtime&, Session&, core::Info*, int n, int& pset_len,
                                  StringOut pset_name) {
  if (n < 0 || static_cast<std::size_t>(n) >= psets.size())
    return Error(ErrorClass::arg,
                 fmt::format("argument 'n' is {}; it must be in [0,{})", n, psets.size()));
  const std::string_view name = psets[static_cast<std::size_t>(n)];
  const int room = pset_len;
  pset_len = static_cast<int>(name.size()) + 1;
  if (room > 0) pset_name.with_capacity(room).set(name);
  return {};
}

Result<void> session_get_pset_info(Runtime&, Session&, std::string_view pset_name,
                                   HandleOut<core::Info> info) {
  const Result<std::string_view> known = check_pset(pset_name);
  if (!known) return known.error();
  auto made = base::make_ref<core::Info>();
  const std::uint32_t size = *known == world_pset ? Instance::get().process().placement().size : 1;
  HAWSER_TRY(made->set("mpi_size", std::to_string(size)));
  info.set(std::move(made));
  return {};
}

Result<void> session_get_info(Runtime&, Session& session, HandleOut<core::Info> info_used) {
  info_used.set(session.info()->duplicate());
  return {};
}

Result<void> group_from_session_pset(Runtime&, Session& session, std::string_view pset_name,
                                     HandleOut<core::Group> newgroup) {
  const Result<std::string_view> known = check_pset(pset_name);
  if (!known) return known.error();
  const bootstrap::Placement& placement = Instance::get().process().placement();
  Ref<core::Group> group =
      *known == world_pset
          ? core::Group::of_stride(placement.self.job, 0, 1, static_cast<int>(placement.size))
          : core::Group::of_list({placement.self});
  group->set_session(&session);
  newgroup.set(std::move(group));
  return {};
}

}  // namespace hawser::calls
