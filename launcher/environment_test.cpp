#include "launcher/environment.hpp"

#include <gtest/gtest.h>

namespace hawser::launcher {
namespace {

TEST(Environment, SetReplacesWholeNamesOnly) {
  const char* const variables[] = {"A=1", "AB=2", nullptr};
  Environment environment(variables);
  environment.set("A", "3");
  environment.set("B", "");
  environment.set("A", "4");
  char* const* pointers = environment.pointers();
  EXPECT_STREQ(pointers[0], "A=4");
  EXPECT_STREQ(pointers[1], "AB=2");
  EXPECT_STREQ(pointers[2], "B=");
  EXPECT_EQ(pointers[3], nullptr);
}

}  // namespace
}  // namespace hawser::launcher
