// XrcDomains: which XRC domain a file stands for, and how often it is open (ibv_open_xrcd(3)).
//
// Threads: the device's lock.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <utility>

namespace softrdma::link {

class XrcDomains {
 public:
  /// What a file is: its device and inode. {0, 0}: no file; a domain that nobody else can open.
  using File = std::pair<dev_t, ino_t>;

  virtual ~XrcDomains() = default;
  /// As open(2) has it: CREATES if there is none, and refuses one that exists if it is EXCLUSIVE.
  /// Returns 0, or an errno; *number is never 0.
  virtual int open(const File& file, bool creates, bool exclusive, std::uint32_t* number) = 0;
  /// Once for each open().
  virtual void close(std::uint32_t number) = 0;

 protected:
  /// 0, or why a domain, which EXISTS or not, can't be opened so.
  static int check(bool exists, const File& file, bool creates, bool exclusive) {
    if (exists) return creates && exclusive ? EINVAL : 0;
    if (creates) return 0;
    return file == File{} ? EINVAL : EAGAIN;
  }
};

/// Those of an adapter that one process has for itself.
class OwnXrcDomains final : public XrcDomains {
 public:
  int open(const File& file, bool creates, bool exclusive, std::uint32_t* number) override {
    const auto found = file == File{} ? by_file_.end() : by_file_.find(file);
    const bool exists = found != by_file_.end();
    if (const int error = check(exists, file, creates, exclusive); error != 0) return error;
    *number = exists ? found->second : ++last_;
    Users& users = users_[*number];
    users.file = file;
    ++users.count;
    if (file != File{}) by_file_[file] = *number;
    return 0;
  }
  void close(std::uint32_t number) override {
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

}  // namespace softrdma::link
