#include "softrdma/fabric/host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/ids.hpp"
#include "platform/futex.hpp"
#include "platform/this_process.hpp"
#include "platform/thread.hpp"
#include "softrdma/fabric/shared_lock.hpp"

namespace softrdma::fabric {

using hawser::base::Error;
using hawser::base::ErrorClass;
using hawser::base::Result;
using hawser::platform::FileDescriptor;
using hawser::platform::LocalSocket;
using hawser::platform::Mapping;

/// The file. Its size is what could be needed; memory is what is touched.
struct Block {
  std::uint64_t format;
  std::uint64_t guid;
  alignas(64) std::atomic<std::uint32_t> last_number;
  std::atomic<std::uint32_t> seats_end;
  alignas(64) NetworkMemory network;
  std::uint32_t address_count;
  std::array<NetworkAddress, network_addresses_max> addresses;
  alignas(4096) std::array<SeatMemory, seat_count> seat_memory;
  /// 1 + the seat of the process that has the queue pair of this number.
  alignas(4096) std::array<std::atomic<std::uint16_t>, wire::number_mask + 1> owners;
  alignas(4096) std::array<QueuePairCard, wire::number_mask + 1> queue_pair_cards;
  alignas(4096) std::atomic<std::uint32_t> table_lock;
  std::atomic<std::uint32_t> xrc_targets_end;
  std::array<XrcDomainMemory, xrc_domains_max> xrc_domains;
  std::array<XrcTargetMemory, xrc_targets_max> xrc_targets;
  alignas(4096) std::array<std::array<RegionCard, region_cards>, seat_count> region_cards_of;
  alignas(4096) std::array<InboxMemory, seat_count> inboxes;
};

namespace {

/// Changes whenever Block does: processes with different libraries don't meet.
constexpr std::uint64_t format = 0x736f667472646d05;
constexpr std::size_t name_bytes_max = 64;
/// Hundreds of processes on a few cores join one after the other.
constexpr auto join_limit = std::chrono::seconds(60);
constexpr int answer_limit_ms = 1000;
constexpr std::string_view greeting = "softrdma block";

Error refused(std::string sentence) { return {ErrorClass::other, std::move(sentence)}; }

/// The name of what processes of this user meet by.
std::string socket_name(std::string_view fabric, std::string_view what) {
  return fmt::format("softrdma.{:x}.{}.{}.{}", format & 0xff, ::geteuid(), fabric, what);
}

bool is_ready(int fd, int limit_ms) {
  pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
  int ready;
  do {
    ready = ::poll(&waited, 1, limit_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

/// Nothing if the other end is not of this user.
bool is_of_our_user(const LocalSocket& socket) {
  const auto peer = socket.peer();
  return peer.ok() && peer.value().uid == ::geteuid();
}

/// What a process serves to those who come after it: a packet for each descriptor, the file first.
struct Served {
  FileDescriptor file;
  std::vector<FileDescriptor> sockets;
};

/// A descriptor; not open if none comes.
FileDescriptor receive_descriptor(LocalSocket& socket) {
  FileDescriptor descriptor;
  std::array<std::byte, greeting.size()> packet;
  std::size_t bytes = 0;
  if (is_ready(socket.fd(), answer_limit_ms)) socket.receive(packet, &bytes, &descriptor);
  return descriptor;
}

/// From whoever serves FABRIC; nothing is open if nobody does. IS_SERVED: somebody does, who may
/// not have had the time to answer.
Served ask_once(std::string_view fabric, bool& is_served) {
  is_served = false;
  for (std::uint16_t seat = 0; seat < seat_count; ++seat) {
    auto socket = LocalSocket::connect(socket_name(fabric, std::to_string(seat)));
    if (!socket.ok() || !is_of_our_user(socket.value())) continue;
    is_served = true;
    Served served{receive_descriptor(socket.value()), {}};
    if (!served.file.is_open() || !hawser::platform::is_sealed_against_shrinking(served.file))
      continue;
    // The end of the connection tells that there are no more.
    for (std::size_t i = 0; i < network_sockets; ++i) {
      FileDescriptor descriptor = receive_descriptor(socket.value());
      if (descriptor.is_open()) served.sockets.push_back(std::move(descriptor));
    }
    return served;
  }
  return {};
}

/// The same, with patience: a second block would split the fabric.
Result<Served> ask(std::string_view fabric) {
  const auto give_up = std::chrono::steady_clock::now() + join_limit;
  for (;;) {
    bool is_served = false;
    Served served = ask_once(fabric, is_served);
    if (served.file.is_open() || !is_served) return served;
    if (std::chrono::steady_clock::now() > give_up)
      return refused(
          fmt::format("softrdma: none of the processes in fabric '{}' has answered for "
                      "{} s; are they stopped?",
                      fabric, join_limit.count()));
  }
}

void raise_flag(const FileDescriptor& flag) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(flag.get(), &one, sizeof(one));
}

/// The same file with locks of its own.
FileDescriptor open_anew(const FileDescriptor& file) {
  return FileDescriptor(
      ::open(fmt::format("/proc/self/fd/{}", file.get()).c_str(), O_RDWR | O_CLOEXEC));
}

struct flock lock_of(std::uint16_t seat) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = seat;
  lock.l_len = 1;
  return lock;
}

/// The one that may join a fabric just now; others wait.
Result<LocalSocket> take_turn(std::string_view fabric) {
  const auto give_up = std::chrono::steady_clock::now() + join_limit;
  for (;;) {
    auto turn = LocalSocket::listen(socket_name(fabric, "join"));
    if (turn.ok()) return std::move(turn.value());
    if (std::chrono::steady_clock::now() > give_up)
      return refused(
          fmt::format("softrdma: another process has been joining fabric '{}' for {} s: "
                      "{}",
                      fabric, join_limit.count(), turn.error().sentence()));
    ::usleep(1000);
  }
}

void lower_flag(const FileDescriptor& flag) {
  std::uint64_t count;
  [[maybe_unused]] const ssize_t got = ::read(flag.get(), &count, sizeof(count));
}

}  // namespace

Result<std::unique_ptr<Host>> Host::join(std::string_view fabric, const OpenNetwork& open) {
  if (fabric.size() > name_bytes_max)
    return refused(fmt::format("softrdma: the name of a fabric has {} bytes; {} are possible",
                               fabric.size(), name_bytes_max));
  const bool is_private = fabric.empty();
  std::unique_ptr<Host> host(new Host());
  LocalSocket turn;
  if (!is_private) {
    auto taken = take_turn(fabric);
    if (!taken.ok()) return taken.take_error();
    turn = std::move(taken.value());
    auto served = ask(fabric);
    if (!served.ok()) return served.take_error();
    host->file_ = std::move(served.value().file);
    host->sockets_ = std::move(served.value().sockets);
  }
  const bool is_first = !host->file_.is_open();
  if (is_first) {
    auto made = hawser::platform::create_anonymous_file("softrdma", sizeof(Block));
    if (!made.ok()) return made.take_error();
    host->file_ = std::move(made.value());
  }
  const auto bytes = hawser::platform::file_size(host->file_);
  if (!bytes.ok() || bytes.value() < sizeof(Block))
    return refused(fmt::format("softrdma: fabric '{}' is served by another version", fabric));
  auto mapping = Mapping::shared(host->file_, 0, sizeof(Block));
  if (!mapping.ok()) return mapping.take_error();
  host->mapping_ = std::move(mapping.value());
  host->block_ = reinterpret_cast<Block*>(host->mapping_.data());
  if (is_first) {
    host->block_->format = format;
    host->block_->guid = hawser::platform::random_number();
    if (open) host->take_network(open());
  }
  if (host->block_->format != format)
    return refused(fmt::format("softrdma: fabric '{}' is served by another version", fabric));
  auto sat = host->sit_down(fabric);
  if (!sat.ok()) return sat.take_error();
  return host;
}

Result<void> Host::sit_down(std::string_view fabric) {
  lock_ = open_anew(file_);
  if (!lock_.is_open())
    return refused(
        fmt::format("softrdma: opening a file by /proc/self/fd: {}", std::strerror(errno)));
  for (seat_ = 0; seat_ < seat_count; ++seat_) {
    struct flock lock = lock_of(seat_);
    if (::fcntl(lock_.get(), F_OFD_SETLK, &lock) == 0) break;
    if (errno != EAGAIN && errno != EACCES)
      return refused(fmt::format("softrdma: locking a shared file: {}", std::strerror(errno)));
  }
  if (seat_ == seat_count)
    return refused(
        fmt::format("softrdma: fabric '{}' has {} processes on this host, and room for "
                    "no more",
                    fabric, seat_count));
  clear_seat();
  if (fabric.empty()) return {};
  auto listener = LocalSocket::listen(socket_name(fabric, std::to_string(seat_)));
  if (!listener.ok()) return listener.take_error();
  listener_ = std::move(listener.value());
  ending_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  server_ = hawser::platform::quiet_thread([this] { answer(); });
  return {};
}

/// What the first process brings.
void Host::take_network(Network network) {
  const std::size_t count = std::min(network.addresses.size(), block_->addresses.size());
  std::copy_n(network.addresses.begin(), count, block_->addresses.begin());
  block_->address_count = static_cast<std::uint32_t>(count);
  sockets_ = std::move(network.sockets);
}

/// What another process may have left on this seat goes; its packets are taken and find nobody.
void Host::clear_seat() {
  SeatMemory& mine = seat_memory(seat_);
  const bool was_taken = mine.cookie.load() != 0;
  cookie_ = hawser::platform::random_number();
  mine.sleep = Sleep::none;
  mine.is_polled = 0;
  mine.lingers = 0;
  mine.fault = 0;
  publish({});
  mine.visits = 0;
  mine.groups = 0;
  mine.has_management = 0;
  mine.epoch.fetch_add(1);
  mine.pid = static_cast<std::uint32_t>(::getpid());
  mine.cookie_address = reinterpret_cast<std::uint64_t>(&cookie_);
  mine.cookie = cookie_;
  std::uint32_t end = block_->seats_end.load();
  while (end <= seat_ && !block_->seats_end.compare_exchange_weak(end, seat_ + 1U)) {
  }
  // Of a seat that nobody had before there is nothing, and looking through all inboxes takes long.
  if (was_taken) clear_after_another();
  // The kernel's switch, for hosts where only ancestors may read a process.
  constexpr pid_t anybody = -1;
  hawser::platform::let_read_us(anybody);
}

void Host::clear_after_another() {
  SeatMemory& mine = seat_memory(seat_);
  for (std::uint16_t other = 0; other < seats_end(); ++other) {
    mine.cannot_read[other] = 0;
    seat_memory(other).cannot_read[seat_] = 0;
    inbox(other).adopt(seat_);
  }
  leave_xrc();
  const std::uint32_t numbers = std::min(block_->last_number.load(), wire::number_mask);
  for (std::uint32_t number = 0; number <= numbers; ++number)
    if (owner_of(number) == seat_) give_back(number);
}

/// What of XRC the process before had that others have too goes on with them.
void Host::leave_xrc() {
  const SharedLock lock(*this, table_lock());
  for (XrcDomainMemory& domain : xrc_domains()) erase(domain.users, seat_);
  for (XrcTargetMemory& target : xrc_targets()) {
    erase(target.holders, seat_);
    const std::optional<std::uint16_t> other = first_member(target.holders);
    if (!other && target.number != 0) {
      give_back(target.number);
      target.number = 0;
    } else if (other && owner_of(target.number) == seat_) {
      move(target.number, *other);
    }
  }
}

Host::~Host() {
  stop_watching();
  if (!server_.joinable()) return;
  raise_flag(ending_);
  server_.join();
}

void Host::answer() {
  for (;;) {
    std::array<pollfd, 2> waited{{{.fd = listener_.fd(), .events = POLLIN, .revents = 0},
                                  {.fd = ending_.get(), .events = POLLIN, .revents = 0}}};
    if (::poll(waited.data(), waited.size(), -1) < 0) continue;
    if (waited[1].revents != 0) return;
    for (auto socket = listener_.accept(); socket; socket = listener_.accept()) serve(*socket);
  }
}

void Host::serve(LocalSocket& socket) const {
  if (!is_of_our_user(socket)) return;
  const std::span<const std::byte> packet = std::as_bytes(std::span(greeting));
  socket.send(packet, file_.get());
  for (const FileDescriptor& descriptor : sockets_) socket.send(packet, descriptor.get());
}

void Host::publish(const Statistics& statistics) {
  auto& words = seat_memory(seat_).statistics;
  std::array<std::uint64_t, sizeof(Statistics) / sizeof(std::uint64_t)> values;
  std::memcpy(values.data(), &statistics, sizeof(statistics));
  for (std::size_t i = 0; i < values.size(); ++i)
    words[i].store(values[i], std::memory_order_relaxed);
}

Statistics Host::statistics_of(std::uint16_t seat) const {
  const auto& words = seat_memory(seat).statistics;
  std::array<std::uint64_t, sizeof(Statistics) / sizeof(std::uint64_t)> values;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = words[i].load(std::memory_order_relaxed);
  Statistics statistics;
  std::memcpy(&statistics, values.data(), sizeof(statistics));
  return statistics;
}

// Other hosts

std::span<const NetworkAddress> Host::addresses() const {
  return std::span(block_->addresses).first(block_->address_count);
}
NetworkMemory& Host::network() const { return block_->network; }

void Host::watch_sockets(std::function<void(std::size_t)> ready, int own) {
  if (sockets_.empty() || watcher_.joinable()) return;
  ready_ = std::move(ready);
  own_ = own;
  watcher_flag_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  watcher_ = hawser::platform::quiet_thread([this] { watch(); });
}

void Host::stop_watching() {
  if (!watcher_.joinable()) return;
  watcher_ends_ = true;
  raise_flag(watcher_flag_);
  watcher_.join();
}

void Host::look_again() {
  if (watcher_pauses_) raise_flag(watcher_flag_);
}

/// All processes of the host do so; the kernel wakes one of them.
void Host::watch() {
  const FileDescriptor events(::epoll_create1(EPOLL_CLOEXEC));
  // Places: those of sockets(), then our own, then the flag.
  const std::size_t flag = sockets_.size() + 1;
  const auto add = [&](int descriptor, std::uint32_t kind, std::size_t place) {
    epoll_event event{.events = EPOLLIN | kind, .data = {.u64 = place}};
    ::epoll_ctl(events.get(), EPOLL_CTL_ADD, descriptor, &event);
  };
  add(watcher_flag_.get(), 0, flag);
  if (own_ >= 0) add(own_, 0, sockets_.size());
  for (std::size_t i = 0; i < sockets_.size(); ++i) add(sockets_[i].get(), EPOLLEXCLUSIVE, i);
  while (!watcher_ends_) {
    if (const int pause_ms = pause_of_watcher(); pause_ms > 0) {
      if (pause(pause_ms)) ready_(sockets_.size());
      continue;
    }
    epoll_event event{};
    watcher_waits_ = true;
    // Who begins to poll now, and did not see that we wait, we see.
    const int count = pause_of_watcher() > 0 ? 0 : ::epoll_wait(events.get(), &event, 1, -1);
    watcher_waits_ = false;
    if (count <= 0) continue;
    if (event.data.u64 == flag) {
      lower_flag(watcher_flag_);
    } else {
      ready_(event.data.u64);
    }
  }
}

/// True if it ended as something came that only this process looks at, and it does not.
bool Host::pause(int limit_ms) {
  watcher_pauses_ = true;
  // poll(2) ignores what is negative.
  std::array<pollfd, 2> waited{{{.fd = watcher_flag_.get(), .events = POLLIN, .revents = 0},
                                {.fd = looks(seat_) ? -1 : own_, .events = POLLIN, .revents = 0}}};
  ::poll(waited.data(), waited.size(), limit_ms);
  if (waited[0].revents != 0) lower_flag(watcher_flag_);
  watcher_pauses_ = false;
  return waited[1].revents != 0;
}

/// While somebody else looks at the sockets, each packet would wake the watcher for nothing: for
/// how long it stays away from them.
int Host::pause_of_watcher() const {
  constexpr int own_pause_ms = 1;
  constexpr int others_pause_ms = 20;
  if (looks(seat_)) return own_pause_ms;
  for (std::uint16_t seat = 0; seat < seats_end(); ++seat)
    if (looks(seat) && is_alive(seat)) return others_pause_ms;
  return 0;
}

bool Host::looks(std::uint16_t seat) const {
  const SeatMemory& memory = seat_memory(seat);
  return memory.is_polled.load() != 0 || memory.lingers.load() != 0;
}

void Host::note_poller() {
  if (watcher_waits_) raise_flag(watcher_flag_);
}

void Host::forget_in_child() {
  // Their last owner is the parent; the thread is the parent's, too.
  listener_.close();
  lock_.close();
  file_.close();
  sockets_.clear();
}

std::uint64_t Host::guid() const { return block_->guid; }
SeatMemory& Host::seat_memory(std::uint16_t seat) const { return block_->seat_memory[seat]; }
Inbox Host::inbox(std::uint16_t seat) const { return Inbox(block_->inboxes[seat]); }
std::uint16_t Host::seats_end() const {
  return static_cast<std::uint16_t>(block_->seats_end.load(std::memory_order_relaxed));
}

bool Host::is_alive(std::uint16_t seat) const {
  if (seat == seat_) return true;
  struct flock lock = lock_of(seat);
  return ::fcntl(lock_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void Host::ring(std::uint16_t seat) const {
  SeatMemory& other = seat_memory(seat);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (other.sleep.load(std::memory_order_relaxed) == Sleep::none ||
      other.is_polled.load(std::memory_order_relaxed) != 0)
    return;
  other.bell.fetch_add(1);
  hawser::platform::futex_wake_all(other.bell);
}

// Queue pairs

std::optional<std::uint32_t> Host::take() {
  for (std::uint32_t tries = 0; tries <= wire::number_mask; ++tries) {
    const std::uint32_t number = (block_->last_number.fetch_add(1) + 1) & wire::number_mask;
    if (number < link::first_number || number == link::multicast_number) continue;
    std::uint16_t nobody = 0;
    if (block_->owners[number].compare_exchange_strong(nobody,
                                                       static_cast<std::uint16_t>(seat_ + 1)))
      return number;
  }
  return std::nullopt;
}

void Host::move(std::uint32_t number, std::uint16_t seat) {
  block_->owners[number & wire::number_mask] = static_cast<std::uint16_t>(seat + 1);
}

void Host::give_back(std::uint32_t number) { block_->owners[number & wire::number_mask] = 0; }

QueuePairCard& Host::queue_pair_card(std::uint32_t number) const {
  return block_->queue_pair_cards[number & wire::number_mask];
}

RegionCard& Host::region_card(std::uint16_t seat, std::uint32_t key) const {
  return block_->region_cards_of[seat][hawser::base::mix64(key) % region_cards];
}

std::optional<std::uint16_t> Host::owner_of(std::uint32_t number) const {
  const std::uint16_t owner =
      block_->owners[number & wire::number_mask].load(std::memory_order_acquire);
  if (owner == 0 || owner > seat_count) return std::nullopt;
  return static_cast<std::uint16_t>(owner - 1);
}

// XRC

std::span<XrcDomainMemory> Host::xrc_domains() const { return block_->xrc_domains; }
std::span<XrcTargetMemory> Host::xrc_targets() const {
  return std::span(block_->xrc_targets)
      .first(std::min<std::size_t>(block_->xrc_targets_end, xrc_targets_max));
}
std::atomic<std::uint32_t>& Host::table_lock() const { return block_->table_lock; }

XrcTargetMemory* Host::add_xrc_target() {
  const std::uint32_t place = block_->xrc_targets_end;
  if (place >= xrc_targets_max) return nullptr;
  block_->xrc_targets_end = place + 1;
  return &block_->xrc_targets[place];
}

std::optional<std::uint16_t> Host::first_member(const Members& members) const {
  for (std::uint16_t seat = 0; seat < seats_end(); ++seat)
    if (contains(members, seat) && is_alive(seat)) return seat;
  return std::nullopt;
}

}  // namespace softrdma::fabric
