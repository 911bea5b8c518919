// The protocols of host-side point-to-point, as tables: name, when it applies, what it does. The
// first entry that applies is taken. A message is sent by one of `send_protocols`; one that came by
// rendezvous is fetched by one of `fetch_protocols`. Which channel carries the frames is the
// channel policy's choice (DESIGN §5), not theirs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "p2p/protocol/wire.hpp"
#include "transport/transport.hpp"

namespace hawser::p2p {

/// What a sender knows of a message when it chooses.
struct SendSituation {
  std::size_t bytes;
  bool has_frames;          // the chosen channel is there and carries frames
  std::size_t eager_room;   // payload that one frame of it holds
  std::size_t inline_room;  // payload that may go along with a rendezvous header
  bool has_credit;          // for this payload, if it should be unexpected
  bool has_credit_inline;   // for what may go along with a rendezvous header
  bool is_synchronous;
  bool is_asked_first;  // the peer would rather copy it once than have it unasked
  bool is_streamed;     // longer than what goes in one frame on a channel that carries long frames
};

enum class SendProtocol : std::uint8_t { stream, eager, rendezvous_with_data, rendezvous };

struct SendEntry {
  SendProtocol protocol;
  std::string_view name;
  bool (*applies)(const SendSituation&);
  std::string_view sentence;
};

inline constexpr std::array<SendEntry, 4> send_protocols = {{
    {SendProtocol::stream, "stream",
     [](const SendSituation& s) {
       return s.has_frames && !s.is_synchronous && s.has_credit && !s.is_asked_first &&
              s.is_streamed;
     },
     "the message in a row of frames, unasked; the receiver copies while the sender does, and "
     "keeps what is unexpected"},
    {SendProtocol::eager, "eager",
     [](const SendSituation& s) {
       return s.has_frames && !s.is_synchronous && s.has_credit && !s.is_asked_first &&
              s.bytes <= s.eager_room;
     },
     "the whole message in one frame; the receiver keeps it if it is unexpected"},
    {SendProtocol::rendezvous_with_data, "rendezvous_with_data",
     [](const SendSituation& s) { return s.has_credit && s.bytes <= s.inline_room; },
     "header and data in one frame; the receiver acknowledges the match"},
    {SendProtocol::rendezvous, "rendezvous", [](const SendSituation&) { return true; },
     "header only; the receiver fetches the data once it is matched"},
}};

/// What a receiver knows of a matched rendezvous.
struct FetchSituation {
  std::uint64_t missing_bytes;  // beyond what came with the header
  bool can_copy;                // out of the sender's memory, by the channel single_copy
  bool can_join;                // the same, of half of it, while the sender copies the other
  bool can_get;                 // the same by RDMA, or over TCP without copies
  bool can_put;                 // the sender can write into our buffer by RDMA
  bool can_expect;              // its adapter can send what ours puts there, without a connection
};

enum class FetchProtocol : std::uint8_t {
  nothing,
  single_copy,
  joint_copy,
  rdma_get,
  rdma_put,
  zero_copy,
  copy_pipeline
};

struct FetchEntry {
  FetchProtocol protocol;
  std::string_view name;
  bool (*applies)(const FetchSituation&);
  std::string_view sentence;
};

inline constexpr std::array<FetchEntry, 7> fetch_protocols = {{
    {FetchProtocol::nothing, "nothing",
     [](const FetchSituation& s) { return s.missing_bytes == 0; }, "all data came with the header"},
    {FetchProtocol::single_copy, "single_copy", [](const FetchSituation& s) { return s.can_copy; },
     "the receiver copies straight out of the sender's memory, then sends finished"},
    {FetchProtocol::joint_copy, "joint_copy", [](const FetchSituation& s) { return s.can_join; },
     "join_copy; the receiver copies one half out of the sender's memory while the sender copies "
     "the other into the receiver's, with part_copied behind it, then finished"},
    {FetchProtocol::rdma_get, "rdma_get", [](const FetchSituation& s) { return s.can_get; },
     "the receiver reads the sender's memory by RDMA or TCP, with finished behind it"},
    {FetchProtocol::rdma_put, "rdma_put", [](const FetchSituation& s) { return s.can_put; },
     "clear_to_put, block by block; the sender writes them by RDMA, with put_done behind each"},
    {FetchProtocol::zero_copy, "zero_copy", [](const FetchSituation& s) { return s.can_expect; },
     "clear_to_cross, part by part; the adapters move them by datagrams, then finished"},
    {FetchProtocol::copy_pipeline, "copy_pipeline", [](const FetchSituation&) { return true; },
     "clear_to_send; the sender packs the rest into data frames as they find room"},
}};

/// The data may come in frames behind the header, which then count what is in them.
constexpr bool may_come_in_frames(wire::Offer offer) {
  return offer == wire::Offer::frames || offer == wire::Offer::frames_or_single_copy;
}

/// By which a message that its receiver fetches as OFFER says is counted; its header went by
/// CARRIER.
constexpr transport::ChannelKind channel_of(wire::Offer offer, transport::ChannelKind carrier) {
  switch (offer) {
    case wire::Offer::get:
    case wire::Offer::put:
      return carrier == transport::ChannelKind::tcp ? transport::ChannelKind::tcp_zero_copy
                                                    : transport::ChannelKind::rc_rdma;
    case wire::Offer::zero_copy:
      return transport::ChannelKind::ud_zero_copy;
    case wire::Offer::single_copy:
      return transport::ChannelKind::single_copy;
    case wire::Offer::frames:
    case wire::Offer::frames_or_single_copy:  // its data count when it is known which
      break;
  }
  return carrier;
}

constexpr const SendEntry& choose(const SendSituation& situation) {
  for (const SendEntry& entry : send_protocols)
    if (entry.applies(situation)) return entry;
  return send_protocols.back();
}
constexpr const FetchEntry& choose(const FetchSituation& situation) {
  for (const FetchEntry& entry : fetch_protocols)
    if (entry.applies(situation)) return entry;
  return fetch_protocols.back();
}

}  // namespace hawser::p2p
