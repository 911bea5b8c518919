#include <fmt/format.h>

#include "binding/generated/datatypes.hpp"

namespace hawser::calls {

using base::Error;
using base::ErrorClass;
using core::Datatype;

namespace {

Result<Count> packed_bytes(Count count, const Datatype& type) {
  Count bytes = 0;
  if (__builtin_mul_overflow(count, type.size(), &bytes)) {
    return Error(ErrorClass::value_too_large,
                 fmt::format("{} items of {} bytes are too much", count, type.size()));
  }
  return bytes;
}

/// BYTES at POSITION must lie inside of a packed buffer with ROOM bytes.
Result<void> check_room(Count position, Count bytes, Count room) {
  if (position >= 0 && position <= room && bytes <= room - position) return {};
  return Error(ErrorClass::truncate,
               fmt::format("{} bytes at position {} do not fit into the buffer of {} bytes", bytes,
                           position, room));
}

Result<void> check_representation(std::string_view datarep) {
  if (datarep == "external32") return {};
  return Error(
      ErrorClass::arg,
      fmt::format("data representation \"{}\" is unknown; it must be \"external32\"", datarep));
}

std::byte* at(void* buffer, Count position) { return static_cast<std::byte*>(buffer) + position; }
const std::byte* at(const void* buffer, Count position) {
  return static_cast<const std::byte*>(buffer) + position;
}

}  // namespace

Result<void> pack(Runtime&, const void* inbuf, Count incount, Datatype& datatype, void* outbuf,
                  Count outsize, CountOut position, core::Comm&) {
  auto bytes = packed_bytes(incount, datatype);
  if (!bytes.ok()) return bytes.take_error();
  HAWSER_TRY(check_room(position.get(), *bytes, outsize));
  datatype.pack(inbuf, incount, 0, at(outbuf, position.get()), *bytes);
  position.set(position.get() + *bytes);
  return {};
}

Result<void> unpack(Runtime&, const void* inbuf, Count insize, CountOut position, void* outbuf,
                    Count outcount, Datatype& datatype, core::Comm&) {
  auto bytes = packed_bytes(outcount, datatype);
  if (!bytes.ok()) return bytes.take_error();
  HAWSER_TRY(check_room(position.get(), *bytes, insize));
  datatype.unpack(outbuf, outcount, 0, at(inbuf, position.get()), *bytes);
  position.set(position.get() + *bytes);
  return {};
}

Result<void> pack_size(Runtime&, Count incount, Datatype& datatype, core::Comm&, CountOut size) {
  auto bytes = packed_bytes(incount, datatype);
  if (!bytes.ok()) return bytes.take_error();
  size.set(*bytes);
  return {};
}

Result<void> pack_external(Runtime&, std::string_view datarep, const void* inbuf, Count incount,
                           Datatype& datatype, void* outbuf, Count outsize, CountOut position) {
  HAWSER_TRY(check_representation(datarep));
  HAWSER_TRY(packed_bytes(incount, datatype));
  const Count bytes = datatype.external32_size(incount);
  HAWSER_TRY(check_room(position.get(), bytes, outsize));
  HAWSER_TRY(datatype.pack_external32(inbuf, incount, at(outbuf, position.get())));
  position.set(position.get() + bytes);
  return {};
}

Result<void> unpack_external(Runtime&, std::string_view datarep, const void* inbuf, Count insize,
                             CountOut position, void* outbuf, Count outcount, Datatype& datatype) {
  HAWSER_TRY(check_representation(datarep));
  HAWSER_TRY(packed_bytes(outcount, datatype));
  const Count bytes = datatype.external32_size(outcount);
  HAWSER_TRY(check_room(position.get(), bytes, insize));
  HAWSER_TRY(datatype.unpack_external32(outbuf, outcount, at(inbuf, position.get())));
  position.set(position.get() + bytes);
  return {};
}

Result<void> pack_external_size(Runtime&, std::string_view datarep, Count incount,
                                Datatype& datatype, CountOut size) {
  HAWSER_TRY(check_representation(datarep));
  HAWSER_TRY(packed_bytes(incount, datatype));
  size.set(datatype.external32_size(incount));
  return {};
}

}  // namespace hawser::calls
