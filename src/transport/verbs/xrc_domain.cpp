#include "transport/verbs/xrc_domain.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/ids.hpp"
#include "platform/file_identity.hpp"

namespace hawser::transport::verbs {

Result<XrcDomain> XrcDomain::open(const Port& port, int host_file) {
  const auto file = platform::file_identity(host_file);
  if (!can_be_had(port, host_file) || !file)
    return Error(ErrorClass::other,
                 "there is no XRC: the adapter lacks it, or the launcher gave the processes of "
                 "this host no file that they share");
  ibv_xrcd_init_attr wanted{};
  wanted.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  wanted.fd = host_file;
  wanted.oflags = O_CREAT;
  XrcDomainHandle handle(ibv_open_xrcd(port.context.get(), &wanted));
  if (!handle) return refusal("an XRC domain");
  std::uint64_t host = *file;
  for (const char each : port.device) host = base::mix64(host ^ static_cast<unsigned char>(each));
  host = std::max<std::uint64_t>(base::mix64(host ^ port.number), 1);
  return XrcDomain(std::move(handle), host);
}

}  // namespace hawser::transport::verbs
