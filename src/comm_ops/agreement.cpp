#include "comm_ops/agreement.hpp"

#include <cstring>

namespace hawser::comm_ops {

/// Appends fields to a message.
class Agreement::Writer {
 public:
  Writer(Kind kind, int ballot) {
    number(static_cast<std::uint32_t>(kind));
    number(static_cast<std::uint32_t>(ballot));
  }
  Writer& number(std::uint32_t value) { return append(&value, sizeof(value)); }
  Writer& blob(const Blob& blob) { return append(blob.data(), sizeof(blob)); }
  Writer& set(const RankSet& set) { return append(set.words().data(), set.words().size_bytes()); }
  Writer& decision(const Decision& decision) {
    number(decision.value).number(0).set(decision.failed).set(decision.acknowledged);
    return append(decision.blobs.data(), decision.blobs.size() * sizeof(Blob));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  Writer& append(const void* data, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + bytes);
    return *this;
  }
  std::vector<std::byte> bytes_;
};

/// Takes fields off a message; once something is missing or wrong, it stays so.
class Agreement::Reader {
 public:
  Reader(std::span<const std::byte> bytes, int members) : bytes_(bytes), members_(members) {}

  std::uint32_t number() {
    std::uint32_t value = 0;
    take(&value, sizeof(value));
    return value;
  }
  Blob blob() {
    Blob blob{};
    take(blob.data(), sizeof(blob));
    return blob;
  }
  RankSet set() {
    RankSet set(members_);
    take(set.words().data(), set.words().size_bytes());
    is_right_ = is_right_ && set.is_valid();
    return set;
  }
  /// A rank of the group.
  int rank() {
    const std::uint32_t value = number();
    is_right_ = is_right_ && value < static_cast<std::uint32_t>(members_);
    return is_right_ ? static_cast<int>(value) : 0;
  }
  Decision decision() {
    Decision decision;
    decision.value = number();
    number();
    decision.failed = set();
    decision.acknowledged = set();
    decision.blobs.resize(is_right_ ? static_cast<std::size_t>(members_) : 0);
    take(decision.blobs.data(), decision.blobs.size() * sizeof(Blob));
    return decision;
  }
  void refuse() { is_right_ = false; }
  [[nodiscard]] bool is_right() const { return is_right_; }
  /// Nothing was wrong or is left.
  [[nodiscard]] bool is_over() const { return is_right_ && bytes_.empty(); }

 private:
  void take(void* to, std::size_t bytes) {
    is_right_ = is_right_ && bytes_.size() >= bytes;
    if (!is_right_ || bytes == 0) return;
    std::memcpy(to, bytes_.data(), bytes);
    bytes_ = bytes_.subspan(bytes);
  }

  std::span<const std::byte> bytes_;
  const int members_;
  bool is_right_ = true;
};

Agreement::Agreement(int size, int self)
    : size_(size),
      self_(self),
      failed_(size),
      heard_(static_cast<std::size_t>(size)),
      accepters_(size) {
  HAWSER_ASSERT(self >= 0 && self < size);
}

void Agreement::start(Contribution contribution) {
  HAWSER_ASSERT(!own_);
  own_ = std::move(contribution);
  for (int rank = 0; rank < size_; ++rank)
    if (own_->failed.has(rank) && rank != self_) failed_.add(rank);
  if (!decision_) turn_to_coordinator();
}

int Agreement::coordinator() const { return std::max(ballot_, failed_.first_missing()); }

void Agreement::on_failed(int rank) {
  if (rank == self_ || failed_.has(rank)) return;
  failed_.add(rank);
  if (decision_ || !own_) return;
  turn_to_coordinator();
}

/// Sends it what this process brings along, if it has not been sent there yet.
void Agreement::turn_to_coordinator() {
  const int turned_to = coordinator();
  const bool is_new = !has_turned_ || turned_to != ballot_;
  ballot_ = turned_to;
  has_turned_ = true;
  if (turned_to == self_) {
    coordinate();
  } else if (is_new) {
    send_contribution(turned_to);
  }
}

/// Of the coordinator: goes on as far as it can.
void Agreement::coordinate() {
  if (proposal_) {
    finish_if_all_accepted();
    return;
  }
  // Who has decided already will not come by itself, nor who has turned to a dead one.
  if ((self_ > 0 || has_missed_) && !has_asked_) {
    has_asked_ = true;
    send_to_others([&](int rank) { send(rank, Kind::question, self_); });
  }
  heard_[static_cast<std::size_t>(self_)] = Heard{*own_, accepted_};
  for (int rank = 0; rank < size_; ++rank)
    if (lives(rank) && !heard_[static_cast<std::size_t>(rank)]) return;
  propose();
}

void Agreement::propose() {
  const Accepted* latest = nullptr;
  for (const std::optional<Heard>& heard : heard_)
    if (heard && heard->accepted && (latest == nullptr || heard->accepted->ballot > latest->ballot))
      latest = &*heard->accepted;
  proposal_ = latest != nullptr ? latest->decision : combine();
  accepted_ = Accepted{self_, *proposal_};
  accepters_.add(self_);
  send_to_others([&](int rank) { send_decision(rank, Kind::proposal, *proposal_); });
  finish_if_all_accepted();
}

Agreement::Decision Agreement::combine() const {
  Decision decision{~std::uint32_t{0}, failed_, RankSet(size_, true),
                    std::vector<Blob>(static_cast<std::size_t>(size_))};
  for (std::size_t rank = 0; rank < heard_.size(); ++rank) {
    if (!heard_[rank]) continue;
    const Contribution& contribution = heard_[rank]->contribution;
    decision.value &= contribution.value;
    decision.failed.unite(contribution.failed);
    decision.acknowledged.intersect(contribution.acknowledged);
    decision.blobs[rank] = contribution.blob;
  }
  return decision;
}

void Agreement::finish_if_all_accepted() {
  for (int rank = 0; rank < size_; ++rank)
    if (lives(rank) && !accepters_.has(rank)) return;
  const Decision decided = *proposal_;
  send_to_others([&](int rank) { send_decision(rank, Kind::decision, decided); });
  decide(decided);
}

void Agreement::decide(Decision decision) {
  if (decision_) return;
  decision_ = std::move(decision);
  heard_.clear();
  accepted_.reset();
  proposal_.reset();
}

/// Those that have turned to this process wait for it.
void Agreement::pass_on(Decision decided) {
  if (decision_) return;
  send_to_others([&](int rank) {
    if (heard_[static_cast<std::size_t>(rank)]) send_decision(rank, Kind::decision, decided);
  });
  decide(std::move(decided));
}

void Agreement::on_message(int from, std::span<const std::byte> bytes) {
  Reader reader(bytes, size_);
  const auto kind = static_cast<Kind>(reader.number());
  const int ballot = reader.rank();
  if (!reader.is_right() || from == self_) return;
  switch (kind) {
    case Kind::contribution:
      on_contribution(from, reader);
      return;
    case Kind::question:
      if (reader.is_over() && ballot == from) on_question(from);
      return;
    case Kind::proposal:
      if (ballot == from) on_proposal(from, reader);
      return;
    case Kind::accepted:
      if (reader.is_over()) on_accepted(from, ballot);
      return;
    case Kind::decision: {
      Decision decided = reader.decision();
      if (reader.is_over()) pass_on(std::move(decided));
      return;
    }
  }
}

void Agreement::on_contribution(int from, Reader& reader) {
  Heard heard;
  heard.contribution.value = reader.number();
  const std::uint32_t has_accepted = reader.number();
  heard.contribution.blob = reader.blob();
  heard.contribution.failed = reader.set();
  heard.contribution.acknowledged = reader.set();
  if (has_accepted == 1) {
    const int ballot = reader.rank();
    reader.number();
    heard.accepted = Accepted{ballot, reader.decision()};
  }
  if (has_accepted > 1 || !reader.is_over()) return;
  if (decision_) {
    send_decision(from, Kind::decision, *decision_);
    return;
  }
  // It may say more now than it did before: that it has accepted something.
  if (!proposal_) heard_[static_cast<std::size_t>(from)] = std::move(heard);
  if (own_ && coordinator() == self_) turn_to_coordinator();
}

/// FROM takes itself for the coordinator, so that those before it have died.
void Agreement::on_question(int from) {
  if (decision_) {
    send_decision(from, Kind::decision, *decision_);
    return;
  }
  if (from < coordinator()) return;
  const bool is_known = has_turned_ && ballot_ == from;
  ballot_ = from;
  if (!own_ || is_known) return;
  has_turned_ = true;
  send_contribution(from);
}

void Agreement::on_proposal(int from, Reader& reader) {
  Decision proposed = reader.decision();
  if (!reader.is_over() || !own_ || from < ballot_) return;
  if (decision_) {
    send_decision(from, Kind::decision, *decision_);
    return;
  }
  ballot_ = from;
  accepted_ = Accepted{from, std::move(proposed)};
  send(from, Kind::accepted, from);
}

void Agreement::on_accepted(int from, int ballot) {
  if (!proposal_ || ballot != self_) return;
  accepters_.add(from);
  finish_if_all_accepted();
}

template <class Send>
void Agreement::send_to_others(Send&& send) {
  for (int rank = 0; rank < size_; ++rank)
    if (rank != self_ && lives(rank)) send(rank);
}

void Agreement::send(int to, Kind kind, int ballot) {
  outgoing_.push_back({to, Writer(kind, ballot).take()});
}

void Agreement::send_contribution(int to) {
  Writer writer(Kind::contribution, to);
  writer.number(own_->value).number(accepted_ ? 1 : 0).blob(own_->blob);
  writer.set(failed_).set(own_->acknowledged);
  if (accepted_)
    writer.number(static_cast<std::uint32_t>(accepted_->ballot))
        .number(0)
        .decision(accepted_->decision);
  outgoing_.push_back({to, writer.take()});
}

void Agreement::send_decision(int to, Kind kind, const Decision& decision) {
  outgoing_.push_back({to, Writer(kind, self_).decision(decision).take()});
}

}  // namespace hawser::comm_ops
