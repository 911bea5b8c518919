// Ranks that may die: what a living one has to do with the dead fails, with everybody else nothing
// does, and nobody waits for ever.
//
// One question after the other is asked, and answered; all ranks go through them in one order,
// which no order of events can deadlock (message_plan.hpp). Who waits for a question has written to
// the one that will ask first, since nobody notices the death of a process that he never heard of.
#include <deque>
#include <vector>

#include "sim/workloads/payload.hpp"
#include "sim/workloads/workloads.hpp"

namespace hawser::sim {

namespace {

constexpr int greeting_tag = 0;
constexpr int question_tag = 1;
constexpr int answer_tag = 2;

class Survivors final : public Workload {
 public:
  Survivors(Random& random, int ranks, const core::TypeTable& types)
      : byte_(*types.find(0x247)), window_(random.between<std::size_t>(1, 20)) {
    const int talkers = random.between(2, ranks);
    const int count = random.between(20, 400);
    while (static_cast<int>(dialogues_.size()) < count) draw_dialogues(random, talkers);
  }

  void run(Rank& self) override;

 private:
  friend class Survivor;
  struct Dialogue {
    int asker;
    int answerer;
    std::size_t question_bytes;
    std::size_t answer_bytes;
  };

  static std::size_t draw_bytes(Random& random) {
    constexpr std::array<std::uint64_t, 3> bytes_max = {64, 2000, 20000};
    return random.below(random.pick(bytes_max) + 1);
  }
  /// Some between the same two, so that they earn channels.
  void draw_dialogues(Random& random, int talkers) {
    const int asker = random.between(0, talkers - 1);
    const int answerer = (asker + random.between(1, talkers - 1)) % talkers;
    for (int left = random.between(1, 30); left > 0; --left)
      dialogues_.push_back({asker, answerer, draw_bytes(random), draw_bytes(random)});
  }

  Datatype& byte_;
  const std::size_t window_;
  std::vector<Dialogue> dialogues_;
};

/// One rank's part.
class Survivor {
 public:
  Survivor(Rank& self, const Survivors& program)
      : self_(self), program_(program), greeted_(static_cast<std::size_t>(self.size)) {}

  void live() {
    for (std::uint32_t i = 0; i < program_.dialogues_.size(); ++i) {
      const Survivors::Dialogue& dialogue = program_.dialogues_[i];
      if (dialogue.asker == self_.rank) {
        greet(dialogue.answerer);
        send(dialogue.answerer, question_tag, i, dialogue.question_bytes);
        receive(dialogue.answerer, answer_tag, i, dialogue.answer_bytes);
      } else if (dialogue.answerer == self_.rank) {
        greet(dialogue.asker);
        receive(dialogue.asker, question_tag, i, dialogue.question_bytes);
        send(dialogue.asker, answer_tag, i, dialogue.answer_bytes);
      }
    }
    while (!sends_.empty()) finish_first();
  }

 private:
  struct Sending {
    Payload payload;
    int to;
    Ref<Request> request;
  };

  /// Once each way.
  void greet(int peer) {
    if (greeted_[static_cast<std::size_t>(peer)]) return;
    greeted_[static_cast<std::size_t>(peer)] = true;
    send(peer, greeting_tag, 0, 0);
    receive(peer, greeting_tag, 0, 0);
  }

  void send(int to, int tag, std::uint32_t number, std::size_t bytes) {
    self_.doing("dialogue {}: {} bytes to {}, tag {}", number, bytes, to, tag);
    Sending& sending = sends_.emplace_back(Sending{Payload(program_.byte_, bytes, false), to, {}});
    sending.payload.fill(number);
    auto request = self_.engine().isend(sending.payload.const_buffer(),
                                        {self_.world.get(), to, tag}, p2p::SendMode::standard);
    if (request.ok()) {
      sending.request = std::move(*request);
    } else {
      check_failure(to, request.error());
      sends_.pop_back();
    }
    while (sends_.size() > program_.window_) finish_first();
  }

  void finish_first() {
    const Sending& first = sends_.front();
    const Result<void> result = p2p::wait(self_.engine(), first.request.get(), nullptr);
    if (!result.ok()) check_failure(first.to, result.error());
    sends_.pop_front();
  }

  void receive(int from, int tag, std::uint32_t number, std::size_t bytes) {
    self_.doing("dialogue {}: {} bytes from {}, tag {}", number, bytes, from, tag);
    Payload payload(program_.byte_, bytes, false);
    const Result<void> result =
        self_.engine().recv(payload.buffer(), {self_.world.get(), from, tag}, nullptr);
    if (!result.ok()) {
      check_failure(from, result.error());
      return;
    }
    self_.check(payload.holds(number, bytes), "dialogue {}: what {} sent is damaged", number, from);
  }

  /// Only what has to do with the dead fails.
  void check_failure(int peer, const base::Error& error) {
    self_.check(self_.scheduler.was_killed(static_cast<std::size_t>(peer)),
                "rank {} lives, but: {}", peer, error.sentence());
    self_.check(error.code() == static_cast<int>(base::ErrorClass::proc_failed),
                "of the dead rank {}: {}", peer, error.sentence());
  }

  Rank& self_;
  const Survivors& program_;
  std::vector<bool> greeted_;
  std::deque<Sending> sends_;  // a deque: their memory must not move
};

void Survivors::run(Rank& self) { Survivor(self, *this).live(); }

}  // namespace

std::unique_ptr<Workload> make_survivors(Random& random, int ranks, const core::TypeTable& types) {
  return std::make_unique<Survivors>(random, ranks, types);
}

}  // namespace hawser::sim
