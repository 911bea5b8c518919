// Lines, mappings and variables of parents out of random bytes: a rank is always beside itself,
// nobody is there twice, and no variable is anybody else's.
#include "bootstrap/pmi/message.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "bootstrap/pmi/process_mapping.hpp"
#include "bootstrap/pmi/spawn_message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hawser::bootstrap::pmi;
  using hawser::bootstrap::Values;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto message = parse_message(text)) {
    static_cast<void>(message->is_success());
    if (message->command.empty()) std::abort();
  }
  // As if it were what parents have left.
  Values pieces;
  pieces["0000"].assign(reinterpret_cast<const std::byte*>(data),
                        reinterpret_cast<const std::byte*>(data) + size);
  if (const auto variables = unpack_variables(pieces)) {
    for (const auto& [name, value] : *variables)
      if (!name.starts_with("HAWSER_")) std::abort();
    if (unpack_variables(pack_variables(*variables)) != variables) std::abort();
  }
  const auto mapping = parse_mapping(text);
  if (!mapping) return 0;
  constexpr std::uint32_t ranks = 100;
  for (const std::uint32_t rank : {0U, 17U, ranks - 1}) {
    const auto beside = ranks_beside(*mapping, rank, ranks);
    if (!std::ranges::is_sorted(beside, std::less_equal<>()) ||
        !std::ranges::binary_search(beside, rank) || beside.back() >= ranks)
      std::abort();
  }
  return 0;
}
