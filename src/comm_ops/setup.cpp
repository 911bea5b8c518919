#include "comm_ops/setup.hpp"

#include <fmt/format.h>

#include <utility>

#include "collective/algorithm/buffers.hpp"

namespace hawser::comm_ops {
namespace {

constexpr std::uint32_t setup_context = 0;

struct Introduction {
  core::GlobalId hash;
  Numbers numbers;
};

/// Before the numbers of all, which follow if `code` is 0.
struct Answer {
  core::GlobalId hash;
  int code = 0;
  int reserved = 0;
};

Error clash(int peer) {
  return Error(ErrorClass::intern,
               fmt::format("member {} of the group creates another communicator whose hash has the "
                           "same 30 bits; another tag would be right",
                           peer));
}

}  // namespace

Ref<Comm> make_setup_comm(Ref<Group> group, int rank, Ref<core::Errhandler> errhandler) {
  Comm::Description description;
  description.group = std::move(group);
  description.rank = rank;
  description.context = setup_context;
  description.contexts = core::ContextMap(setup_context);
  description.errhandler = std::move(errhandler);
  return base::make_ref<Comm>(std::move(description));
}

Agenda& Agenda::add(std::uint64_t value) {
  hash_[0] = base::mix64(hash_[0] ^ value);
  hash_[1] = base::mix64(hash_[1] + base::mix64(~value));
  return *this;
}

Agenda& Agenda::add(std::string_view text) {
  add(text.size());
  for (const char c : text) add(static_cast<unsigned char>(c));
  return *this;
}

Agenda& Agenda::add(const Group& members) {
  add(static_cast<std::uint64_t>(members.size()));
  for (int rank = 0; rank < members.size(); ++rank) {
    const Identity member = members.member(rank);
    add(member.job).add((std::uint64_t{member.epoch} << 32) | member.index);
  }
  return *this;
}

Meeting::Meeting(p2p::Engine& engine, Ref<Group> group, int rank, const Agenda& agenda,
                 Ref<core::Errhandler> errhandler)
    : engine_(engine),
      hash_(agenda.hash()),
      comm_(make_setup_comm(std::move(group), rank, std::move(errhandler))) {}

Result<std::vector<Numbers>> Meeting::exchange(const Numbers& mine) {
  std::vector<Numbers> all(static_cast<std::size_t>(comm_->size()));
  if (comm_->rank() != 0) {
    const Introduction introduction{hash_, mine};
    HAWSER_TRY(send(0, &introduction, sizeof introduction));
    HAWSER_TRY(hear_answer(all));
    return all;
  }
  all[0] = mine;
  const Result<void> heard = hear_members(all);
  // An answer even if something went wrong: they wait for it.
  HAWSER_TRY(answer_members(all, heard.ok() ? 0 : heard.error().code()));
  if (!heard.ok()) return Error(heard.error());
  return all;
}

Result<void> Meeting::hear_members(std::vector<Numbers>& all) {
  Result<void> result;
  for (int peer = 1; peer < comm_->size(); ++peer) {
    Introduction introduction{};
    Result<void> received = receive(peer, &introduction, sizeof introduction);
    if (received.ok() && introduction.hash != hash_) received = clash(peer);
    if (!received.ok() && result.ok()) result = std::move(received);
    all[static_cast<std::size_t>(peer)] = introduction.numbers;
  }
  return result;
}

Result<void> Meeting::answer_members(const std::vector<Numbers>& all, int code) {
  Result<void> result;
  const auto keep_first = [&](Result<void> sent) {
    if (!sent.ok() && result.ok()) result = std::move(sent);
  };
  const Answer answer{.hash = hash_, .code = code};
  for (int peer = 1; peer < comm_->size(); ++peer) {
    keep_first(send(peer, &answer, sizeof answer));
    if (code == 0) keep_first(send(peer, all.data(), all.size() * sizeof(Numbers)));
  }
  return result;
}

Result<void> Meeting::hear_answer(std::vector<Numbers>& all) {
  Answer answer;
  HAWSER_TRY(receive(0, &answer, sizeof answer));
  if (answer.hash != hash_) return clash(0);
  if (answer.code != 0) {
    return Error::from_code(answer.code, "the group's first member could not hear all members");
  }
  return receive(0, all.data(), all.size() * sizeof(Numbers));
}

p2p::Envelope Meeting::envelope(int peer) {
  return {comm_.get(), peer, tag(), core::Traffic::setup};
}

Result<void> Meeting::send(int peer, const void* data, std::size_t bytes) {
  const auto buffer = collective::const_byte_buffer(static_cast<const std::byte*>(data),
                                                    static_cast<base::Count>(bytes));
  return engine_.send(buffer, envelope(peer), p2p::SendMode::standard);
}

Result<void> Meeting::receive(int peer, void* data, std::size_t bytes) {
  const auto buffer =
      collective::byte_buffer(static_cast<std::byte*>(data), static_cast<base::Count>(bytes));
  core::Status status;
  HAWSER_TRY(engine_.recv(buffer, envelope(peer), &status));
  if (status.bytes == buffer.count) return {};
  return Error(ErrorClass::intern,
               fmt::format("member {} of the group sent {} bytes to create a communicator; {} "
                           "would be right",
                           peer, status.bytes, buffer.count));
}

}  // namespace hawser::comm_ops
