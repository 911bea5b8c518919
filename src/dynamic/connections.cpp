#include "dynamic/connections.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "dynamic/secret.hpp"

namespace hawser::dynamic {

namespace {

/// Of what a root and the members of its group tell each other.
constexpr int group_tag = 1;

p2p::Envelope inside(Comm& local, int peer) {
  return {&local, peer, group_tag, core::Traffic::setup};
}

int conversation_tag(const Admission& port, const Nonce& nonce) {
  std::uint64_t number = 0;
  std::memcpy(&number, nonce.data(), sizeof(number));
  return tag_of(port.id ^ number);
}

Error root_failed(int code, int root) {
  return Error::from_code(code, fmt::format("rank {} of the communicator, the root, could not "
                                            "connect to the other group",
                                            root));
}

Result<void> check_arguments(const Comm& local, int root) {
  if (local.is_inter())
    return Error(ErrorClass::comm,
                 "the communicator is an intercommunicator; an intracommunicator would be right");
  if (root >= 0 && root < local.size()) return {};
  return Error(ErrorClass::root, fmt::format("the root is {}; it must be in [0,{}) of the "
                                             "communicator",
                                             root, local.size()));
}

bool is_of_one_job(const core::Group& group, std::uint64_t job) {
  for (int rank = 0; rank < group.size(); ++rank)
    if (group.member(rank).job != job) return false;
  return true;
}

/// All members of both groups agree on it.
bool is_of_one_job(const Comm& inter) {
  const std::uint64_t job = inter.group().member(0).job;
  return is_of_one_job(inter.group(), job) && is_of_one_job(inter.peer_group(), job);
}

}  // namespace

// The roots.

Result<Connections::Contact> Connections::await_call(std::string_view name,
                                                     const Despair& despair) {
  Result<std::optional<Ports::Incoming>> incoming = std::optional<Ports::Incoming>();
  std::optional<Error> given_up;
  engine_.wait_until([&] {
    incoming = ports_.next_call(name);
    if (!incoming || *incoming) return true;
    if (despair) given_up = despair();
    return given_up.has_value();
  });
  if (!incoming) return incoming.take_error();
  if (!*incoming) return *std::move(given_up);
  return answer((*incoming)->port, (*incoming)->call);
}

Result<Connections::Contact> Connections::answer(const Port& port, const Call& call) {
  Acquaintances::UnderWay under_way(acquaintances_);
  acquaintances_.introduce(call.caller, port.admission);
  Conversation conversation =
      converse(call.caller.identity, conversation_tag(port.admission, call.nonce));
  const Nonce nonce = fresh_nonce();
  const Admission admission = connection_admission(port.admission, call.nonce, nonce);
  under_way.admit(admission);
  HAWSER_TRY(conversation.send(write(nonce)));
  return Contact{std::move(conversation), admission, std::move(under_way)};
}

Result<Connections::Contact> Connections::call(std::string_view name) {
  const Result<Port> port = parse_port_name(name);
  if (!port) return port.error();
  Result<Addresses> own = outside_.open();
  if (!own) return own.take_error();
  Acquaintances::UnderWay under_way(acquaintances_);
  acquaintances_.introduce(port->server, port->admission);

  const Call call{port->admission.id, fresh_nonce(), {outside_.self(), std::move(*own)}};
  Conversation conversation =
      converse(port->server.identity, conversation_tag(port->admission, call.nonce));
  const Result<Bytes> heard = hear_answer(conversation, port->server.identity, call);
  ports_.hang_up(call);
  if (!heard) return heard.error();
  const Result<Nonce> nonce = read_nonce(*heard);
  if (!nonce) return nonce.error();
  const Admission admission = connection_admission(port->admission, call.nonce, *nonce);
  under_way.admit(admission);
  return Contact{std::move(conversation), admission, std::move(under_way)};
}

Result<Bytes> Connections::hear_answer(Conversation& conversation, const Identity& server,
                                       const Call& call) {
  HAWSER_TRY(ports_.ring(server, call));
  Result<Ref<p2p::Message>> message = Ref<p2p::Message>();
  bool was_refused = false;
  engine_.wait_until([&] {
    message = conversation.look();
    was_refused = ports_.was_refused(call);
    return was_refused || !message || *message;
  });
  if (was_refused)
    return Error(ErrorClass::port,
                 "the port is closed, or was closed before the call was accepted, or too many wait "
                 "there");
  Result<Bytes> heard =
      message ? receive(engine_, std::move(*message)) : Result<Bytes>(message.take_error());
  if (heard) return heard;
  return Error(ErrorClass::port, "nobody answers at the port: " + heard.error().sentence());
}

Result<Connections::Contact> Connections::meet(const Identity& leader,
                                               const core::GlobalId& about) {
  Acquaintances::UnderWay under_way(acquaintances_);
  Conversation conversation = converse(leader, tag_of(about[0] ^ about[1]));
  if (outside_.self() < leader) {
    const Admission admission = fresh_admission();
    under_way.admit(admission);
    HAWSER_TRY(conversation.send(write(Notice{.code = 0,
                                              .admission = admission.id,
                                              .key = acquaintances_.seal_for(leader, admission),
                                              .directory = {}})));
    return Contact{std::move(conversation), admission, std::move(under_way)};
  }
  const Result<Bytes> bytes = conversation.receive();
  if (!bytes) return bytes.error();
  const Result<Notice> notice = read_notice(*bytes);
  const Result<Admission> admission =
      notice ? acquaintances_.unsealed(*notice) : Result<Admission>(notice.error());
  if (admission) {
    under_way.admit(*admission);
    return Contact{std::move(conversation), *admission, std::move(under_way)};
  }
  // The other leader waits for our directory.
  HAWSER_TRY(conversation.send(write(Directory{.code = admission.error().code(), .members = {}})));
  return admission.error();
}

/// A side that has failed says so, and hears the other out all the same.
Result<Bytes> Connections::swap_directories(Conversation& conversation,
                                            const Result<std::vector<Member>>& ours) {
  const Directory mine = ours ? Directory{.code = 0, .members = *ours}
                              : Directory{.code = ours.error().code(), .members = {}};
  HAWSER_TRY(conversation.send(write(mine)));
  Result<Bytes> theirs = conversation.receive();
  if (!ours) return ours.error();
  if (!theirs) return theirs;
  const Result<Directory> directory = read_directory(*theirs);
  if (!directory) return directory.error();
  if (directory->code == 0) return theirs;
  return Error::from_code(directory->code, "the other group could not connect");
}

// A root and its group.

Result<std::vector<Member>> Connections::gather(Comm& local, int root) {
  Result<Addresses> addresses = outside_.open();
  const auto described = [&] {
    return addresses ? Directory{.code = 0, .members = {{outside_.self(), *addresses}}}
                     : Directory{.code = addresses.error().code(), .members = {}};
  };
  if (local.rank() != root) {
    HAWSER_TRY(send(engine_, inside(local, root), write(described())));
    if (!addresses) return addresses.take_error();
    return std::vector<Member>();
  }
  std::vector<Member> members;
  std::optional<Error> failure;
  if (!addresses) failure = addresses.take_error();
  for (int rank = 0; rank < local.size(); ++rank) {
    if (rank == root) {
      if (!failure) members.push_back({outside_.self(), *addresses});
      continue;
    }
    const Result<Bytes> bytes = receive(engine_, inside(local, rank));
    if (!bytes) return bytes.error();  // its process is gone
    Result<Directory> member = read_directory(*bytes);
    if (!member) return member.take_error();
    if (member->code == 0) {
      members.push_back(std::move(member->members.front()));
    } else if (!failure) {
      failure = Error::from_code(member->code,
                                 fmt::format("rank {} of the communicator cannot be reached by "
                                             "processes of other jobs",
                                             rank));
    }
  }
  if (failure) return *std::move(failure);
  return members;
}

/// Whatever has happened, all hear of it.
Result<void> Connections::notify(Comm& local, const Result<Bytes>& directory,
                                 const Contact* contact) {
  Result<void> result;
  for (int rank = 0; rank < local.size(); ++rank) {
    if (rank == local.rank()) continue;
    Notice notice;
    if (directory) {
      notice.admission = contact->admission.id;
      notice.key = acquaintances_.seal_for(local.group().member(rank), contact->admission);
      notice.directory = *directory;
    } else {
      notice.code = directory.error().code();
    }
    Result<void> sent = send(engine_, inside(local, rank), write(notice));
    if (!sent && result) result = std::move(sent);
  }
  return result;
}

Result<void> Connections::hear_notice(Comm& local, int root) {
  const Result<Bytes> bytes = receive(engine_, inside(local, root));
  if (!bytes) return bytes.error();
  const Result<Notice> notice = read_notice(*bytes);
  if (!notice) return notice.error();
  if (notice->code != 0) return root_failed(notice->code, root);
  const Result<Directory> theirs = read_directory(notice->directory);
  if (!theirs) return theirs.error();
  const Result<Admission> admission = acquaintances_.unsealed(*notice);
  if (!admission) return admission.error();
  acquaintances_.entrust(theirs->members, *admission);
  return {};
}

// Collective.

Result<Ref<Comm>> Connections::accept(Result<std::string> port, Comm& local, int root,
                                      const Despair& despair) {
  HAWSER_TRY(check_arguments(local, root));
  forget_ended();
  return unite(local, root, [&] {
    return port ? await_call(*port, despair) : Result<Contact>(port.take_error());
  });
}

Result<Ref<Comm>> Connections::connect(std::string_view port, Comm& local, int root) {
  HAWSER_TRY(check_arguments(local, root));
  forget_ended();
  return unite(local, root, [&] { return call(port); });
}

Result<Ref<Comm>> Connections::intercomm_create(Comm& local, int leader, Comm* peer,
                                                int remote_leader, int tag) {
  Result<Ref<Comm>> made = comms_.intercomm_create(local, leader, peer, remote_leader, tag);
  if (!made || is_of_one_job(**made)) return made;
  return unite(local, leader,
               [&] { return meet(peer->peer_group().member(remote_leader), (*made)->id()); });
}

Result<Ref<Comm>> Connections::intercomm_create_from_groups(const core::Group& local, int leader,
                                                            const core::Group* remote,
                                                            int remote_leader, std::string_view tag,
                                                            core::Info* info,
                                                            const Ref<core::Errhandler>& errhandler,
                                                            const core::Object* session) {
  Result<Ref<Comm>> made = comms_.intercomm_create_from_groups(local, leader, remote, remote_leader,
                                                               tag, info, errhandler, session);
  if (!made || !*made || is_of_one_job(**made)) return made;
  const Result<Ref<Comm>> members =
      comms_.create_from_group(local, tag, nullptr, errhandler, session);
  if (!members) return members.error();
  Result<Ref<Comm>> united =
      unite(**members, leader, [&] { return meet(remote->member(remote_leader), (*made)->id()); });
  if (united && info != nullptr) (*united)->set_info(info->duplicate());
  return united;
}

Result<Ref<Comm>> Connections::unite(Comm& local, int root, const Reach& reach) {
  Result<std::vector<Member>> ours = gather(local, root);
  if (local.rank() != root) {
    const Acquaintances::UnderWay under_way(acquaintances_);
    const Result<void> noticed = hear_notice(local, root);
    if (!ours) return ours.take_error();
    if (!noticed) return noticed.error();
    return comms_.connect(local, root, comm_ops::Bridge{});
  }
  Result<Contact> contact = reach();
  Result<Bytes> theirs =
      contact ? swap_directories(contact->conversation, ours) : Result<Bytes>(contact.error());
  const Result<void> told = notify(local, theirs, contact ? &*contact : nullptr);
  if (!theirs) return theirs.take_error();
  if (!told) return told.error();
  acquaintances_.entrust(read_directory(*theirs)->members, contact->admission);
  return comms_.connect(local, root, contact->conversation.bridge());
}

}  // namespace hawser::dynamic
