// What a process publishes, as texts for a launcher to carry: pure functions.
//
//   first text   PARTS '.' DIGITS   how many texts there are, and the first of the digits
//   the others   DIGITS
//
// The digits of all texts together are the hexadecimal form of
//
//   +-----------+-----+-------------+-------+
//   | key bytes | key | value bytes | value |  × number of values
//   |  1 byte   |     |   1 byte    |       |
//   +-----------+-----+-------------+-------+
//
// What is read came from outside: every length is checked. Errors: MPI_ERR_OTHER.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace hawser::bootstrap {

using Values = std::map<std::string, std::vector<std::byte>, std::less<>>;

/// Texts that the values of one process may take, at most.
inline constexpr std::uint32_t value_texts_max = 64;
/// The shortest texts that a launcher must carry; what else is put into one needs less.
inline constexpr std::size_t value_text_bytes_min = 128;

/// VALUES as texts of at most TEXT_BYTES_MAX each. Keys and values must be publishable
/// (check_publishable).
base::Result<std::vector<std::string>> write_values(const Values& values,
                                                    std::size_t text_bytes_max);

/// How many texts there are, as the FIRST says.
base::Result<std::uint32_t> count_texts(std::string_view first);
/// The values in all TEXTS of a process.
base::Result<Values> read_values(std::span<const std::string> texts);

}  // namespace hawser::bootstrap
