#include "binding/generated/errhandlers.hpp"

#include <fmt/format.h>

#include "binding/call.hpp"
#include "binding/callback_handle.hpp"

namespace hawser::calls {

using core::Errhandler;
using core::ErrhandlerKind;

namespace {

template <class T, class Function>
Result<void> create(ErrhandlerKind kind, Function* function, HandleOut<Errhandler> errhandler) {
  if (function == nullptr) {
    return base::Error(base::ErrorClass::arg, "the error handler's function is a null pointer");
  }
  errhandler.set(base::make_ref<Errhandler>(kind, [function](core::Object& object, int code) {
    const CallbackHandle<T> handle(object);
    auto copy = handle.get();
    function(&copy, &code);
  }));
  return {};
}

template <class T>
Result<void> set(T& object, ErrhandlerKind kind, Errhandler& errhandler) {
  if (!errhandler.is_predefined() && errhandler.kind() != kind) {
    return base::Error(
        base::ErrorClass::errhandler,
        fmt::format("the error handler was not made for an {}", HandleTraits<T>::name));
  }
  object.set_errhandler(Ref<Errhandler>::share(&errhandler));
  return {};
}

template <class T>
Result<void> get(T& object, HandleOut<Errhandler> errhandler) {
  errhandler.set(Ref<Errhandler>::share(&object.errhandler()));
  return {};
}

Result<void> call(Runtime& runtime, core::Object* object, Errhandler& errhandler, int code) {
  auto text = runtime.errors().string_of(code);
  if (!text.ok()) return text.take_error();
  call_errhandler(runtime, errhandler, object, code,
                  fmt::format("the program raised an error: {}", text.value()));
  return {};
}

}  // namespace

Result<void> comm_create_errhandler(Runtime&, MPI_Comm_errhandler_function* comm_errhandler_fn,
                                    HandleOut<Errhandler> errhandler) {
  return create<core::Comm>(ErrhandlerKind::comm, comm_errhandler_fn, errhandler);
}
Result<void> comm_set_errhandler(Runtime&, core::Comm& comm, Errhandler& errhandler) {
  return set(comm, ErrhandlerKind::comm, errhandler);
}
Result<void> comm_get_errhandler(Runtime&, core::Comm& comm, HandleOut<Errhandler> errhandler) {
  return get(comm, errhandler);
}
Result<void> comm_call_errhandler(Runtime& runtime, core::Comm& comm, int errorcode) {
  return call(runtime, &comm, comm.errhandler(), errorcode);
}

Result<void> session_create_errhandler(Runtime&,
                                       MPI_Session_errhandler_function* session_errhandler_fn,
                                       HandleOut<Errhandler> errhandler) {
  return create<Session>(ErrhandlerKind::session, session_errhandler_fn, errhandler);
}
Result<void> session_set_errhandler(Runtime&, Session& session, Errhandler& errhandler) {
  return set(session, ErrhandlerKind::session, errhandler);
}
Result<void> session_get_errhandler(Runtime&, Session& session, HandleOut<Errhandler> errhandler) {
  return get(session, errhandler);
}
Result<void> session_call_errhandler(Runtime& runtime, Session& session, int errorcode) {
  return call(runtime, &session, session.errhandler(), errorcode);
}

Result<void> win_create_errhandler(Runtime&, MPI_Win_errhandler_function* win_errhandler_fn,
                                   HandleOut<Errhandler> errhandler) {
  return create<Win>(ErrhandlerKind::win, win_errhandler_fn, errhandler);
}

Result<void> file_create_errhandler(Runtime&, MPI_File_errhandler_function* file_errhandler_fn,
                                    HandleOut<Errhandler> errhandler) {
  return create<File>(ErrhandlerKind::file, file_errhandler_fn, errhandler);
}

// MPI_FILE_NULL stands for the handler that files inherit when they are opened.
Result<void> file_set_errhandler(Runtime& runtime, File* file, Errhandler& errhandler) {
  if (file != nullptr) return set(*file, ErrhandlerKind::file, errhandler);
  if (!errhandler.is_predefined() && errhandler.kind() != ErrhandlerKind::file) {
    return base::Error(base::ErrorClass::errhandler,
                       "the error handler was not made for an MPI_File");
  }
  runtime.set_file_errhandler(Ref<Errhandler>::share(&errhandler));
  return {};
}
Result<void> file_get_errhandler(Runtime& runtime, File* file, HandleOut<Errhandler> errhandler) {
  if (file != nullptr) return get(*file, errhandler);
  errhandler.set(Ref<Errhandler>::share(&runtime.file_errhandler()));
  return {};
}
Result<void> file_call_errhandler(Runtime& runtime, File* file, int errorcode) {
  return call(runtime, file, file != nullptr ? file->errhandler() : runtime.file_errhandler(),
              errorcode);
}

// Predefined ones too: whoever gets one from MPI_Comm_get_errhandler has to free it.
Result<void> errhandler_free(Runtime&, HandleInOut<Errhandler> errhandler) {
  static_cast<void>(errhandler.take());
  return {};
}

Result<void> error_class(Runtime& runtime, int errorcode, int& errorclass) {
  auto found = runtime.errors().class_of(errorcode);
  if (!found.ok()) return found.take_error();
  errorclass = found.value();
  return {};
}

Result<void> error_string(Runtime& runtime, int errorcode, StringOut string, int& resultlen) {
  auto found = runtime.errors().string_of(errorcode);
  if (!found.ok()) return found.take_error();
  resultlen = string.set(found.value());
  return {};
}

Result<void> add_error_class(Runtime& runtime, int& errorclass) {
  errorclass = runtime.errors().add_class();
  return {};
}

Result<void> add_error_code(Runtime& runtime, int errorclass, int& errorcode) {
  auto code = runtime.errors().add_code(errorclass);
  if (!code.ok()) return code.take_error();
  errorcode = code.value();
  return {};
}

Result<void> add_error_string(Runtime& runtime, int errorcode, std::string_view string) {
  return runtime.errors().add_string(errorcode, string);
}

Result<void> remove_error_class(Runtime& runtime, int errorclass) {
  return runtime.errors().remove_class(errorclass);
}

Result<void> remove_error_code(Runtime& runtime, int errorcode) {
  return runtime.errors().remove_code(errorcode);
}

Result<void> remove_error_string(Runtime& runtime, int errorcode) {
  return runtime.errors().remove_string(errorcode);
}

}  // namespace hawser::calls
