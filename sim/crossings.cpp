#include "sim/crossings.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "sim/network.hpp"

namespace hawser::sim {

using transport::DirectMessage;

namespace {

std::byte* memory_of(const DirectMessage& message) {
  return reinterpret_cast<std::byte*>(message.address);
}

}  // namespace

/// Mostly in time, also with the frame that clears the way.
std::uint64_t Crossings::draw_delay_ns() {
  return random_.below(1 + network_.settings().crossing_timeout_ns / 3);
}

std::optional<Crossings::Clear> Crossings::expect(std::uint32_t receiver, std::uint32_t sender,
                                                  const DirectMessage& message) {
  const auto under_way = std::ranges::count_if(
      expected_, [&](const auto& each) { return each.second.receiver == receiver; });
  if (static_cast<std::size_t>(under_way) >= network_.settings().crossings_max) {
    ++network_.probes().crossings_refused;
    return std::nullopt;
  }
  expected_.emplace(++last_, Expectation{receiver, sender, message});
  network_.scheduler().note("{} expects {} bytes of {}, crossing {}", receiver, message.bytes,
                            sender, last_);
  return clear_next(last_);
}

/// The receiver gives up if nothing of it comes in time.
Crossings::Clear Crossings::clear_next(std::uint64_t number) {
  const Expectation& expectation = expected_.at(number);
  const Clear clear{number, expectation.arrived,
                    std::min<std::uint64_t>(expectation.message.bytes - expectation.arrived,
                                            network_.settings().crossing_part_bytes)};
  network_.scheduler().after(network_.settings().crossing_timeout_ns,
                             [this, number, offset = clear.offset] {
                               const auto found = expected_.find(number);
                               if (found != expected_.end() && found->second.arrived == offset)
                                 give_up(number);
                             });
  return clear;
}

void Crossings::give_up(std::uint64_t number) {
  const Expectation expectation = expected_.extract(number).mapped();
  ++network_.probes().crossings_failed;
  tell(expectation.receiver, expectation.sender,
       {News::Kind::ended, false, expectation.message.token, {}});
}

void Crossings::stop_expecting(std::uint32_t receiver, std::uint64_t token) {
  std::erase_if(expected_, [&](const auto& each) {
    return each.second.receiver == receiver && each.second.message.token == token;
  });
}

void Crossings::forget(std::uint32_t process) {
  std::erase_if(expected_, [&](const auto& each) { return each.second.receiver == process; });
}

bool Crossings::send(std::uint32_t sender, std::uint32_t receiver, const DirectMessage& message,
                     std::span<const std::byte> clearance) {
  Clear clear{};
  if (clearance.size() < sizeof(clear)) return false;
  std::memcpy(&clear, clearance.data(), sizeof(clear));
  if (clear.offset > message.bytes || clear.bytes > message.bytes - clear.offset) return false;
  if (random_.one_in(network_.settings().no_room_one_in)) return false;
  network_.scheduler().after(draw_delay_ns(), [this, sender, receiver, message, clear] {
    leave(sender, receiver, message, clear);
  });
  return true;
}

/// The adapter reads the memory of a part, and reports it.
void Crossings::leave(std::uint32_t sender, std::uint32_t receiver, const DirectMessage& message,
                      const Clear& clear) {
  if (network_.is_closed(sender)) return;
  const std::byte* const first = memory_of(message) + clear.offset;
  auto part = std::make_shared<Part>(first, first + clear.bytes);
  const bool is_refused = random_.one_in(network_.settings().crossing_refused_one_in);
  tell(sender, receiver, {News::Kind::ended, !is_refused, message.token, {}});
  if (is_refused) return;
  // Datagrams behind one that is lost find no place.
  if (!network_.is_carrying(sender, receiver) ||
      random_.one_in(network_.settings().datagram_lost_one_in))
    part->resize(part->size() / 2);
  network_.scheduler().after(draw_delay_ns(), [this, clear, part] { come(clear, *part); });
}

void Crossings::come(const Clear& clear, const Part& part) {
  const auto found = expected_.find(clear.expectation);
  if (found == expected_.end() || found->second.arrived != clear.offset) return;
  Expectation& expectation = found->second;
  std::ranges::copy(part, memory_of(expectation.message) + clear.offset);
  if (part.size() < clear.bytes) return;
  expectation.arrived += part.size();
  const News::Kind kind =
      expectation.arrived < expectation.message.bytes ? News::Kind::cleared : News::Kind::ended;
  const std::uint32_t receiver = expectation.receiver;
  const std::uint32_t sender = expectation.sender;
  const std::uint64_t token = expectation.message.token;
  if (kind == News::Kind::cleared) {
    tell(receiver, sender, {kind, true, token, clear_next(clear.expectation)});
    return;
  }
  ++network_.probes().crossings;
  expected_.erase(found);
  tell(receiver, sender, {kind, true, token, {}});
}

void Crossings::tell(std::uint32_t process, std::uint32_t peer, const News& news) {
  if (network_.is_closed(process)) return;
  network_.scheduler().note("{} hears of a crossing with {}: kind {}, {}", process, peer,
                            static_cast<unsigned>(news.kind), news.was_done);
  auto data = std::make_unique<std::byte[]>(sizeof(news));
  std::memcpy(data.get(), &news, sizeof(news));
  network_.put_into_mailbox(
      process, {peer, Parcel::crossing, ChannelKind::ud_zero_copy, std::move(data), sizeof(news)});
}

}  // namespace hawser::sim
