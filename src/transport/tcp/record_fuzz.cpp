// Records out of random bytes that come in random pieces: what is told of lies in what came.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "transport/tcp/record_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hawser::transport::tcp;
  using State = RecordReader::Record::State;
  if (size < 2) return 0;
  const bool is_sealed = (data[0] & 1) != 0;
  const std::size_t piece = 1 + data[1];
  const auto memory = std::make_unique<std::uint64_t[]>(RecordReader::memory_bytes / 8);
  auto* const begin = reinterpret_cast<std::byte*>(memory.get());
  RecordReader reader(is_sealed ? std::optional(SealKey{}) : std::nullopt);
  reader.use(begin);
  for (std::size_t at = 2; at < size;) {
    const std::span<std::byte> room = reader.room();
    if (room.empty()) std::abort();
    const std::size_t bytes = std::min({piece, room.size(), size - at});
    std::copy_n(reinterpret_cast<const std::byte*>(data + at), bytes, room.begin());
    reader.note_read(bytes);
    at += bytes;
    RecordReader::Record record = reader.next();
    for (; record.state == State::whole; record = reader.next()) {
      const auto offset = static_cast<std::size_t>(record.body.data() - begin);
      if (offset % 8 != 0 || offset + record.body.size() > RecordReader::memory_bytes) std::abort();
      if (record.body.size() + record.rest_bytes > data_bytes_max) std::abort();
      at += std::min(record.rest_bytes, size - at);  // read elsewhere
    }
    if (record.state == State::bad) return 0;
  }
  return 0;
}
