// Partners that change: in each phase everybody talks to another neighbour, so that rings are
// earned, lie idle, and are given back to those who talk now.
#include <deque>

#include "sim/workloads/workloads.hpp"

namespace hawser::sim {

namespace {

class Shifting final : public Workload {
 public:
  Shifting(Random& random, const core::TypeTable& types)
      : byte_(*types.find(0x247)),
        phases_(random.between(2, 5)),
        messages_(random.between(20, 1000)),
        window_(random.between<std::size_t>(1, 30)) {}

  void run(Rank& self) override {
    for (int phase = 0; phase < phases_; ++phase) {
      const int distance = 1 + phase % std::max(1, self.size - 1);
      exchange(self, phase, (self.rank + distance) % self.size,
               (self.rank + self.size - distance) % self.size);
    }
  }

 private:
  using Token = std::array<int, 2>;  // phase and number of the message

  void exchange(Rank& self, int phase, int to, int from) {
    std::deque<std::pair<Token, Ref<Request>>> sends;  // a deque: their memory must not move
    for (int number = 0; number < messages_; ++number) {
      self.doing("phase {}: message {} to {} and from {}", phase, number, to, from);
      sends.push_back({{phase, number}, nullptr});
      sends.back().second =
          self.check(self.engine().isend({sends.back().first.data(), sizeof(Token), &byte_},
                                         {self.world.get(), to, phase}, p2p::SendMode::standard));
      Token received{};
      self.check(self.engine().recv({received.data(), sizeof(Token), &byte_},
                                    {self.world.get(), from, phase}, nullptr));
      self.check(received == Token{phase, number}, "phase {}: message {} is message {} of phase {}",
                 phase, number, received[1], received[0]);
      if (sends.size() > window_) finish_first(self, sends);
    }
    while (!sends.empty()) finish_first(self, sends);
  }

  static void finish_first(Rank& self, std::deque<std::pair<Token, Ref<Request>>>& sends) {
    self.check(p2p::wait(self.engine(), sends.front().second.get(), nullptr));
    sends.pop_front();
  }

  Datatype& byte_;
  const int phases_;
  const int messages_;
  const std::size_t window_;
};

}  // namespace

std::unique_ptr<Workload> make_shifting(Random& random, int, const core::TypeTable& types) {
  return std::make_unique<Shifting>(random, types);
}

}  // namespace hawser::sim
