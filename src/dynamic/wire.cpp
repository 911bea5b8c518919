#include "dynamic/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace hawser::dynamic {

namespace {

/// What all messages but a process begin with.
struct Head {
  std::uint32_t magic = wire_magic;
  std::uint32_t version = wire_version;
};

struct CodeHead {
  Head head;
  std::int32_t code = 0;
  std::uint32_t members = 0;
};

void append_bytes(std::span<const std::byte> bytes, Bytes& out) {
  const std::size_t before = out.size();
  out.resize(before + bytes.size());
  std::ranges::copy(bytes, out.begin() + static_cast<std::ptrdiff_t>(before));
}

template <class T>
void append(const T& value, Bytes& out) {
  append_bytes(std::as_bytes(std::span(&value, 1)), out);
}

template <class T>
bool take(std::span<const std::byte>& rest, T& value) {
  if (rest.size() < sizeof(value)) return false;
  std::memcpy(&value, rest.data(), sizeof(value));
  rest = rest.subspan(sizeof(value));
  return true;
}

/// Text or bytes behind their length.
void append_short(std::span<const std::byte> bytes, Bytes& out) {
  append(static_cast<std::uint8_t>(bytes.size()), out);
  append_bytes(bytes, out);
}

bool take_short(std::span<const std::byte>& rest, std::span<const std::byte>& taken) {
  std::uint8_t bytes = 0;
  if (!take(rest, bytes) || rest.size() < bytes) return false;
  taken = rest.first(bytes);
  rest = rest.subspan(bytes);
  return true;
}

Error malformed(const char* what) {
  return Error(ErrorClass::intern,
               fmt::format("what came as {} from another process is none; a process of this "
                           "version of Hawser would be right",
                           what));
}

bool is_right(const Head& head) { return head.magic == wire_magic && head.version == wire_version; }

}  // namespace

void write_member(const Member& member, Bytes& out) {
  append(member.identity, out);
  append(static_cast<std::uint8_t>(member.addresses.size()), out);
  for (const auto& [transport, address] : member.addresses) {
    append_short(std::as_bytes(std::span(transport)), out);
    append_short(address, out);
  }
}

Result<Member> read_member(std::span<const std::byte>& rest) {
  Member member;
  std::uint8_t addresses = 0;
  if (!take(rest, member.identity) || !take(rest, addresses) || addresses > addresses_max)
    return malformed("a process");
  for (std::uint8_t i = 0; i < addresses; ++i) {
    std::span<const std::byte> transport;
    std::span<const std::byte> address;
    if (!take_short(rest, transport) || !take_short(rest, address)) return malformed("an address");
    member.addresses.emplace(
        std::string(reinterpret_cast<const char*>(transport.data()), transport.size()),
        Bytes(address.begin(), address.end()));
  }
  return member;
}

Bytes write(const Call& call) {
  Bytes out;
  append(Head(), out);
  append(call.port, out);
  append(call.nonce, out);
  write_member(call.caller, out);
  return out;
}

Result<Call> read_call(std::span<const std::byte> bytes) {
  Head head;
  Call call;
  if (!take(bytes, head) || !is_right(head) || !take(bytes, call.port) || !take(bytes, call.nonce))
    return malformed("a call");
  Result<Member> caller = read_member(bytes);
  if (!caller) return caller.take_error();
  if (!bytes.empty()) return malformed("a call");
  call.caller = *std::move(caller);
  return call;
}

Bytes write(const Nonce& nonce) {
  Bytes out;
  append(Head(), out);
  append(nonce, out);
  return out;
}

Result<Nonce> read_nonce(std::span<const std::byte> bytes) {
  Head head;
  Nonce nonce{};
  if (!take(bytes, head) || !is_right(head) || !take(bytes, nonce) || !bytes.empty())
    return malformed("the answer to a call");
  return nonce;
}

Bytes write(const Directory& directory) {
  Bytes out;
  append(CodeHead{.head = {},
                  .code = directory.code,
                  .members = static_cast<std::uint32_t>(directory.members.size())},
         out);
  for (const Member& member : directory.members) write_member(member, out);
  return out;
}

Result<Directory> read_directory(std::span<const std::byte> bytes) {
  CodeHead head;
  if (!take(bytes, head) || !is_right(head.head)) return malformed("the members of a group");
  Directory directory{.code = head.code, .members = {}};
  while (!bytes.empty() && directory.members.size() < head.members) {
    Result<Member> member = read_member(bytes);
    if (!member) return member.take_error();
    directory.members.push_back(*std::move(member));
  }
  const bool is_whole = bytes.empty() && directory.members.size() == head.members;
  if (!is_whole || (head.code == 0) == directory.members.empty())
    return malformed("the members of a group");
  return directory;
}

Bytes write(const Notice& notice) {
  Bytes out;
  append(CodeHead{.head = {}, .code = notice.code}, out);
  append(notice.admission, out);
  append(notice.key.under, out);
  append(notice.key.nonce, out);
  append(notice.key.key, out);
  append_bytes(notice.directory, out);
  return out;
}

Result<Notice> read_notice(std::span<const std::byte> bytes) {
  CodeHead head;
  Notice notice;
  if (!take(bytes, head) || !is_right(head.head) || !take(bytes, notice.admission) ||
      !take(bytes, notice.key.under) || !take(bytes, notice.key.nonce) ||
      !take(bytes, notice.key.key))
    return malformed("the notice of a leader");
  notice.code = head.code;
  notice.directory.assign(bytes.begin(), bytes.end());
  return notice;
}

}  // namespace hawser::dynamic
