// SendBuilder: work requests that a program describes by one call after another (ibv_wr_start to
// ibv_wr_complete), until all of them are posted, or none.
//
// Ownership: of copies of entries and inline data. Threads: between start() and the end one thread
// has it.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace softrdma::verbs {

class SendBuilder {
 public:
  void start() {
    mutex_.lock();
    requests_.clear();
    entries_.clear();
    data_.clear();
    error_ = 0;
  }
  /// Whoever starts must end.
  void end() { mutex_.unlock(); }

  /// A new request, which what follows is about.
  ibv_send_wr& begin(std::uint64_t id, unsigned flags, ibv_wr_opcode opcode) {
    Request& request = requests_.emplace_back();
    request.work.wr_id = id;
    request.work.send_flags = flags & ~unsigned{IBV_SEND_INLINE};
    request.work.opcode = opcode;
    request.first_entry = entries_.size();
    return request.work;
  }
  /// The request begun last; a program that begins none gets an error in the end.
  ibv_send_wr* last() {
    if (!requests_.empty()) return &requests_.back().work;
    error_ = EINVAL;
    return nullptr;
  }
  void add_entries(std::span<const ibv_sge> entries) {
    ibv_send_wr* const work = last();
    if (work == nullptr) return;
    entries_.insert(entries_.end(), entries.begin(), entries.end());
    work->num_sge += static_cast<int>(entries.size());
  }
  /// Data is copied; its entry points to the copy once all requests are known.
  void add_inline(std::span<const std::byte> data) {
    ibv_send_wr* const work = last();
    if (work == nullptr) return;
    work->send_flags |= IBV_SEND_INLINE;
    entries_.push_back(
        {.addr = data_.size(), .length = static_cast<std::uint32_t>(data.size()), .lkey = 0});
    data_.insert(data_.end(), data.begin(), data.end());
    ++work->num_sge;
  }

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] std::size_t size() const { return requests_.size(); }
  /// VISIT(request) for each, in order; their lists of entries are valid until the next start().
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Request& request : requests_) {
      request.work.sg_list = entries_.data() + request.first_entry;
      visit(request.work);
    }
  }
  /// No more is added: offsets of inline data become addresses.
  void settle() {
    for (const Request& request : requests_) {
      if ((request.work.send_flags & IBV_SEND_INLINE) == 0) continue;
      for (int i = 0; i < request.work.num_sge; ++i)
        entries_[request.first_entry + static_cast<std::size_t>(i)].addr +=
            reinterpret_cast<std::uintptr_t>(data_.data());
    }
  }

 private:
  struct Request {
    ibv_send_wr work{};
    std::size_t first_entry = 0;
  };

  std::mutex mutex_;
  std::vector<Request> requests_;
  std::vector<ibv_sge> entries_;
  std::vector<std::byte> data_;
  int error_ = 0;
};

}  // namespace softrdma::verbs
