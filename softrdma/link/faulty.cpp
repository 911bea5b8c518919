#include "softrdma/link/faulty.hpp"

#include <algorithm>
#include <utility>

namespace softrdma::link {
namespace {

constexpr std::uint64_t late_ns_max = 200'000;
/// Packets that are on their way at a time; more are lost.
constexpr std::size_t delayed_max = 1 << 16;

}  // namespace

void Faulty::send(const qp::Outgoing& packet, const ibv_ah_attr& address) {
  if (hits(faults_.lost) || hits(faults_.damaged)) return;
  const bool is_late = hits(faults_.late);
  const bool is_flipped = hits(faults_.flipped) && packet.payload.bytes() > 0;
  const bool is_repeated = hits(faults_.repeated);
  const bool is_delayed = is_late || faults_.delay_ns != 0;
  if (!is_delayed && !is_flipped) {
    inner_.send(packet, address);
    if (is_repeated) inner_.send(packet, address);
    return;
  }
  Copy copy{packet.headers, {}, address};
  packet.payload.append_to(&copy.payload);
  if (is_flipped) {
    const std::size_t bit = random_() % (copy.payload.size() * 8);
    copy.payload[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
  }
  if (!is_delayed) return send_copy(copy);
  const std::uint64_t extra_ns = is_late ? 1 + random_() % late_ns_max : 0;
  if (is_repeated) delay(copy, faults_.delay_ns + extra_ns);
  delay(std::move(copy), faults_.delay_ns + extra_ns);
}

void Faulty::delay(Copy copy, std::uint64_t delay_ns) {
  if (fresh_.size() + late_.size() < delayed_max) fresh_.push_back({std::move(copy), delay_ns});
}

void Faulty::send_copy(const Copy& copy) {
  qp::Outgoing packet;
  packet.headers = copy.headers;
  packet.payload.add(copy.payload);
  packet.is_copy = true;
  inner_.send(packet, copy.address);
  // The copy goes when this returns.
  inner_.flush();
}

/// Without room it is lost, as it would be at a switch.
void Faulty::send_if_room(const Copy& copy) {
  if (inner_.has_room({&copy.address, copy.headers.destination_qp})) send_copy(copy);
}

void Faulty::send_delayed() {
  for (const auto& [when_ns, copy] : late_) send_if_room(copy);
  for (const Delayed& sent : fresh_) send_if_room(sent.copy);
  late_.clear();
  fresh_.clear();
}

bool Faulty::poll(Sink& sink, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  for (Delayed& sent : fresh_) late_.emplace(now_ns + sent.delay_ns, std::move(sent.copy));
  fresh_.clear();
  bool moved = false;
  while (!late_.empty() && late_.begin()->first <= now_ns) {
    const auto next = late_.extract(late_.begin());
    send_if_room(next.mapped());
    moved = true;
  }
  return inner_.poll(sink, now_ns) || moved;
}

std::optional<std::uint64_t> Faulty::deadline_ns() const {
  const std::optional<std::uint64_t> inner = inner_.deadline_ns();
  if (fresh_.empty() && late_.empty()) return inner;
  const std::uint64_t own = fresh_.empty() ? late_.begin()->first : now_ns_;
  return inner ? std::min(*inner, own) : own;
}

}  // namespace softrdma::link
