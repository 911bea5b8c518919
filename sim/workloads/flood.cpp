// Many sends of one rank that nobody receives for a while: credit runs out, queues are full, and
// the one that is wanted comes last.
#include "sim/workloads/payload.hpp"
#include "sim/workloads/workloads.hpp"

namespace hawser::sim {

namespace {

class Flood final : public Workload {
 public:
  Flood(Random& random, const core::TypeTable& types)
      : byte_(*types.find(0x247)), count_(random.between<std::uint32_t>(50, 600)) {
    for (std::uint32_t i = 0; i < count_; ++i)
      bytes_.push_back(random.below(random.one_in(3) ? 400 : 64));
  }

  void run(Rank& self) override {
    // Everybody floods rank 0; sends that small must not wait for their receives.
    if (self.rank != 0) {
      for (std::uint32_t i = 0; i < count_; ++i) send(self, i);
      return;
    }
    std::vector<std::uint32_t> next(static_cast<std::size_t>(self.size), 0);
    for (int rank = 1; rank < self.size; ++rank) receive(self, rank, count_ - 1);
    for (std::uint32_t left = (count_ - 1) * static_cast<std::uint32_t>(self.size - 1); left > 0;
         --left) {
      Status status;
      self.doing("probes, {} messages are left", left);
      self.check(self.engine().probe({self.world.get(), p2p::any_source, 0}, &status));
      receive(self, status.source, next[static_cast<std::size_t>(status.source)]++);
    }
  }

 private:
  [[nodiscard]] int tag_of(std::uint32_t number) const { return number == count_ - 1 ? 1 : 0; }

  void send(Rank& self, std::uint32_t number) {
    Payload payload(byte_, bytes_[number], false);
    payload.fill(number);
    self.doing("sends message {} of {} bytes that nobody receives yet", number, bytes_[number]);
    self.check(self.engine().send(payload.const_buffer(), {self.world.get(), 0, tag_of(number)},
                                  p2p::SendMode::standard));
  }
  void receive(Rank& self, int from, std::uint32_t number) {
    self.doing("receives message {} of {}", number, from);
    Payload payload(byte_, bytes_[number], false);
    self.check(
        self.engine().recv(payload.buffer(), {self.world.get(), from, tag_of(number)}, nullptr));
    self.check(payload.holds(number, bytes_[number]), "message {} of {} is damaged", number, from);
  }

  Datatype& byte_;
  const std::uint32_t count_;
  std::vector<std::size_t> bytes_;
};

}  // namespace

std::unique_ptr<Workload> make_flood(Random& random, int, const core::TypeTable& types) {
  return std::make_unique<Flood>(random, types);
}

}  // namespace hawser::sim
