#include "bootstrap/bootstrap.hpp"

#include "bootstrap/not_offered.hpp"

namespace hawser::bootstrap {

Result<std::unique_ptr<Spawning>> Bootstrap::spawn(const SpawnRequest&) {
  return not_offered(ErrorClass::spawn, placement().launcher, "start further processes");
}

Result<void> Bootstrap::publish_name(std::string_view, std::string_view) {
  return not_offered(ErrorClass::service, placement().launcher, "publish names");
}

Result<std::string> Bootstrap::look_up_name(std::string_view) {
  return not_offered(ErrorClass::name, placement().launcher, "look names up");
}

Result<void> Bootstrap::unpublish_name(std::string_view) {
  return not_offered(ErrorClass::service, placement().launcher, "publish names");
}

}  // namespace hawser::bootstrap
