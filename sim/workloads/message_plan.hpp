// A random point-to-point program that no order of events can deadlock.
//
// Messages are numbered; every rank does its part of them in that order. Whoever is stuck at the
// lowest number then waits for somebody who has come at least as far. Three classes:
//
//   named     received by source and tag
//   any_tag   on a communicator of its own, received by source and MPI_ANY_TAG: the order of the
//             messages alone says which one it is
//   any_source  one tag per receiver's class, received by MPI_ANY_SOURCE; any of them may come. Its
//               sends never block, since the receive that matches them may be a later one.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/random.hpp"

namespace hawser::sim {

enum class MessageClass : std::uint8_t { named, any_tag, any_source };
enum class SendForm : std::uint8_t { send, ssend, isend, issend, bsend, count_ };
enum class ReceiveForm : std::uint8_t {
  recv,
  irecv,
  probe,
  iprobe,
  mprobe,
  improbe,
  cancelled,  // posted, cancelled, and received another way if that succeeded
  count_
};

struct MessagePlan {
  int from;
  int to;
  int tag;
  std::size_t bytes;
  std::size_t room;  // of the receiver's buffer; less than `bytes`: truncated
  MessageClass message_class;
  SendForm send;
  ReceiveForm receive;
  bool holes_at_sender;
  bool holes_at_receiver;
};

std::vector<MessagePlan> plan_messages(Random& random, int ranks);

}  // namespace hawser::sim
