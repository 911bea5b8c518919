#include "topology/dims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace hawser::topology {

namespace {

/// The prime factors of N, smallest first.
std::vector<int> prime_factors(int n) {
  std::vector<int> factors;
  for (int prime = 2; prime <= n / prime; ++prime)
    for (; n % prime == 0; n /= prime) factors.push_back(prime);
  if (n > 1) factors.push_back(n);
  return factors;
}

/// Extents of COUNT dimensions with product N, balanced: the search gives each prime factor,
/// largest first, to every dimension in turn and keeps the grid with the smallest largest extent,
/// then the largest smallest one. Equal extents are tried once.
class Balancer {
 public:
  Balancer(int n, std::size_t count) : factors_(prime_factors(n)), extents_(count, 1) {
    std::reverse(factors_.begin(), factors_.end());
    search(0);
  }
  [[nodiscard]] const std::vector<int>& best() const { return best_; }

 private:
  void search(std::size_t next) {
    if (!best_.empty() && *std::max_element(extents_.begin(), extents_.end()) > best_.front())
      return;
    if (next == factors_.size()) {
      std::vector<int> sorted = extents_;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      if (best_.empty() || sorted < best_) best_ = std::move(sorted);
      return;
    }
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      const auto earlier = extents_.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(extents_.begin(), earlier, extents_[i]) != earlier) continue;
      extents_[i] *= factors_[next];
      search(next + 1);
      extents_[i] /= factors_[next];
    }
  }

  std::vector<int> factors_;
  std::vector<int> extents_;
  std::vector<int> best_;
};

}  // namespace

base::Result<void> fill_dimensions(int processes, std::span<int> dims) {
  int left = processes;
  std::size_t free = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0)
      return base::Error(
          base::ErrorClass::dims,
          fmt::format("entry {} of 'dims' is {}; it must not be negative", i, dims[i]));
    if (dims[i] == 0) {
      ++free;
    } else if (left % dims[i] == 0) {
      left /= dims[i];
    } else {
      left = 0;
      break;
    }
  }
  if (left == 0 || (free == 0 && left != 1))
    return base::Error(
        base::ErrorClass::dims,
        fmt::format("{} processes can't be divided among the dimensions that 'dims' gives",
                    processes));
  if (free == 0) return {};
  const Balancer balancer(left, free);
  auto extent = balancer.best().begin();
  for (int& dim : dims)
    if (dim == 0) dim = *extent++;
  return {};
}

}  // namespace hawser::topology
