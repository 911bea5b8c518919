// XrcDomains: which XRC domain a file stands for, and how often it is open (ibv_open_xrcd(3)).
//
// Threads: the adapter's lock.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <utility>

namespace softrdma::verbs {

class XrcDomains {
 public:
  /// What a file is: its device and inode. {0, 0}: no file; a domain that nobody else can open.
  using File = std::pair<dev_t, ino_t>;

  /// As open(2) has it: CREATES if there is none, and refuses one that exists if it is EXCLUSIVE.
  /// Returns 0, or an errno; *number is never 0.
  int open(const File& file, bool creates, bool exclusive, std::uint32_t* number) {
    const bool has_file = file != File{};
    const auto found = has_file ? by_file_.find(file) : by_file_.end();
    if (found == by_file_.end()) {
      if (!creates) return has_file ? EAGAIN : EINVAL;
      *number = ++last_;
      users_[*number] = {file, 1};
      if (has_file) by_file_[file] = *number;
      return 0;
    }
    if (creates && exclusive) return EINVAL;
    *number = found->second;
    ++users_[*number].count;
    return 0;
  }
  void close(std::uint32_t number) {
    const auto found = users_.find(number);
    if (--found->second.count > 0) return;
    by_file_.erase(found->second.file);
    users_.erase(found);
  }

 private:
  struct Users {
    File file;
    int count = 0;
  };
  std::map<File, std::uint32_t> by_file_;
  std::map<std::uint32_t, Users> users_;
  std::uint32_t last_ = 0;
};

}  // namespace softrdma::verbs
