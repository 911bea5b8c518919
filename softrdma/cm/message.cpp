#include "softrdma/cm/message.hpp"

#include <algorithm>
#include <type_traits>

namespace softrdma::cm {
namespace {

constexpr std::size_t header_bytes = 24;

// The header of all management datagrams.
constexpr std::uint8_t base_version = 1;
constexpr std::uint8_t management_class = 7;
constexpr std::uint8_t class_version = 2;
constexpr std::uint8_t method_send = 3;

/// Fields out of bytes.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// COUNT bits from BIT on, the most significant first.
  template <class Number>
  void number(std::size_t bit, std::size_t count, Number& value) const {
    std::uint64_t read = 0;
    for (std::size_t i = bit; i < bit + count; ++i)
      read = read << 1 | (std::to_integer<unsigned>(bytes_[i / 8]) >> (7 - i % 8) & 1);
    value = static_cast<Number>(read);
  }
  void bytes(std::size_t byte, std::span<std::byte> value) const {
    std::ranges::copy(bytes_.subspan(byte, value.size()), value.begin());
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Bytes, which are zeros before, out of fields.
class Writer {
 public:
  explicit Writer(std::span<std::byte> bytes) : bytes_(bytes) {}

  template <class Number>
  void number(std::size_t bit, std::size_t count, const Number& value) const {
    const auto written = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < count; ++i)
      bytes_[(bit + i) / 8] |=
          static_cast<std::byte>((written >> (count - 1 - i) & 1) << (7 - (bit + i) % 8));
  }
  void bytes(std::size_t byte, std::span<const std::byte> value) const {
    std::ranges::copy(value, bytes_.subspan(byte).begin());
  }

 private:
  std::span<std::byte> bytes_;
};

/// MESSAGE, const to be written, is a VALUE.
template <class Message, class Value>
concept Is = std::same_as<std::remove_const_t<Message>, Value>;

// Where the fields are, behind the header: which bit is the first, and how many there are; of bytes
// which is the first.

template <class Fields, Is<PrimaryPath> Path>
void lay_out(const Fields& fields, Path& path) {
  fields.number(52 * 8, 16, path.local_lid);
  fields.number(54 * 8, 16, path.remote_lid);
  fields.bytes(56, path.local_gid);
  fields.bytes(72, path.remote_gid);
  fields.number(88 * 8, 20, path.flow_label);
  fields.number(91 * 8 + 2, 6, path.rate);
  fields.number(92 * 8, 8, path.traffic_class);
  fields.number(93 * 8, 8, path.hop_limit);
  fields.number(94 * 8, 4, path.service_level);
  fields.number(94 * 8 + 4, 1, path.is_subnet_local);
  fields.number(95 * 8, 5, path.ack_timeout);
}

/// The alternate path, bytes 96 to 139, stays empty.
template <class Fields, Is<ConnectRequest> Request>
void lay_out(const Fields& fields, Request& request) {
  fields.number(0, 32, request.local_id);
  fields.number(8 * 8, 64, request.service);
  fields.number(16 * 8, 64, request.adapter_guid);
  fields.number(28 * 8, 32, request.queue_key);
  fields.number(32 * 8, 24, request.queue_pair);
  fields.number(35 * 8, 8, request.responder_resources);
  fields.number(39 * 8, 8, request.initiator_depth);
  fields.number(43 * 8, 5, request.remote_response_timeout);
  fields.number(43 * 8 + 5, 2, request.transport);
  fields.number(43 * 8 + 7, 1, request.flow_control);
  fields.number(44 * 8, 24, request.starting_sequence);
  fields.number(47 * 8, 5, request.local_response_timeout);
  fields.number(47 * 8 + 5, 3, request.retry_count);
  fields.number(48 * 8, 16, request.partition_key);
  fields.number(50 * 8, 4, request.path_mtu);
  fields.number(50 * 8 + 5, 3, request.not_ready_retry_count);
  fields.number(51 * 8, 4, request.retries_max);
  fields.number(51 * 8 + 4, 1, request.has_shared_receives);
  lay_out(fields, request.path);
  fields.bytes(140, request.private_data);
}

/// What all messages about a connection begin with.
template <class Fields, class Message>
void lay_out_ids(const Fields& fields, Message& message) {
  fields.number(0, 32, message.local_id);
  fields.number(4 * 8, 32, message.remote_id);
}

template <class Fields, Is<Delay> Message>
void lay_out(const Fields& fields, Message& delay) {
  lay_out_ids(fields, delay);
  fields.number(8 * 8, 2, delay.of);
  fields.number(9 * 8, 5, delay.service_timeout);
  fields.bytes(10, delay.private_data);
}

template <class Fields, Is<Rejection> Message>
void lay_out(const Fields& fields, Message& rejection) {
  lay_out_ids(fields, rejection);
  fields.number(8 * 8, 2, rejection.of);
  fields.number(9 * 8, 7, rejection.information_bytes);
  fields.number(10 * 8, 16, rejection.reason);
  fields.bytes(12, rejection.information);
  fields.bytes(84, rejection.private_data);
}

template <class Fields, Is<ConnectReply> Message>
void lay_out(const Fields& fields, Message& reply) {
  lay_out_ids(fields, reply);
  fields.number(8 * 8, 32, reply.queue_key);
  fields.number(12 * 8, 24, reply.queue_pair);
  fields.number(20 * 8, 24, reply.starting_sequence);
  fields.number(24 * 8, 8, reply.responder_resources);
  fields.number(25 * 8, 8, reply.initiator_depth);
  fields.number(26 * 8, 5, reply.target_ack_delay);
  fields.number(26 * 8 + 7, 1, reply.flow_control);
  fields.number(27 * 8, 3, reply.not_ready_retry_count);
  fields.number(27 * 8 + 3, 1, reply.has_shared_receives);
  fields.number(28 * 8, 64, reply.adapter_guid);
  fields.bytes(36, reply.private_data);
}

template <class Fields, Is<ReadyToUse> Message>
void lay_out(const Fields& fields, Message& ready) {
  lay_out_ids(fields, ready);
  fields.bytes(8, ready.private_data);
}

template <class Fields, Is<DisconnectRequest> Message>
void lay_out(const Fields& fields, Message& request) {
  lay_out_ids(fields, request);
  fields.number(8 * 8, 24, request.remote_queue_pair);
  fields.bytes(12, request.private_data);
}

template <class Fields, Is<DisconnectReply> Message>
void lay_out(const Fields& fields, Message& reply) {
  lay_out_ids(fields, reply);
  fields.bytes(8, reply.private_data);
}

template <class Fields, Is<ServiceRequest> Message>
void lay_out(const Fields& fields, Message& request) {
  fields.number(0, 32, request.request_id);
  fields.number(4 * 8, 16, request.partition_key);
  fields.number(8 * 8, 64, request.service);
  fields.bytes(16, request.private_data);
}

/// Additional information, bytes 24 to 95, stays empty.
template <class Fields, Is<ServiceReply> Message>
void lay_out(const Fields& fields, Message& reply) {
  fields.number(0, 32, reply.request_id);
  fields.number(4 * 8, 8, reply.status);
  fields.number(8 * 8, 24, reply.queue_pair);
  fields.number(12 * 8, 64, reply.service);
  fields.number(20 * 8, 32, reply.queue_key);
  fields.bytes(96, reply.private_data);
}

/// Attributes are numbered in the order of Message.
constexpr std::uint16_t first_attribute = 0x10;

template <std::size_t which = 0>
std::optional<Message> parse_message(std::size_t wanted, std::span<const std::byte> bytes) {
  if constexpr (which == std::variant_size_v<Message>) {
    return std::nullopt;
  } else {
    if (wanted != which) return parse_message<which + 1>(wanted, bytes);
    std::variant_alternative_t<which, Message> message;
    lay_out(Reader(bytes), message);
    return message;
  }
}

}  // namespace

std::optional<Message> parse(std::span<const std::byte> bytes) {
  if (bytes.size() != datagram_bytes) return std::nullopt;
  const Reader header(bytes.first(header_bytes));
  std::array<std::uint8_t, 4> versions{};
  for (std::size_t i = 0; i < versions.size(); ++i) header.number(8 * i, 8, versions[i]);
  if (versions != std::array{base_version, management_class, class_version, method_send})
    return std::nullopt;
  std::uint16_t attribute = 0;
  header.number(std::size_t{16} * 8, 16, attribute);
  if (attribute < first_attribute) return std::nullopt;
  return parse_message(attribute - first_attribute, bytes.subspan(header_bytes));
}

Datagram build(const Message& message, std::uint64_t transaction) {
  Datagram out{};
  const Writer header(out);
  std::size_t byte = 0;
  for (const std::uint8_t version : {base_version, management_class, class_version, method_send})
    header.number(8 * byte++, 8, version);
  header.number(std::size_t{8} * 8, 64, transaction);
  header.number(std::size_t{16} * 8, 16, first_attribute + message.index());
  const std::span<std::byte> whole(out);
  const Writer data(whole.subspan(header_bytes));
  std::visit([&](const auto& known) { lay_out(data, known); }, message);
  return out;
}

}  // namespace softrdma::cm
