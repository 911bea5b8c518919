#include "session/components.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hawser::session {
namespace {

TEST(Components, AreListedOnceEachWithAReason) {
  std::set<std::string> names;
  for (const ComponentStatus& component : probe_components()) {
    EXPECT_TRUE(names.insert(component.name).second) << component.name;
    EXPECT_FALSE(component.sentence.empty()) << component.name;
    if (component.name == "self") {
      EXPECT_TRUE(component.usable);
    }
  }
  EXPECT_TRUE(names.contains("self"));
  EXPECT_TRUE(names.contains("shm"));
  for (const char* bootstrap : {"local", "pmix", "pmi"}) EXPECT_TRUE(names.contains(bootstrap));
}

}  // namespace
}  // namespace hawser::session
