#include "bootstrap/address_book.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hawser::bootstrap {
namespace {

constexpr std::uint64_t our_job = 11;
constexpr std::uint64_t other_job = 12;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(unsigned value) { return {static_cast<std::byte>(value)}; }

/// Two processes of our job on this host; process 1 has published an address.
class OwnJob final : public Bootstrap {
 public:
  OwnJob() { placement_.self = {our_job, 0, 0}; }
  [[nodiscard]] const Placement& placement() const override { return placement_; }
  Result<void> publish(std::string_view, std::span<const std::byte>) override { return {}; }
  Result<std::optional<Bytes>> look_up(std::uint32_t index, std::string_view key) override {
    if (index == 1 && key == "tcp") return std::optional(bytes_of(1));
    return std::optional<Bytes>();
  }
  [[nodiscard]] std::optional<HostMemory> host_memory() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint32_t> local_rank_of(std::uint32_t index) const override {
    return index;
  }
  void arrive_at_end() override {}
  [[nodiscard]] bool have_all_arrived_at_end() const override { return true; }
  void report_initialized() override {}
  void report_finalized() override {}
  [[noreturn]] void abort(int, std::string_view) override { std::abort(); }

 private:
  Placement placement_;
};

TEST(AddressBook, AsksTheBootstrapForTheOwnJobAlone) {
  OwnJob own;
  AddressBook book(own);
  EXPECT_EQ(**book.look_up({our_job, 1, 0}, "tcp"), bytes_of(1));
  EXPECT_FALSE(book.look_up({our_job, 0, 0}, "tcp")->has_value());
  EXPECT_FALSE(book.look_up({other_job, 1, 0}, "tcp")->has_value());
  EXPECT_TRUE(book.is_same_host({our_job, 1, 0}));
  EXPECT_FALSE(book.is_same_host({other_job, 1, 0})) << "the same index is not the same process";
}

TEST(AddressBook, KeepsAProcessOfAnotherJobUntilItIsStruckOut) {
  OwnJob own;
  AddressBook book(own);
  const Identity other{other_job, 1, 0};
  book.enter(other, {{"tcp", bytes_of(7)}});
  book.enter(other, {{"tcp", bytes_of(8)}});
  EXPECT_EQ(**book.look_up(other, "tcp"), bytes_of(8)) << "what was heard last";
  EXPECT_FALSE(book.look_up(other, "verbs")->has_value());
  EXPECT_FALSE(book.look_up({other_job, 1, 1}, "tcp")->has_value()) << "another life";
  EXPECT_EQ(book.foreign(), std::vector{other});
  book.strike(other);
  EXPECT_FALSE(book.look_up(other, "tcp")->has_value());
  EXPECT_TRUE(book.foreign().empty());
  book.strike(other);  // nobody to strike out
}

}  // namespace
}  // namespace hawser::bootstrap
