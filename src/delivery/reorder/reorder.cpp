#include "delivery/reorder/reorder.hpp"

#include <utility>

namespace hawser::delivery {

void ReorderBuffer::clear() {
  if (early_ == nullptr) return;
  for (const auto& [sequence, frame] : *early_)
    ledger_.refund(memory::Account::reorder, frame.size());
  early_.reset();
}

ReorderBuffer::Verdict ReorderBuffer::keep(std::uint32_t sequence, std::span<const std::byte> frame,
                                           std::span<const std::byte> rest) {
  // Modulo 2^32: what was delivered already is far ahead, and so out of the window.
  const std::uint32_t ahead = sequence - expected_;
  if (ahead > window) return Verdict::refused;
  if (early_ == nullptr) early_ = std::make_unique<Frames>();
  const auto [kept, is_new] = early_->try_emplace(sequence, frame.begin(), frame.end());
  if (!is_new) return Verdict::refused;
  kept->second.insert(kept->second.end(), rest.begin(), rest.end());
  ledger_.charge(memory::Account::reorder, kept->second.size());
  return Verdict::early;
}

ReorderBuffer::Arrived ReorderBuffer::arrived() const {
  Arrived arrived{.missing = expected_, .early_bits = 0};
  if (early_ == nullptr) return arrived;
  while (early_->contains(arrived.missing)) ++arrived.missing;
  for (const auto& [sequence, frame] : *early_)
    if (const std::uint32_t bit = sequence - arrived.missing - 1; bit < 64)
      arrived.early_bits |= std::uint64_t{1} << bit;
  return arrived;
}

std::optional<std::vector<std::byte>> ReorderBuffer::take_next() {
  if (early_ == nullptr) return std::nullopt;
  const auto found = early_->find(expected_);
  if (found == early_->end()) return std::nullopt;
  std::vector<std::byte> frame = std::move(found->second);
  early_->erase(found);
  if (early_->empty()) early_.reset();
  ledger_.refund(memory::Account::reorder, frame.size());
  ++expected_;
  return frame;
}

}  // namespace hawser::delivery
