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

MessagePlan draw_message(Random& random, int ranks, int talkers) {
  MessagePlan message{};
  // Most messages between few ranks, so that they earn channels.
  const bool among_talkers = !random.one_in(4);
  message.from = random.between(0, (among_talkers ? talkers : ranks) - 1);
  message.to = random.between(0, (among_talkers ? talkers : ranks) - 1);
  message.tag = random.between(0, 3);
  message.bytes = draw_bytes(random);
  message.message_class = static_cast<MessageClass>(random.below(3));
  message.send = draw_form<SendForm>(random);
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
  for (std::size_t i = 0; i < count; ++i) messages.push_back(draw_message(random, ranks, talkers));
  return messages;
}

}  // namespace hawser::sim
