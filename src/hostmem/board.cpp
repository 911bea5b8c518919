#include "hostmem/board.hpp"

#include <new>

namespace hawser::hostmem {

void Board::initialize(std::byte* memory, const BoardShape& shape) {
  new (memory) BoardHeader{
      board_magic,      shape.members,        shape.bulk_bytes,  shape.counted ? 1U : 0U,
      shape.long_bytes, shape.exchange_bytes, shape.block_bytes, {}};
}

bool Board::is_valid(const std::byte* memory, const BoardShape& shape) {
  const auto& header = *std::launder(reinterpret_cast<const BoardHeader*>(memory));
  return header.magic == board_magic && header.members == shape.members &&
         header.bulk_bytes == shape.bulk_bytes && header.counted == (shape.counted ? 1U : 0U) &&
         header.long_bytes == shape.long_bytes && header.exchange_bytes == shape.exchange_bytes &&
         header.block_bytes == shape.block_bytes;
}

Board::Board(std::byte* memory, const BoardShape& shape, std::uint32_t me,
             std::vector<WakeWord*> words, Waker waker)
    : shape_(shape),
      header_(std::launder(reinterpret_cast<BoardHeader*>(memory))),
      counts_(reinterpret_cast<StepCount*>(memory + sizeof(BoardHeader))),
      core_turns_(reinterpret_cast<CoreTurns::Core*>(memory + BoardShape::core_turns_offset())),
      cells_(reinterpret_cast<Cell*>(memory + BoardShape::cells_offset())),
      progress_(reinterpret_cast<Progress*>(memory + shape.progress_offset())),
      collectors_(reinterpret_cast<Collector*>(memory + shape.collectors_offset())),
      middle_{memory + shape.middle_offset(), middle_steps, middle_bytes},
      bulk_{memory + shape.bulk_offset(), bulk_steps, shape.bulk_bytes},
      long_{memory + shape.long_offset(), long_steps, shape.long_bytes},
      exchange_(memory + shape.exchange_offset()),
      me_(me),
      words_(std::move(words)),
      waker_(waker),
      block_{memory + shape.earned_offset() + block_shift(), block_steps, shape.block_bytes} {
  words_.erase(words_.begin() + me);
}

}  // namespace hawser::hostmem
