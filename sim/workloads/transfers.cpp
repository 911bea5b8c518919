// Pairs that move long messages: several at a time from one of them to the other, to and fro, or
// both ways at once. Now and then one of the two computes while the other waits for it.
#include <deque>
#include <vector>

#include "sim/workloads/payload.hpp"
#include "sim/workloads/workloads.hpp"

namespace hawser::sim {

namespace {

enum class Direction : std::uint8_t { one_way, to_and_fro, both_ways, count_ };

struct Phase {
  Direction direction;
  int messages;
  std::size_t window;  // of messages under way
  std::vector<std::size_t> bytes;
};

class Transfers final : public Workload {
 public:
  Transfers(Random& random, const core::TypeTable& types)
      : byte_(*types.find(0x247)),
        phases_(random.between<std::size_t>(1, 4)),
        computes_one_in_(random.below(10)) {
    for (Phase& phase : phases_) draw(random, phase);
  }

  void run(Rank& self) override;

 private:
  friend class Partner;

  static void draw(Random& random, Phase& phase) {
    constexpr std::array<std::uint64_t, 4> bytes_max = {600, 6000, 20'000, 60'000};
    phase.direction =
        static_cast<Direction>(random.below(static_cast<std::uint64_t>(Direction::count_)));
    phase.messages = random.between(20, 60);
    phase.window =
        phase.direction == Direction::to_and_fro ? 0 : random.between<std::size_t>(0, 20);
    const std::uint64_t longest = random.pick(bytes_max);
    for (int i = 0; i < phase.messages; ++i) phase.bytes.push_back(random.below(longest + 1));
  }

  Datatype& byte_;
  std::vector<Phase> phases_;
  const std::uint64_t computes_one_in_;
};

/// One rank's part.
class Partner {
 public:
  Partner(Rank& self, const Transfers& program) : self_(self), program_(program) {}

  void run(const Phase& phase, int tag) {
    const bool is_first = (self_.rank + tag) % 2 == 0;
    for (int number = 0; number < phase.messages; ++number) {
      const bool is_turn =
          phase.direction == Direction::to_and_fro ? (number % 2 == 0) == is_first : is_first;
      const std::size_t bytes = phase.bytes[static_cast<std::size_t>(number)];
      self_.doing("phase {}: message {} of {} bytes", tag, number, bytes);
      if (!is_turn || phase.direction == Direction::both_ways) receive(tag, number, bytes);
      if (is_turn || phase.direction == Direction::both_ways) send(tag, number, bytes);
      maybe_compute();
      while (transfers_.size() > phase.window) finish_first();
    }
    while (!transfers_.empty()) finish_first();
  }

 private:
  struct Transfer {
    Payload payload;
    int number;
    bool is_receive;
    Ref<Request> request;
  };

  [[nodiscard]] int partner() const { return self_.rank ^ 1; }

  void send(int tag, int number, std::size_t bytes) {
    Transfer& transfer = add(number, bytes, false);
    transfer.payload.fill(static_cast<std::uint32_t>(number));
    transfer.request = self_.check(self_.engine().isend(transfer.payload.const_buffer(),
                                                        {self_.world.get(), partner(), tag},
                                                        p2p::SendMode::standard));
  }
  void receive(int tag, int number, std::size_t bytes) {
    Transfer& transfer = add(number, bytes, true);
    transfer.request = self_.check(
        self_.engine().irecv(transfer.payload.buffer(), {self_.world.get(), partner(), tag}));
  }
  Transfer& add(int number, std::size_t bytes, bool is_receive) {
    return transfers_.emplace_back(
        Transfer{Payload(program_.byte_, bytes, false), number, is_receive, nullptr});
  }
  void finish_first() {
    const Transfer& first = transfers_.front();
    self_.wait(first.request);
    self_.check(!first.is_receive || first.payload.holds(static_cast<std::uint32_t>(first.number),
                                                         first.payload.bytes()),
                "message {} of {} bytes is damaged", first.number, first.payload.bytes());
    transfers_.pop_front();
  }
  /// So long that a partner may give up waiting for it.
  void maybe_compute() {
    if (!self_.random.one_in(program_.computes_one_in_)) return;
    for (std::uint64_t left = self_.random.below(1000); left > 0; --left) self_.scheduler.pause();
  }

  Rank& self_;
  const Transfers& program_;
  std::deque<Transfer> transfers_;  // a deque: their memory must not move
};

void Transfers::run(Rank& self) {
  if ((self.rank ^ 1) >= self.size) return;  // has no partner
  Partner partner(self, *this);
  int tag = 0;
  for (const Phase& phase : phases_) partner.run(phase, tag++);
}

}  // namespace

std::unique_ptr<Workload> make_transfers(Random& random, int, const core::TypeTable& types) {
  return std::make_unique<Transfers>(random, types);
}

}  // namespace hawser::sim
