#include "platform/shared_library.hpp"

#include <gtest/gtest.h>

namespace hawser::platform {
namespace {

TEST(SharedLibrary, GivesFunctions) {
  auto library = SharedLibrary::open("libm.so.6");
  ASSERT_TRUE(library.ok());
  double (*square_root)(double) = nullptr;
  ASSERT_TRUE(library->find("sqrt", &square_root).ok());
  EXPECT_EQ(square_root(9.0), 3.0);
}

TEST(SharedLibrary, WhatIsMissingIsNamed) {
  const auto missing = SharedLibrary::open("libhawser_is_not_there.so.0");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().sentence().find("libhawser_is_not_there.so.0"), std::string::npos);
  const auto library = SharedLibrary::open("libm.so.6");
  ASSERT_TRUE(library.ok());
  void (*function)() = nullptr;
  const auto found = library->find("hawser_is_not_there", &function);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().sentence(), "libm.so.6 has no function hawser_is_not_there");
  EXPECT_EQ(function, nullptr);
}

}  // namespace
}  // namespace hawser::platform
