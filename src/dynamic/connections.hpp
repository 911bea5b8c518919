// Connections: jobs that connect by a port (MPI-5.0 §11.9).
//
//   the server's root                          the client's root
//       │ ◄────────── Call (caller, nonce) ──────── │   under the port's key
//       │ ─────────── Answer (nonce) ─────────────► │   both: the connection's key
//       │ ◄───────── Directory, Directory ────────► │   who is in the groups, and where
//       │ Notice to each member                     │   who lets the others in from then on
//       │ all members have: tell_all                │
//       └──────── comm_ops::connect ────────────────┘   the intercommunicator
//
// Leaders that have a communicator in common need no port: one makes a key and tells the other
// under one that they share, and the directories follow as above.
//
// What goes wrong at a root is told to the other root and to all members, so that nobody waits in
// vain.
// Ownership: owned by the Process; borrows what it is made of.
// Threads:   any, as MPI allows (one call per communicator).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "comm_ops/comm_factory.hpp"
#include "dynamic/acquaintances.hpp"
#include "dynamic/conversation.hpp"
#include "dynamic/outside.hpp"
#include "dynamic/ports.hpp"

namespace hawser::dynamic {

class Connections {
 public:
  Connections(p2p::Engine& engine, comm_ops::CommFactory& comms, Outside& outside)
      : engine_(engine),
        comms_(comms),
        outside_(outside),
        ports_(engine, outside),
        acquaintances_(engine, outside),
        errhandler_(base::make_ref<core::Errhandler>(core::ErrhandlerKind::errors_return)) {}

  [[nodiscard]] Ports& ports() { return ports_; }

  /// Why nobody will call any more; nothing as long as somebody may.
  using Despair = std::function<std::optional<Error>()>;
  // Collective over LOCAL, an intracommunicator; PORT and DESPAIR matter at rank ROOT of it.
  /// Waits for a call at PORT of this process, if that could be had. MPI_ERR_PORT.
  Result<Ref<Comm>> accept(Result<std::string> port, Comm& local, int root,
                           const Despair& despair = {});
  /// Calls at PORT, of any process. MPI_ERR_PORT if nobody is there.
  Result<Ref<Comm>> connect(std::string_view port, Comm& local, int root);

  /// As CommFactory::intercomm_create(), for groups of any jobs: only their leaders need have heard
  /// of the other group.
  Result<Ref<Comm>> intercomm_create(Comm& local, int leader, Comm* peer, int remote_leader,
                                     int tag);
  /// As CommFactory::intercomm_create_from_groups(), for groups of any jobs: only the leaders need
  /// have heard of the members of the other group.
  Result<Ref<Comm>> intercomm_create_from_groups(const core::Group& local, int leader,
                                                 const core::Group* remote, int remote_leader,
                                                 std::string_view tag, core::Info* info,
                                                 const Ref<core::Errhandler>& errhandler,
                                                 const core::Object* session);

 private:
  /// The roots know each other.
  struct Contact {
    Conversation conversation;
    Admission admission;  // of the connection
    Acquaintances::UnderWay under_way;
  };

  /// At the root: makes contact with that of the other group.
  using Reach = std::function<Result<Contact>()>;
  Result<Ref<Comm>> unite(Comm& local, int root, const Reach& reach);
  /// At the root: who is in LOCAL. Elsewhere: nobody; the root was told of this process.
  Result<std::vector<Member>> gather(Comm& local, int root);
  Result<Contact> await_call(std::string_view name, const Despair& despair);
  Result<Contact> answer(const Port& port, const Call& call);
  Result<Contact> call(std::string_view name);
  /// From SERVER, at whose port this process makes CALL.
  Result<Bytes> hear_answer(Conversation& conversation, const Identity& server, const Call& call);
  /// With LEADER, which this process knows; ABOUT is the same at both.
  Result<Contact> meet(const Identity& leader, const core::GlobalId& about);
  Conversation converse(const Identity& peer, int tag) {
    return {engine_, outside_.self(), peer, tag, errhandler_};
  }
  Result<Bytes> swap_directories(Conversation& conversation,
                                 const Result<std::vector<Member>>& ours);
  Result<void> notify(Comm& local, const Result<Bytes>& directory, const Contact* contact);
  Result<void> hear_notice(Comm& local, int root);
  /// Before a connection begins: those of earlier ones that have ended.
  void forget_ended() { acquaintances_.forget_ended(ports_.callers()); }

  p2p::Engine& engine_;
  comm_ops::CommFactory& comms_;
  Outside& outside_;
  Ports ports_;
  Acquaintances acquaintances_;
  const Ref<core::Errhandler> errhandler_;  // of what no user sees
};

}  // namespace hawser::dynamic
