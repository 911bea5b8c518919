#include "sim/workloads/message_plan.hpp"

#include "sim/workloads/payload.hpp"

namespace hawser::sim {

namespace {

constexpr int any_source_tag = 1000;

/// Of every protocol's liking; a multiple of 4 more often than not.
std::size_t draw_bytes(Random& random) {
  constexpr std::array<std::uint64_t, 4> bytes_max = {8, 64, 2000, 20000};
  const std::size_t bytes = random.below(random.pick(bytes_max) + 1);
  return random.one_in(3) ? bytes : bytes / 4 * 4;
}

template <class Form>
Form draw_form(Random& random) {
  return static_cast<Form>(random.below(static_cast<std::uint64_t>(Form::count_)));
}

MessagePlan draw_route(Random& random, int ranks, int talkers) {
  MessagePlan route{};
  // Most messages between few ranks, so that they earn channels.
  const bool among_talkers = !random.one_in(4);
  route.from = random.between(0, (among_talkers ? talkers : ranks) - 1);
  route.to = random.between(0, (among_talkers ? talkers : ranks) - 1);
  route.tag = random.between(0, 3);
  route.message_class = static_cast<MessageClass>(random.below(3));
  return route;
}

/// IN_BURST: the sender must be able to run ahead of the receiver.
MessagePlan draw_message(Random& random, const MessagePlan& route, bool in_burst) {
  MessagePlan message = route;
  message.bytes = in_burst && !random.one_in(6) ? random.below(100) : draw_bytes(random);
  message.send = draw_form<SendForm>(random);
  if (in_burst && message.send == SendForm::ssend) message.send = SendForm::isend;
  message.receive = draw_form<ReceiveForm>(random);
  if (message.message_class == MessageClass::any_source) {
    message.tag = any_source_tag + random.between(0, 1);
    message.bytes = std::max(message.bytes, Payload::number_bytes);
    message.send = random.one_in(2) ? SendForm::isend : SendForm::issend;
  }
  // A blocking send to oneself would wait for ever.
  if (message.from == message.to && message.send == SendForm::send) message.send = SendForm::isend;
  if (message.from == message.to && message.send == SendForm::ssend)
    message.send = SendForm::issend;
  message.room = message.bytes;
  if (message.message_class == MessageClass::named && message.bytes > 0 && random.one_in(12))
    message.room = random.below(message.bytes);
  if (message.message_class == MessageClass::any_source) message.room = 20000;
  message.holes_at_sender = message.bytes % 4 == 0 && random.one_in(3);
  message.holes_at_receiver = message.room % 4 == 0 && random.one_in(3);
  return message;
}

}  // namespace

std::vector<MessagePlan> plan_messages(Random& random, int ranks) {
  const int talkers = random.between(1, ranks);
  const auto count = random.between<std::size_t>(20, 60 + static_cast<std::size_t>(20 * ranks));
  std::vector<MessagePlan> messages;
  while (messages.size() < count) {
    MessagePlan route = draw_route(random, ranks, talkers);
    const bool in_burst = random.one_in(10);
    // Both sides earn a channel at about the same time.
    const bool in_turns = in_burst && random.one_in(2);
    for (int left = in_burst ? random.between(10, 60) : 1; left > 0; --left) {
      messages.push_back(draw_message(random, route, in_burst));
      if (in_turns) std::swap(route.from, route.to);
    }
  }
  return messages;
}

}  // namespace hawser::sim
