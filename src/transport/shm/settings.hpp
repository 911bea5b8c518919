// What a user can set of the shared-memory transport ("shm.*"), with its defaults.
#pragma once

#include <cstdint>

namespace hawser::transport::shm {

struct Settings {
  std::int64_t queue_slots = 128;  // of 512 bytes, in the shared receive queue; a power of two
  std::int64_t ring_lines = 128;   // small frames that a ring holds; a power of two
  std::int64_t ring_bulk_bytes = 65536;    // room in a ring for frames longer than a line
  std::int64_t whole_rings = 4;            // rings that have all of it; the others a quarter
  std::int64_t ring_long_bytes = 2 << 20;  // room for long frames, in a ring that has many
  std::int64_t ring_cells = 48;            // of 32 KiB, which go to and fro, with the long room
  std::int64_t long_rings_max = 4;         // rings of this process that get such room
  std::int64_t rings_max = 64;             // rings that this process grants to its peers
  bool single_copy = true;                 // copy straight out of the sender's memory where allowed
};

}  // namespace hawser::transport::shm
