// Domains of XRC.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/objects.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes) {
  if (is_lost()) return refuse(ENODEV);
  constexpr unsigned known = unsigned{IBV_XRCD_INIT_ATTR_FD} | unsigned{IBV_XRCD_INIT_ATTR_OFLAGS};
  if (attributes->comp_mask != known) return refuse(EINVAL);
  link::XrcDomains::File file{};
  if (attributes->fd >= 0) {
    struct stat status {};
    if (::fstat(attributes->fd, &status) != 0) return refuse(EBADF);
    file = {status.st_dev, status.st_ino};
  }
  auto domain = std::make_unique<XrcDomain>();
  domain->context = &Context::of(context);
  domain->handle.visible.context = context;
  domain->handle.object = domain.get();
  Adapter& adapter = *domain->context->adapter;
  const auto lock = adapter.lock();
  const int error = adapter.xrc_domains().open(file, (attributes->oflags & O_CREAT) != 0,
                                               (attributes->oflags & O_EXCL) != 0, &domain->number);
  if (error != 0) return refuse(error);
  return &domain.release()->handle.visible;
}

int close_xrcd(ibv_xrcd* xrcd) {
  auto& domain = object_of<XrcDomain>(xrcd);
  Adapter& adapter = *domain.context->adapter;
  const auto lock = adapter.lock();
  if (domain.users > 0) return EBUSY;
  adapter.xrc_domains().close(domain.number);
  delete &domain;
  return 0;
}

}  // namespace softrdma::verbs
