// Acquaintances: the processes of other jobs that this one knows, under which keys, and when it
// forgets them.
//
// Who has ended, as far as its channels tell, is forgotten once no communicator holds it; so is who
// was introduced and never talked to. Who lives keeps its endpoint, which knows how many messages
// have crossed, and one key. Nobody is forgotten while a connection is on its way (UnderWay), whose
// members no communicator holds yet.
//
// Ownership: borrows the engine and what is outside, where what it knows is kept.
// Threads:   thread-safe; takes the lane lock.
#pragma once

#include <span>
#include <vector>

#include "dynamic/outside.hpp"
#include "p2p/engine.hpp"

namespace hawser::dynamic {

class Acquaintances {
 public:
  Acquaintances(p2p::Engine& engine, Outside& outside) : engine_(engine), outside_(outside) {}

  /// A connection on its way: nobody is forgotten, and its key holds.
  class UnderWay {
   public:
    explicit UnderWay(Acquaintances& acquaintances);
    UnderWay(UnderWay&& other) noexcept;
    UnderWay& operator=(UnderWay&&) = delete;
    ~UnderWay();
    /// The key of the connection, once that is known.
    void admit(const Admission& admission);

   private:
    Acquaintances* acquaintances_;  // null: it was moved
    std::uint64_t admitted_ = 0;
  };

  /// MEMBER is talked to under ADMISSION from now on, if it is of another job.
  void introduce(const Member& member, const Admission& admission);
  /// Likewise MEMBERS, and they are let in under ADMISSION as long as they are known.
  void entrust(const std::vector<Member>& members, const Admission& admission);
  /// The key of ADMISSION, sealed for MEMBER of any job.
  [[nodiscard]] SealedKey seal_for(const Identity& member, const Admission& admission);
  [[nodiscard]] Result<Admission> unsealed(const Notice& notice);

  /// CALLERS wait for this process, whatever else is known of them.
  void forget_ended(std::span<const Identity> callers);

 private:
  p2p::Engine& engine_;
  Outside& outside_;
  std::uint32_t under_way_ = 0;
};

}  // namespace hawser::dynamic
