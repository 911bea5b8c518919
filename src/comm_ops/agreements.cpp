#include "comm_ops/agreements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "comm_ops/groups.hpp"

namespace hawser::comm_ops {
namespace {

struct MessageHeader {
  core::GlobalId comm;
  std::uint32_t number;
  std::uint32_t reserved;
};
static_assert(sizeof(MessageHeader) == 24);

/// Of the longest message of an agreement of MEMBERS.
std::size_t message_bytes_max(std::size_t members) {
  constexpr std::size_t numbers_bytes = 64;  // more than all fields of fixed length
  constexpr std::size_t sets = 4;
  const std::size_t set_bytes = (members + 63) / 64 * sizeof(std::uint64_t);
  return sizeof(MessageHeader) + numbers_bytes + sets * set_bytes +
         members * sizeof(Agreement::Blob);
}

}  // namespace

class Agreements::AgreementRequest final : public Request {
 public:
  explicit AgreementRequest(Comm& comm)
      : Request(core::RequestKind::collective), comm_(Ref<Comm>::share(&comm)) {
    activate();
  }
  void finish(Result<void> result) {
    if (!result.ok()) fail(result.take_error());
    set_complete();
  }
  [[nodiscard]] core::Object* error_object() const override { return comm_.get(); }

 private:
  const Ref<Comm> comm_;
};

Agreements::Agreements(p2p::Engine& engine, const Identity& self) : engine_(engine), self_(self) {}

Ref<Group> Agreements::members_of(const Comm& comm) {
  if (!comm.is_inter()) return share(comm.group());
  const Group& ours = comm.group();
  const Group& theirs = comm.peer_group();
  return ours.member(0) < theirs.member(0) ? ours.union_with(theirs) : theirs.union_with(ours);
}

Result<Ref<Request>> Agreements::start(Comm& comm, const Ref<Group>& members,
                                       Agreement::Contribution contribution, Conclusion conclude) {
  const auto size = static_cast<std::size_t>(members->size());
  if (message_bytes_max(size) > p2p::active_bytes_max)
    return Error(ErrorClass::unsupported_operation,
                 fmt::format("the communicator has {} members, and a message about all of them "
                             "would be longer than {} bytes",
                             size, p2p::active_bytes_max));
  const Key key{comm.id(), comm.next_agreement()};
  const int rank = members->rank_of(self_);
  Entry& entry =
      entries_
          .emplace(key, Entry{members, Agreement(members->size(), rank),
                              base::make_ref<AgreementRequest>(comm), std::move(conclude)})
          .first->second;
  Ref<Request> request = entry.request;
  // Who has died, or has taken its leave.
  for (int member = 0; member < members->size(); ++member)
    if (engine_.backend().is_gone(members->member(member))) contribution.failed.add(member);
  if (has_dropped_early_) entry.agreement.note_missed();
  entry.agreement.start(std::move(contribution));
  take_early(key, entry);
  go_on(key, entry);
  return request;
}

void Agreements::on_message(const Identity& from, std::span<const std::byte> message) {
  MessageHeader header;
  if (message.size() < sizeof(header)) return;
  std::memcpy(&header, message.data(), sizeof(header));
  const std::span<const std::byte> bytes = message.subspan(sizeof(header));
  const Key key{header.comm, header.number};
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    keep_early(key, from, bytes);
    return;
  }
  Entry& entry = found->second;
  const int rank = entry.members->rank_of(from);
  if (rank < 0) return;
  entry.agreement.on_message(rank, bytes);
  go_on(key, entry);
}

void Agreements::keep_early(const Key& key, const Identity& from,
                            std::span<const std::byte> bytes) {
  early_.push_back({key, from, {bytes.begin(), bytes.end()}});
  early_bytes_ += bytes.size();
  while (early_bytes_ > early_bytes_max) {
    early_bytes_ -= early_.front().bytes.size();
    early_.pop_front();
    has_dropped_early_ = true;
  }
}

void Agreements::take_early(const Key& key, Entry& entry) {
  std::erase_if(early_, [&](const Early& early) {
    if (early.key != key) return false;
    const int rank = entry.members->rank_of(early.from);
    if (rank >= 0) entry.agreement.on_message(rank, early.bytes);
    early_bytes_ -= early.bytes.size();
    return true;
  });
}

void Agreements::on_departure(const Identity& process) {
  std::vector<Key> concerned;
  for (auto& [key, entry] : entries_) {
    const int rank = entry.members->rank_of(process);
    if (rank < 0) continue;
    entry.agreement.on_failed(rank);
    concerned.push_back(key);
  }
  for (const Key& key : concerned)
    if (const auto found = entries_.find(key); found != entries_.end()) go_on(key, found->second);
}

void Agreements::go_on(const Key& key, Entry& entry) {
  const MessageHeader header{key.comm, key.number, 0};
  for (const Agreement::Message& message : entry.agreement.take_messages()) {
    std::vector<std::byte> bytes(sizeof(header) + message.bytes.size());
    std::memcpy(bytes.data(), &header, sizeof(header));
    std::ranges::copy(message.bytes, bytes.begin() + sizeof(header));
    // Its length was looked at before the first one.
    static_cast<void>(engine_.backend().post(entry.members->member(message.to),
                                             p2p::ActiveClass::agreement, bytes));
  }
  if (!entry.request || !entry.agreement.decision()) return;
  const Ref<Request> request = std::exchange(entry.request, nullptr);
  const Conclusion conclude = std::exchange(entry.conclude, nullptr);
  static_cast<AgreementRequest&>(*request).finish(conclude(*entry.agreement.decision()));
  decided_.push_back(key);
  forget_oldest();
}

void Agreements::forget_oldest() {
  while (decided_.size() > decided_max) {
    entries_.erase(decided_.front());
    decided_.pop_front();
  }
}

}  // namespace hawser::comm_ops
