// Call: one call of an MPI function, from the check of its arguments to the raising of its error.
//
// A generated binding makes one, has it check and convert every argument, makes one call into
// hawser::calls unless something failed, and returns finish(). The first failed check counts; after
// it the others may be given null objects and look at nothing.
//
// Errors:  raised on the object of the call (communicator, session, …); for calls without one, on
//          MPI_COMM_SELF; before initialisation, by the initial error handler.
// Threads: on the stack of its thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.hpp"
#include "binding/arguments.hpp"
#include "binding/runtime.hpp"

namespace hawser::binding {

using base::Error;
using base::Result;

/// Whether a function may be called before initialisation and after the end (MPI-5.0 §11.4.1).
enum class Needs : std::uint8_t { running, nothing };

class Call {
 public:
  explicit Call(const char* function, Needs needs = Needs::running)
      : function_(function), runtime_(Runtime::get()) {
    if (needs == Needs::running && runtime_.phase() != Phase::running) [[unlikely]] {
      fail_phase();
    }
  }

  [[nodiscard]] Runtime& runtime() const { return runtime_; }
  [[nodiscard]] bool failed() const { return error_ != nullptr; }
  /// Raises the error of a failed check.
  int refuse() { return raise(*error_); }
  /// Inlined, like the two below: on the fast path a call costs as much as what it does.
  [[gnu::always_inline]] int finish(Result<void>&& result) {
    if (result.ok()) [[likely]]
      return MPI_SUCCESS;
    return raise(result.take_error());
  }
  /// For a function that is not in api/implemented.txt.
  int not_built();
  /// The object whose error handler hears of errors.
  void blame(core::Object* object) { blamed_ = object; }

  // Handles. Each returns null, and fails, unless the handle is a live one of its type.
  [[gnu::always_inline]] core::Comm* comm(MPI_Comm handle, const char* argument) {
    return owner<core::Comm>(handle, argument);
  }
  Session* session(MPI_Session handle, const char* argument) {
    return owner<Session>(handle, argument);
  }
  Win* win(MPI_Win handle, const char* argument) { return owner<Win>(handle, argument); }
  File* file(MPI_File handle, const char* argument) { return owner<File>(handle, argument); }
  File* optional_file(MPI_File handle, const char* argument) {
    return handle == MPI_FILE_NULL ? nullptr : file(handle, argument);
  }
  template <class T>
  T* object(typename HandleTraits<T>::c_type handle, const char* argument) {
    T* const found = runtime_.find<T>(handle);
    if (found == nullptr) [[unlikely]] {
      fail_handle(raw_handle(handle), HandleTraits<T>::first, HandleTraits<T>::name,
                  HandleTraits<T>::wrong, argument);
    }
    return found;
  }
  /// The null handle is allowed, and gives null.
  template <class T>
  T* optional(typename HandleTraits<T>::c_type handle, const char* argument) {
    return handle == null_handle<T>() ? nullptr : object<T>(handle, argument);
  }
  /// A datatype for communication or packing: committed.
  [[gnu::always_inline]] core::Datatype* committed(MPI_Datatype handle, const char* argument) {
    core::Datatype* const type = object<core::Datatype>(handle, argument);
    if (type != nullptr && !type->is_committed()) [[unlikely]]
      fail_uncommitted(argument);
    return type;
  }
  /// A request; errors go to the object that it belongs to.
  core::Request* request(MPI_Request handle, const char* argument) {
    core::Request* const found = object<core::Request>(handle, argument);
    if (found != nullptr) blamed_ = found->error_object();
    return found;
  }
  core::Request* optional_request(MPI_Request handle, const char* argument) {
    return handle == MPI_REQUEST_NULL ? nullptr : request(handle, argument);
  }
  core::Request* request_behind(const MPI_Request* where, const char* argument) {
    output(where, argument);
    return where == nullptr ? nullptr : request(*where, argument);
  }
  /// A handle that the function may change.
  template <class T>
  void handle_at(typename HandleTraits<T>::c_type* where, const char* argument) {
    output(where, argument);
    if (where == nullptr) return;
    T* const found = object<T>(*where, argument);
    if constexpr (has_errhandler<T>) {
      if (blamed_ == nullptr) blamed_ = found;
    }
  }
  void request_at(const MPI_Request* where, const char* argument, bool null_allowed = false) {
    output(where, argument);
    if (where == nullptr || (null_allowed && *where == MPI_REQUEST_NULL)) return;
    request(*where, argument);
  }
  /// MPI_MESSAGE_NO_PROC is allowed, and has no object.
  void message_at(const MPI_Message* where, const char* argument) {
    output(where, argument);
    if (where == nullptr || *where == MPI_MESSAGE_NO_PROC) return;
    const p2p::Message* const found = object<p2p::Message>(*where, argument);
    if (found != nullptr) blamed_ = &found->comm();
  }
  RequestArray requests(MPI_Request* first, Count length, const char* argument) {
    return {runtime_, &blamed_, first, request_objects(first, length, argument)};
  }
  /// Null where the handle is null. Empty after a failed check.
  std::vector<core::Request*> request_objects(const MPI_Request* first, Count length,
                                              const char* argument);
  /// All of them live; committed too, if COMMITTED.
  void check_types(const MPI_Datatype* first, Count length, const char* argument, bool committed);

  // Numbers.
  void count(Count value, const char* argument) {
    if (value < 0) [[unlikely]]
      fail_negative(value, ErrorClass::count, argument);
  }
  /// A size, length or the like: MPI_ERR_ARG if negative.
  void size(Count value, const char* argument) {
    if (value < 0) [[unlikely]]
      fail_negative(value, ErrorClass::arg, argument);
  }
  void counts(const CountArray& values, const char* argument);
  void displacements(const CountArray& values, const char* argument) {
    if (values.is_null() && values.size() > 0) [[unlikely]]
      fail_null(argument);
  }
  void destination(int rank, const core::Comm* comm, const char* argument) {
    if (comm == nullptr || is_rank(rank, comm) || rank == MPI_PROC_NULL) [[likely]]
      return;
    fail_rank(rank, *comm, ErrorClass::rank, argument);
  }
  /// Of a receive or probe.
  void source(int rank, const core::Comm* comm, const char* argument) {
    if (comm == nullptr || is_rank(rank, comm) || rank == MPI_PROC_NULL || rank == MPI_ANY_SOURCE)
        [[likely]] {
      return;
    }
    fail_rank(rank, *comm, ErrorClass::rank, argument);
  }
  /// In the group of this side, without exception.
  void local_rank(int rank, const core::Comm* comm, const char* argument) {
    if (comm == nullptr || (rank >= 0 && rank < comm->size())) return;
    fail_rank(rank, *comm, ErrorClass::rank, argument);
  }
  static bool is_local_rank(int rank, const core::Comm* comm) {
    return comm != nullptr && rank == comm->rank();
  }
  /// Whether this process is RANK of GROUP.
  [[nodiscard]] bool is_rank_in(int rank, const core::Group* group) const {
    return group != nullptr && runtime_.job() != nullptr &&
           rank == group->rank_of(runtime_.job()->identity());
  }
  void root(int rank, const core::Comm* comm, const char* argument) {
    if (comm == nullptr || is_rank(rank, comm)) [[likely]]
      return;
    if (comm->is_inter() && (rank == MPI_ROOT || rank == MPI_PROC_NULL)) return;
    fail_rank(rank, *comm, ErrorClass::root, argument);
  }
  void send_tag(int tag, const char* argument) {
    if (tag < 0) [[unlikely]]
      fail_tag(tag, argument);
  }
  void receive_tag(int tag, const char* argument) {
    if (tag < 0 && tag != MPI_ANY_TAG) [[unlikely]]
      fail_tag(tag, argument);
  }

  // Memory.
  void output(const void* pointer, const char* argument) {
    if (pointer == nullptr) [[unlikely]]
      fail_null(argument);
  }
  /// An input that may not be null, such as a string.
  void input(const void* pointer, const char* argument) { output(pointer, argument); }
  /// An array of LENGTH: null only if it is empty.
  void array(const void* first, Count length, const char* argument) {
    if (first == nullptr && length > 0) [[unlikely]]
      fail_null(argument);
  }
  /// A string result with room for *ROOM bytes.
  void string_room(const char* first, const int* room, const char* argument) {
    if (room != nullptr) array(first, *room, argument);
  }
  /// MPI_BOTTOM is null, and right with a derived type that holds absolute addresses.
  void buffer(const void* data, Count count, const core::Datatype* type, const char* argument) {
    if (data == nullptr && count > 0) [[unlikely]]
      check_null_buffer(type, argument);
  }

  // Which arguments of a collective matter here. COMM is null after a failed check: none do.
  [[nodiscard]] bool is_root(int rank, const core::Comm* comm) const {
    if (comm == nullptr) return false;
    return comm->is_inter() ? rank == MPI_ROOT : rank == comm->rank();
  }
  /// A side of a rooted collective that all processes have: not that of the root, or of its idle
  /// neighbours, of an intercommunicator.
  [[nodiscard]] bool takes_part(int rank, const core::Comm* comm) const {
    return comm != nullptr && (!comm->is_inter() || rank >= 0);
  }
  /// False for MPI_IN_PLACE; which fails unless ALLOWED, and on intercommunicators.
  [[nodiscard]] bool is_given(const void* data, const core::Comm* comm, bool allowed) {
    if (data != MPI_IN_PLACE) [[likely]]
      return true;
    if (comm != nullptr && (comm->is_inter() || !allowed)) fail_in_place();
    return false;
  }
  void check_in_place(const void* data, const core::Comm* comm, bool allowed) {
    static_cast<void>(is_given(data, comm, allowed));
  }
  /// Lengths of arrays with one element for each peer, or each process of this side.
  [[nodiscard]] static Count peers(const core::Comm* comm) {
    return comm == nullptr ? 0 : comm->peer_count();
  }
  [[nodiscard]] static Count members(const core::Comm* comm) {
    return comm == nullptr ? 0 : comm->size();
  }
  void reduction(const core::Op* op, const core::Datatype* type) {
    if (op == nullptr || type == nullptr || failed()) return;
    Result<void> fitting = op->check(*type);
    if (!fitting.ok()) [[unlikely]]
      error_ = std::make_unique<Error>(fitting.take_error());
  }

  int raise(const Error& error);

 private:
  template <class T>
  static constexpr bool has_errhandler =
      std::is_same_v<T, core::Comm> || std::is_base_of_v<HandlerOwner, T>;
  template <class T>
  T* owner(typename HandleTraits<T>::c_type handle, const char* argument) {
    T* const found = object<T>(handle, argument);
    if (blamed_ == nullptr) blamed_ = found;
    return found;
  }
  [[nodiscard]] static bool is_rank(int rank, const core::Comm* comm) {
    return rank >= 0 && rank < comm->peer_count();
  }

  [[gnu::cold]] void fail(ErrorClass error_class, std::string sentence);
  [[gnu::cold]] void fail_phase();
  [[gnu::cold]] void fail_handle(std::uint64_t handle, std::uint64_t null, const char* type,
                                 ErrorClass error_class, const char* argument);
  [[gnu::cold]] void fail_uncommitted(const char* argument);
  [[gnu::cold]] void fail_negative(Count value, ErrorClass error_class, const char* argument);
  [[gnu::cold]] void fail_rank(int rank, const core::Comm& comm, ErrorClass error_class,
                               const char* argument);
  [[gnu::cold]] void fail_tag(int tag, const char* argument);
  [[gnu::cold]] void fail_in_place();
  [[gnu::cold]] void fail_null(const char* argument);
  void check_null_buffer(const core::Datatype* type, const char* argument);

  const char* function_;
  Runtime& runtime_;
  core::Object* blamed_ = nullptr;
  std::unique_ptr<Error> error_;
};

/// "MPI_ERR_RANK", or null for a class that the standard does not know.
const char* error_class_name(int error_class);

/// The error handler of OBJECT (communicator, session, window or file); null if it has none.
core::Errhandler* errhandler_of(core::Object* object);

/// Calls HANDLER for CODE, raised on OBJECT; returns CODE if the handler lets the program go on.
int call_errhandler(Runtime& runtime, core::Errhandler& handler, core::Object* object, int code,
                    std::string_view sentence);

/// Integers for handles (MPI_Comm_toint): a predefined handle's own number, else 31 bits.
template <class T>
int handle_to_int(typename HandleTraits<T>::c_type handle) {
  const std::uint64_t raw = raw_handle(handle);
  return raw < predefined_end ? static_cast<int>(raw) : HandleTable::to_int(raw);
}
/// The null handle for an integer that stands for no live handle.
template <class T>
typename HandleTraits<T>::c_type handle_from_int(int integer) {
  const auto raw = static_cast<std::uint64_t>(integer);
  if (integer >= 0 && raw < predefined_end) return c_handle<T>(raw);
  const std::uint64_t handle = Runtime::get().table<T>().from_int(integer);
  return handle == 0 ? null_handle<T>() : c_handle<T>(handle);
}

}  // namespace hawser::binding
