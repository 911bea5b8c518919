#include "dynamic/spawn.hpp"

#include <memory>
#include <utility>

namespace hawser::dynamic {

namespace {

/// Has the process wake up for what becomes of new ones.
class Watch {
 public:
  Watch(Outside& outside, int descriptor) : outside_(outside), descriptor_(descriptor) {
    if (descriptor_ >= 0) static_cast<void>(outside_.watch(descriptor_));
  }
  ~Watch() {
    if (descriptor_ >= 0) outside_.unwatch(descriptor_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Outside& outside_;
  int descriptor_;
};

/// At the root: all but what the others take part in.
Result<std::unique_ptr<bootstrap::Spawning>> start(Outside& outside,
                                                   Result<bootstrap::SpawnRequest> request,
                                                   const Result<std::string>& port) {
  if (!request) return request.take_error();
  if (!port) return port.error();
  request->environment.emplace_back(parent_port_variable, *port);
  return outside.spawn(*request);
}

}  // namespace

Result<Ref<Comm>> spawn(Connections& connections, Outside& outside,
                        Result<bootstrap::SpawnRequest> request, Comm& local, int root) {
  if (local.rank() != root) return connections.accept(std::string(), local, root);
  const Result<std::string> port = connections.ports().open();
  auto started = start(outside, std::move(request), port);
  if (!started) {
    if (port) static_cast<void>(connections.ports().close(*port));
    return connections.accept(started.take_error(), local, root);
  }
  bootstrap::Spawning& spawning = **started;
  const Watch watch(outside, spawning.descriptor());
  Result<Ref<Comm>> comm = connections.accept(*port, local, root, [&]() -> std::optional<Error> {
    const std::optional<std::string> failure = spawning.failure();
    if (!failure) return std::nullopt;
    return Error(ErrorClass::spawn, *failure);
  });
  HAWSER_TRY(connections.ports().close(*port));
  return comm;
}

}  // namespace hawser::dynamic
