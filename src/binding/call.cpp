#include "binding/call.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "session/version.hpp"

namespace hawser::binding {

namespace {

std::string name_of(const core::Comm& comm) {
  return comm.name().empty() ? "the communicator" : comm.name();
}

bool ends_job(const core::Errhandler& handler) {
  return handler.kind() == core::ErrhandlerKind::errors_are_fatal ||
         handler.kind() == core::ErrhandlerKind::errors_abort;
}

/// Prints the sentence and ends the job.
[[noreturn]] void die(Runtime& runtime, int code, std::string_view sentence) {
  Job* const job = runtime.job();
  const std::string line = job == nullptr
                               ? fmt::format("hawser: {}\n", sentence)
                               : fmt::format("hawser: [rank {}] {}\n", job->world_rank(), sentence);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(nullptr);
  if (job != nullptr) job->abort(code, sentence);
  std::_Exit(code > 0 && code < 256 ? code : EXIT_FAILURE);
}

}  // namespace

int Call::not_built() {
  return raise(Error(ErrorClass::unsupported_operation,
                     fmt::format("not built yet in Hawser {}", session::version())));
}

std::vector<core::Request*> Call::request_objects(const MPI_Request* first, Count length,
                                                  const char* argument) {
  array(first, length, argument);
  if (failed()) [[unlikely]]
    return {};
  std::vector<core::Request*> objects(static_cast<std::size_t>(length));
  // Sends that were complete at once have the same handle.
  MPI_Request known = MPI_REQUEST_NULL;
  core::Request* known_object = nullptr;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (first[i] == MPI_REQUEST_NULL) continue;
    if (first[i] != known) {
      known_object = object<core::Request>(first[i], argument);
      if (known_object == nullptr) [[unlikely]]
        return {};
      known = first[i];
    }
    objects[i] = known_object;
  }
  return objects;
}

void Call::check_types(const MPI_Datatype* first, Count length, const char* argument,
                       bool committed_only) {
  array(first, length, argument);
  for (Count i = 0; i < length && !failed(); ++i) {
    if (committed_only) {
      committed(first[i], argument);
    } else {
      object<core::Datatype>(first[i], argument);
    }
  }
}

void Call::counts(const CountArray& values, const char* argument) {
  if (values.is_null() && values.size() > 0) return fail_null(argument);
  for (Count i = 0; i < values.size(); ++i) {
    if (values[i] < 0) {
      return fail(ErrorClass::count, fmt::format("argument '{}[{}]' is {}; it must not be negative",
                                                 argument, i, values[i]));
    }
  }
}

void Call::fail(ErrorClass error_class, std::string sentence) {
  if (error_ == nullptr) error_ = std::make_unique<Error>(error_class, std::move(sentence));
}

void Call::fail_phase() {
  fail(ErrorClass::other, runtime_.phase() == Phase::before_init
                              ? "MPI is not initialized; call MPI_Init or MPI_Session_init first"
                              : "MPI has been finalized already");
}

void Call::fail_handle(std::uint64_t handle, std::uint64_t null, const char* type,
                       ErrorClass error_class, const char* argument) {
  if (handle == null) {
    return fail(error_class, fmt::format("argument '{}' is the null handle of {}", argument, type));
  }
  fail(error_class, fmt::format("argument '{}' ({:#x}) is no {}: it was freed, or never was one",
                                argument, handle, type));
}

void Call::fail_uncommitted(const char* argument) {
  fail(ErrorClass::type,
       fmt::format("the datatype in argument '{}' is not committed; call MPI_Type_commit first",
                   argument));
}

void Call::fail_negative(Count value, ErrorClass error_class, const char* argument) {
  fail(error_class, fmt::format("argument '{}' is {}; it must not be negative", argument, value));
}

void Call::fail_rank(int rank, const core::Comm& comm, ErrorClass error_class,
                     const char* argument) {
  const bool is_argument_rank =
      std::string_view(argument) == "dest" || std::string_view(argument) == "source";
  fail(error_class,
       fmt::format("{} {} is not in [0,{}) of {}", is_argument_rank ? "rank" : argument, rank,
                   comm.peer_count(), name_of(comm)));
}

void Call::fail_tag(int tag, const char* argument) {
  fail(ErrorClass::tag,
       fmt::format("argument '{}' is {}; it must be in [0,{}]", argument, tag, p2p::tag_max));
}

void Call::fail_in_place() {
  fail(ErrorClass::buffer,
       "MPI_IN_PLACE is allowed on intracommunicators only, and in rooted calls only at the root");
}

void Call::fail_null(const char* argument) {
  fail(ErrorClass::arg, fmt::format("argument '{}' is a null pointer", argument));
}

void Call::check_null_buffer(const core::Datatype* type, const char* argument) {
  if (type == nullptr || !type->is_named() || type->size() == 0) return;
  fail(ErrorClass::buffer,
       fmt::format("argument '{}' is a null pointer although there is data to move", argument));
}

core::Errhandler* errhandler_of(core::Object* object) {
  if (auto* const comm = dynamic_cast<core::Comm*>(object)) return &comm->errhandler();
  if (auto* const owner = dynamic_cast<HandlerOwner*>(object)) return &owner->errhandler();
  return nullptr;
}

int call_errhandler(Runtime& runtime, core::Errhandler& handler, core::Object* object, int code,
                    std::string_view sentence) {
  if (ends_job(handler)) die(runtime, code, sentence);
  if (handler.kind() == core::ErrhandlerKind::errors_return || object == nullptr) return code;
  // Both stay alive while the user's function runs, whatever it frees.
  const auto handler_alive = Ref<core::Errhandler>::share(&handler);
  const auto object_alive = Ref<core::Object>::share(object);
  handler.function()(*object, code);
  return code;
}

int Call::raise(const Error& error) {
  const int code = error.code();
  core::Object* object = blamed_;
  core::Errhandler* handler = errhandler_of(object);
  if (handler == nullptr) {
    object = runtime_.self();
    handler = object != nullptr ? errhandler_of(object) : &runtime_.initial_errhandler();
  }
  if (!ends_job(*handler)) return call_errhandler(runtime_, *handler, object, code, {});
  auto error_class = runtime_.errors().class_of(code);
  const char* const class_name = error_class.ok() ? error_class_name(error_class.value()) : nullptr;
  const std::string label =
      class_name != nullptr ? std::string(class_name) : fmt::format("error code {}", code);
  return call_errhandler(runtime_, *handler, object, code,
                         fmt::format("{}: {} ({})", function_, error.sentence(), label));
}

}  // namespace hawser::binding
