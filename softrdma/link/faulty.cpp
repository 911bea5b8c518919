#include "softrdma/link/faulty.hpp"

#include <algorithm>
#include <utility>

namespace softrdma::link {
namespace {

constexpr std::uint64_t late_ns_max = 200'000;

}  // namespace

void Faulty::send(const qp::Outgoing& packet, const ibv_ah_attr& address) {
  if (hits(faults_.lost) || hits(faults_.damaged)) return;
  const bool is_late = hits(faults_.late);
  const bool is_flipped = hits(faults_.flipped) && packet.payload.bytes() > 0;
  const bool is_repeated = hits(faults_.repeated);
  if (!is_late && !is_flipped) {
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
  if (is_late) {
    late_.emplace(now_ns_ + 1 + random_() % late_ns_max, std::move(copy));
  } else {
    send_copy(copy);
  }
}

void Faulty::send_copy(const Copy& copy) {
  qp::Outgoing packet;
  packet.headers = copy.headers;
  packet.payload.add(copy.payload);
  inner_.send(packet, copy.address);
  // The copy goes when this returns.
  inner_.flush();
}

bool Faulty::poll(Sink& sink, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  bool moved = false;
  while (!late_.empty() && late_.begin()->first <= now_ns) {
    const auto next = late_.extract(late_.begin());
    const Copy& copy = next.mapped();
    // Without room it is lost, as it would be at a switch.
    if (inner_.has_room({&copy.address, copy.headers.destination_qp})) send_copy(copy);
    moved = true;
  }
  return inner_.poll(sink, now_ns) || moved;
}

std::optional<std::uint64_t> Faulty::deadline_ns() const {
  const std::optional<std::uint64_t> inner = inner_.deadline_ns();
  if (late_.empty()) return inner;
  const std::uint64_t own = late_.begin()->first;
  return inner ? std::min(*inner, own) : own;
}

}  // namespace softrdma::link
