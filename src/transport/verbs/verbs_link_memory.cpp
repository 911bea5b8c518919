// What a link does with the program's memory: operations over the connection, and messages without
// copies.
#include <cerrno>
#include <utility>

#include "transport/verbs/verbs_link.hpp"

namespace hawser::transport::verbs {

namespace {

/// A registration of the program's memory, as long as somebody holds it.
class Lease final : public HeldMemory {
 public:
  explicit Lease(memory::RegistrationCache::Lease lease) : lease_(std::move(lease)) {}
  [[nodiscard]] std::uint32_t remote_key() const override {
    return PortRegistrar::remote_key(lease_.handle());
  }
  [[nodiscard]] std::uint32_t local_key() const override {
    return PortRegistrar::local_key(lease_.handle());
  }

 private:
  memory::RegistrationCache::Lease lease_;
};

Result<std::unique_ptr<HeldMemory>> held_by(Result<memory::RegistrationCache::Lease> lease) {
  if (!lease) return lease.take_error();
  return std::unique_ptr<HeldMemory>(std::make_unique<Lease>(std::move(*lease)));
}

}  // namespace

std::int64_t VerbsLink::get(std::span<const MemoryPiece>, std::span<const MemoryPiece>) {
  return -EOPNOTSUPP;
}

Result<std::unique_ptr<HeldMemory>> VerbsLink::hold(std::uint64_t address, std::size_t bytes) {
  return held_by(services_.registrations().acquire(address, bytes));
}

Result<std::unique_ptr<HeldMemory>> VerbsLink::hold_once(std::uint64_t address, std::size_t bytes) {
  return held_by(services_.registrations().acquire_once(address, bytes));
}

bool VerbsLink::is_registered(std::uint64_t address, std::size_t bytes) {
  return services_.registrations().is_registered(address, bytes);
}

bool VerbsLink::start(const Operation& operation) {
  Connection* const connection = open_connection();
  return connection != nullptr && connection->start(operation);
}

std::uint32_t VerbsLink::operations_epoch() const {
  const Connection* const connection = open_connection();
  return connection == nullptr ? 0 : connection->number();
}

void VerbsLink::stop_operations(std::uint32_t epoch) {
  if (connector_) connector_->stop(epoch);
}

// Messages without copies; a segment of one fills a datagram.

Result<Clearance> VerbsLink::expect(const DirectMessage& message) {
  return services_.zero_copy_transfers().expect(
      *this, message, datagram_frame_bytes_max_ + sizeof(DatagramHeader), services_.clock());
}

void VerbsLink::stop_expecting(std::uint64_t token) {
  services_.zero_copy_transfers().stop_expecting(*this, token);
}

bool VerbsLink::send_cleared(const DirectMessage& message, std::span<const std::byte> clearance) {
  return services_.zero_copy_transfers().send(*this, message, clearance, to_.get());
}

void VerbsLink::on_operation_ended(std::uint64_t token, bool was_done) {
  if (!services_.is_closing) services_.sink.on_operation_done(*this, token, was_done);
}

}  // namespace hawser::transport::verbs
