// Calls of the C library about device nodes: programs look for that of a device before they open it
// (UCX does, by stat(2) and access(2)), and of ours there is none; Open MPI looks for the folder of
// adapters.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string_view>

#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/next_function.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {
namespace {

constexpr std::string_view adapters_folder = "/sys/class/infiniband";

constinit NextFunction<int(const char*, int)> next_access{"access"};
constinit NextFunction<int(const char*, struct stat*)> next_stat{"stat"};

/// Programs may give null, and get EFAULT, though the header forbids it: not to be known to the
/// compiler where this is called.
[[gnu::noinline]] std::string_view text_of(const char* path) { return path == nullptr ? "" : path; }

}  // namespace

SOFTRDMA_EXPORT int access(const char* path, int mode) noexcept {
  if (is_device_node(text_of(path))) return 0;
  return next_access.get()(path, mode);
}

/// A device node that everybody may read and write; and the folder that a host with adapters has.
SOFTRDMA_EXPORT int stat(const char* path, struct stat* out) noexcept {
  const std::string_view text = text_of(path);
  if (text == adapters_folder) {
    *out = {};
    out->st_mode = S_IFDIR | 0555;
    out->st_nlink = 2;
    return 0;
  }
  if (is_device_node(text)) {
    constexpr unsigned uverbs_major = 231;
    *out = {};
    out->st_mode = S_IFCHR | 0666;
    out->st_nlink = 1;
    out->st_rdev = makedev(uverbs_major, 192);
    return 0;
  }
  return next_stat.get()(path, out);
}

}  // namespace softrdma::verbs
