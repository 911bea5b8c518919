#include "transport/verbs/fast_path.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#include "platform/file.hpp"

namespace hawser::transport::verbs {

namespace {

using Kind = FastPathMessage::Kind;

std::uint32_t& word_of(memory::BufferPool::Buffer& buffer) {
  return *reinterpret_cast<std::uint32_t*>(buffer.data());
}

}  // namespace

void FastPath::Free::operator()(std::byte* memory) const { std::free(memory); }

FastPath::~FastPath() {
  drop_reader();
  if (word_ != nullptr) services_.words.give_back(word_);
}

bool FastPath::tell(Kind kind, const FastPathMessage& message) {
  return connection_.send_control(static_cast<std::uint32_t>(kind),
                                  std::as_bytes(std::span(&message, 1)));
}

bool FastPath::wants_checksums() const {
  if (services_.settings.fast_path_check != "auto")
    return services_.settings.fast_path_check == "on";
  return !services_.port.keeps_write_order;
}

bool FastPath::ask() {
  if (word_ == nullptr) {
    const Result<memory::BufferPool::Buffer*> buffer = services_.words.take();
    if (!buffer) return false;
    word_ = *buffer;
  }
  word_of(*word_) = 0;
  is_asked_ = tell(Kind::ask, {.address = reinterpret_cast<std::uint64_t>(word_->data()),
                               .key = PortRegistrar::remote_key(word_->handle()),
                               .has_checksums = wants_checksums() ? 1U : 0U});
  return is_asked_;
}

bool FastPath::end() {
  if (!tell(Kind::end)) return false;
  writer_.reset();
  is_asked_ = false;
  return true;
}

bool FastPath::recall() { return !reader_ || tell(Kind::recall); }

bool FastPath::is_peer_asleep() const {
  return std::atomic_ref(word_of(*word_)).load(std::memory_order_relaxed) != 0;
}

void FastPath::say_asleep(bool is_asleep) {
  if (!reader_ || is_asleep == said_asleep_) return;
  said_asleep_ =
      connection_.write_word(is_asleep ? 1 : 0, peers_word_, peers_key_) ? is_asleep : said_asleep_;
}

void FastPath::on_message(Kind kind, const FastPathMessage& message) {
  switch (kind) {
    case Kind::ask:
      on_asked(message);
      return;
    case Kind::grant:
      on_granted(message);
      return;
    case Kind::refuse:
      if (!is_asked_ || writer_) return;
      is_asked_ = false;
      listener_.on_fast_path_refused();
      return;
    case Kind::end:
      is_ended_by_peer_ = reader_.has_value();
      return;
    case Kind::recall:
      if (writer_) listener_.on_fast_path_recalled();
      return;
    case Kind::drained:
      return;
  }
}

void FastPath::on_asked(const FastPathMessage& message) {
  if (reader_ || !listener_.on_fast_path_asked()) {
    tell(Kind::refuse);
    return;
  }
  peers_word_ = message.address;
  peers_key_ = message.key;
  said_asleep_ = false;
  const auto slots = static_cast<std::uint32_t>(services_.settings.fast_path_slots);
  const bool has_checksums = wants_checksums() || message.has_checksums != 0;
  if (make_reader(has_checksums) &&
      tell(Kind::grant, {.address = reinterpret_cast<std::uint64_t>(ring_.get()),
                         .key = region_->rkey,
                         .slots = slots,
                         .slot_bytes = static_cast<std::uint32_t>(region_->length / slots),
                         .has_checksums = has_checksums ? 1U : 0U}))
    return;
  drop_reader();
  listener_.on_fast_path_withdrawn();
  tell(Kind::refuse);
}

bool FastPath::make_reader(bool has_checksums) {
  const Settings& settings = services_.settings;
  const std::size_t slot = slot_bytes_for(static_cast<std::size_t>(settings.fast_path_bytes));
  const std::size_t bytes = slot * static_cast<std::size_t>(settings.fast_path_slots);
  const std::size_t pages = platform::round_to_pages(bytes);
  ring_.reset(static_cast<std::byte*>(std::aligned_alloc(platform::page_bytes(), pages)));
  if (!ring_) return false;
  std::memset(ring_.get(), 0, pages);
  region_.reset(ibv_reg_mr(services_.port.protection_domain.get(), ring_.get(), bytes,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  if (!region_) {
    ring_.reset();
    return false;
  }
  services_.ledger.charge(memory::Account::connection_buffers, bytes);
  reader_.emplace(std::span(ring_.get(), bytes),
                  static_cast<std::uint32_t>(settings.fast_path_slots), has_checksums);
  return true;
}

void FastPath::drop_reader() {
  if (!reader_) return;
  services_.ledger.refund(memory::Account::connection_buffers, region_->length);
  reader_.reset();
  region_.reset();
  ring_.reset();
  is_ended_by_peer_ = false;
}

void FastPath::on_granted(const FastPathMessage& message) {
  constexpr std::uint32_t slot_bytes_min = 512;
  if (!is_asked_ || writer_) return;
  if (message.slots == 0 || message.slots > ring_slots_max || message.slot_bytes < slot_bytes_min) {
    is_asked_ = false;
    listener_.on_fast_path_refused();
    return;
  }
  writer_.emplace(RingWriter::Ring{message.address, message.key, message.slots, message.slot_bytes},
                  message.has_checksums != 0);
  listener_.on_fast_path_open();
}

}  // namespace hawser::transport::verbs
