#include "comm_ops/comm_factory.hpp"

#include <utility>

namespace hawser::comm_ops {

namespace {

constexpr std::uint32_t world_context = 1;
constexpr std::uint32_t self_context = 2;

}  // namespace

CommFactory::CommFactory(p2p::Engine& engine, collective::PlanRunner& plans, const Identity& self,
                         const Locality& locality, std::shared_ptr<core::CommRegistry> registry)
    : engine_(engine),
      plans_(plans),
      self_(self),
      locality_(locality),
      registry_(std::move(registry)) {}

Ref<Comm> CommFactory::make_world(int size, Ref<Errhandler> errhandler) {
  Comm::Description world;
  world.group = Group::of_stride(self_.job, 0, 1, size);
  world.rank = static_cast<int>(self_.index);
  world.id = {self_.job, world_context};
  world.context = world_context;
  world.contexts = core::ContextMap(world_context);
  world.errhandler = std::move(errhandler);
  world.registry = registry_;
  Ref<Comm> comm = base::make_ref<Comm>(std::move(world));
  comm->set_name("MPI_COMM_WORLD");
  return comm;
}

Ref<Comm> CommFactory::make_self(Ref<Errhandler> errhandler) {
  Comm::Description self;
  self.group = Group::of_list({self_});
  self.rank = 0;
  self.id = {self_.job ^ base::mix64(self_.index), self_context};
  self.context = self_context;
  self.contexts = core::ContextMap(self_context);
  self.errhandler = std::move(errhandler);
  self.registry = registry_;
  Ref<Comm> comm = base::make_ref<Comm>(std::move(self));
  comm->set_name("MPI_COMM_SELF");
  return comm;
}

}  // namespace hawser::comm_ops
