#include "collective/team/assembly.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/constant_time.hpp"
#include "collective/byte_type.hpp"
#include "platform/local_socket.hpp"

namespace hawser::collective {
namespace {

using platform::FileDescriptor;
using platform::LocalSocket;
using platform::Mapping;

constexpr int leader = 0;
constexpr std::size_t name_bytes_max = 64;

/// What one member knows and does on the way; an error on the way becomes a "no" to the others.
class Assembly {
 public:
  explicit Assembly(const TeamPlan& plan) : plan_(plan) {}

  std::unique_ptr<Team> run() { return is_leader() ? lead() : follow(); }

 private:
  [[nodiscard]] bool is_leader() const { return plan_.comm.rank() == leader; }
  [[nodiscard]] int size() const { return plan_.comm.size(); }

  std::unique_ptr<Team> lead();
  std::unique_ptr<Team> follow();

  // Messages.
  bool send(int peer, const void* data, std::size_t bytes);
  bool receive(int peer, void* data, std::size_t bytes);
  /// The leader: whether all members say yes, and itself.
  bool hear_all(bool mine);
  /// The leader tells all.
  void tell_all(bool verdict);
  bool hear_leader();

  // The leader's part.
  bool make_board();
  std::string listen();
  bool hand_over();
  // A member's part.
  bool connect(std::string_view name);
  bool take_board();

  [[nodiscard]] bool is_trusted(const LocalSocket& socket) const;
  [[nodiscard]] TeamPacket packet() const;
  [[nodiscard]] bool is_of_this_team(const TeamPacket& theirs) const;
  std::unique_ptr<Team> make_team(memory::Account account);

  const TeamPlan& plan_;
  FileDescriptor file_;
  Mapping memory_;
  LocalSocket socket_;
};

bool Assembly::send(int peer, const void* data, std::size_t bytes) {
  const p2p::Envelope envelope{&plan_.comm, peer, plan_.tag, core::Traffic::collective};
  return plan_.engine
      .send({data, static_cast<base::Count>(bytes), &byte_type()}, envelope,
            p2p::SendMode::standard)
      .ok();
}

bool Assembly::receive(int peer, void* data, std::size_t bytes) {
  const p2p::Envelope envelope{&plan_.comm, peer, plan_.tag, core::Traffic::collective};
  return plan_.engine.recv({data, static_cast<base::Count>(bytes), &byte_type()}, envelope, nullptr)
      .ok();
}

bool Assembly::hear_all(bool mine) {
  bool all = mine;
  for (int member = 1; member < size(); ++member) {
    std::uint8_t yes = 0;
    all &= receive(member, &yes, sizeof(yes)) && yes != 0;
  }
  return all;
}

void Assembly::tell_all(bool verdict) {
  const std::uint8_t yes = verdict ? 1 : 0;
  for (int member = 1; member < size(); ++member) send(member, &yes, sizeof(yes));
}

bool Assembly::hear_leader() {
  std::uint8_t yes = 0;
  return receive(leader, &yes, sizeof(yes)) && yes != 0;
}

bool Assembly::is_trusted(const LocalSocket& socket) const {
  const auto peer = socket.peer();
  return peer.ok() && (peer->uid == ::geteuid() || peer->uid == 0);
}

TeamPacket Assembly::packet() const {
  TeamPacket packet;
  packet.rank = static_cast<std::uint32_t>(plan_.comm.rank());
  packet.comm = plan_.comm.id();
  const bootstrap::JobKey& key = plan_.host.bootstrap->placement().key;
  std::copy(key.begin(), key.end(), packet.key);
  return packet;
}

bool Assembly::make_board() {
  const std::size_t bytes = plan_.shape.bytes();
  auto file = platform::create_anonymous_file("hawser-board", bytes);
  if (!file || !platform::allocate_pages(*file, 0, plan_.shape.earned_offset())) return false;
  auto memory = Mapping::shared(*file, 0, bytes);
  if (!memory) return false;
  file_ = std::move(*file);
  memory_ = std::move(*memory);
  hostmem::Board::initialize(memory_.data(), plan_.shape);
  return true;
}

/// The name under which members reach the leader; empty if they can't.
std::string Assembly::listen() {
  std::string name = fmt::format("hawser-team-{:016x}", platform::random_number());
  auto socket = LocalSocket::listen(name);
  if (!socket) return {};
  socket_ = std::move(*socket);
  return name;
}

bool Assembly::is_of_this_team(const TeamPacket& theirs) const {
  const TeamPacket ours = packet();
  return theirs.magic == ours.magic && theirs.version == ours.version && theirs.comm == ours.comm &&
         theirs.rank >= 1 && theirs.rank < static_cast<std::uint32_t>(size()) &&
         base::equal_in_constant_time(theirs.key, ours.key);
}

/// All members have connected: gives each of them the file. Strangers who connected too are sent
/// away.
bool Assembly::hand_over() {
  std::vector<LocalSocket> members(static_cast<std::size_t>(size()));
  int known = 0;
  while (std::optional<LocalSocket> connection = socket_.accept()) {
    TeamPacket theirs;
    std::size_t bytes = 0;
    FileDescriptor none;
    if (!is_trusted(*connection)) continue;
    if (connection->receive(std::as_writable_bytes(std::span(&theirs, 1)), &bytes, &none) !=
            LocalSocket::Received::packet ||
        bytes != sizeof(theirs))
      continue;
    if (!is_of_this_team(theirs)) continue;
    LocalSocket& place = members[theirs.rank];
    if (!place.is_open()) ++known;
    place = std::move(*connection);
  }
  if (known != size() - 1) return false;
  const std::array<std::byte, 1> note{};
  return std::all_of(members.begin() + 1, members.end(),
                     [&](LocalSocket& member) { return member.send(note, file_.get()); });
}

bool Assembly::connect(std::string_view name) {
  auto socket = LocalSocket::connect(name);
  if (!socket || !is_trusted(*socket)) return false;
  const TeamPacket mine = packet();
  if (!socket->send(std::as_bytes(std::span(&mine, 1)))) return false;
  socket_ = std::move(*socket);
  return true;
}

bool Assembly::take_board() {
  std::array<std::byte, 1> note{};
  std::size_t bytes = 0;
  FileDescriptor file;
  if (socket_.receive(note, &bytes, &file) != LocalSocket::Received::packet || !file.is_open())
    return false;
  const auto file_bytes = platform::file_size(file);
  if (!file_bytes || *file_bytes < plan_.shape.bytes() ||
      !platform::is_sealed_against_shrinking(file))
    return false;
  auto memory = Mapping::shared(file, 0, plan_.shape.bytes());
  if (!memory || !hostmem::Board::is_valid(memory->data(), plan_.shape)) return false;
  memory_ = std::move(*memory);
  return true;
}

std::unique_ptr<Team> Assembly::make_team(memory::Account account) {
  std::vector<hostmem::WakeWord*> words;
  for (int member = 0; member < size(); ++member) {
    const auto local =
        bootstrap::local_rank_of(*plan_.host.bootstrap, plan_.comm.group().member(member));
    words.push_back(&plan_.host.wake_words[*local]);
  }
  hostmem::Board board(memory_.data(), plan_.shape, static_cast<std::uint32_t>(plan_.comm.rank()),
                       std::move(words), hostmem::Waker(plan_.host.fence_payer));
  return std::make_unique<Team>(
      plan_.engine, Team::Ground{std::move(memory_), std::move(file_), plan_.earned_after},
      std::move(board), plan_.comm, Team::Upkeep{&plan_.ledger, account, &plan_.teams});
}

std::unique_ptr<Team> Assembly::lead() {
  std::array<char, name_bytes_max> offer{};
  std::string name;
  if (plan_.willing && make_board()) name = listen();
  std::copy(name.begin(), name.end(), offer.begin());
  for (int member = 1; member < size(); ++member) send(member, offer.data(), offer.size());
  if (name.empty()) return nullptr;
  const bool handed_over = hear_all(true) && hand_over();
  tell_all(handed_over);
  if (!handed_over) return nullptr;
  const bool complete = hear_all(true);
  tell_all(complete);
  return complete ? make_team(memory::Account::collective) : nullptr;
}

std::unique_ptr<Team> Assembly::follow() {
  std::array<char, name_bytes_max> offer{};
  if (!receive(leader, offer.data(), offer.size()) || offer[0] == '\0') return nullptr;
  const std::string_view name(offer.data(), ::strnlen(offer.data(), offer.size()));
  const auto answer = [&](bool yes) {
    const std::uint8_t byte = yes ? 1 : 0;
    send(leader, &byte, sizeof(byte));
  };
  answer(plan_.willing && connect(name));
  if (!hear_leader()) return nullptr;
  answer(take_board());
  return hear_leader() ? make_team(memory::Account::attachments) : nullptr;
}

}  // namespace

std::unique_ptr<Team> assemble(const TeamPlan& plan) { return Assembly(plan).run(); }

}  // namespace hawser::collective
