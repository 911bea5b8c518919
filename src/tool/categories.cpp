#include "tool/categories.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace hawser::tool {
namespace {

constexpr std::string_view root_name = "hawser";

struct Described {
  std::string_view name;
  std::string_view sentence;
};

constexpr std::array<Described, 13> described = {{
    {root_name, "All that Hawser shows to tools."},
    {"bootstrap", "Who started the process."},
    {"channel", "Which channel carries which message, and what went over each."},
    {"collective", "Algorithms of collective operations, and the memory that they share."},
    {"delivery", "Frames that may be lost: when they are acknowledged and sent again."},
    {"ledger", "Who owns which bytes of communication memory."},
    {"p2p", "Protocols and matching of point-to-point messages."},
    {"shm", "Queue, rings and single copy of shared memory."},
    {"stats", "The report that each process writes when it finalizes."},
    {"tcp", "Connections between hosts without an RDMA network."},
    {"transport", "The transports to other processes."},
    {"verbs", "Queue pairs of an RDMA adapter, and their buffers."},
    {"wait", "How long a waiting process polls, and how often it sleeps."},
}};

std::string first_word(const std::string& name) { return name.substr(0, name.find('.')); }

Category make(std::string name) {
  std::string sentence(category_sentence(name));
  if (sentence.empty()) sentence = fmt::format("Variables whose names begin with '{}'.", name);
  return {std::move(name), std::move(sentence), {}, {}, {}};
}

}  // namespace

std::string_view category_sentence(std::string_view name) {
  for (const Described& entry : described)
    if (entry.name == name) return entry.sentence;
  return {};
}

std::vector<Category> make_categories(std::span<const std::string> controls,
                                      std::span<const std::string> performances) {
  struct Members {
    std::vector<int> controls;
    std::vector<int> performances;
  };
  std::map<std::string, Members> words;
  for (std::size_t i = 0; i < controls.size(); ++i)
    words[first_word(controls[i])].controls.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < performances.size(); ++i)
    words[first_word(performances[i])].performances.push_back(static_cast<int>(i));
  std::vector<Category> categories = {make(std::string(root_name))};
  for (auto& [word, members] : words) {
    categories.front().categories.push_back(static_cast<int>(categories.size()));
    categories.push_back(make(word));
    categories.back().controls = std::move(members.controls);
    categories.back().performances = std::move(members.performances);
  }
  return categories;
}

}  // namespace hawser::tool
