// A token that goes round with blocking sends, growing as it goes.
#include "sim/workloads/workloads.hpp"

namespace hawser::sim {

namespace {

class Ring final : public Workload {
 public:
  Ring(Random& random, const core::TypeTable& types)
      : byte_(*types.find(0x247)), rounds_(random.between(1, 6)), grown_by_(random.below(4000)) {}

  void run(Rank& self) override {
    const int right = (self.rank + 1) % self.size;
    const int left = (self.rank + self.size - 1) % self.size;
    for (int round = 0; round < rounds_; ++round) {
      const std::size_t bytes = 8 + static_cast<std::size_t>(round) * grown_by_;
      std::vector<unsigned char> token(bytes, static_cast<unsigned char>(round));
      if (self.rank == 0) send(self, token, right);
      std::vector<unsigned char> received(bytes);
      self.doing("recv of round {} from {}", round, left);
      self.check(self.engine().recv({received.data(), static_cast<Count>(bytes), &byte_},
                                    {self.world.get(), left, round}, nullptr));
      self.check(received == token, "round {}: the token was damaged", round);
      if (self.rank != 0) send(self, token, right);
    }
  }

 private:
  void send(Rank& self, const std::vector<unsigned char>& token, int to) {
    self.doing("send of {} bytes to {}", token.size(), to);
    const int tag = token.back();
    self.check(self.engine().send({token.data(), static_cast<Count>(token.size()), &byte_},
                                  {self.world.get(), to, tag}, p2p::SendMode::standard));
  }

  Datatype& byte_;
  const int rounds_;
  const std::size_t grown_by_;
};

}  // namespace

std::unique_ptr<Workload> make_ring(Random& random, int, const core::TypeTable& types) {
  return std::make_unique<Ring>(random, types);
}

}  // namespace hawser::sim
