#include "platform/name_space.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hawser::platform {
namespace {

TEST(NameSpace, HasANumberThatStays) {
  const auto first = name_space(NameSpace::pid);
  ASSERT_TRUE(first.has_value());
  EXPECT_NE(*first, 0U);
  EXPECT_EQ(first, name_space(NameSpace::pid));
  EXPECT_NE(first, name_space(NameSpace::network));
}

TEST(NameSpace, AFileWithoutANameIsOpenedThroughItsHolder) {
  const auto file = create_anonymous_file("shared", page_bytes());
  ASSERT_TRUE(file.ok());
  const auto again = open_descriptor_of(::getpid(), file->get());
  ASSERT_TRUE(again.ok()) << again.error().sentence();
  const auto here = Mapping::shared(*file, 0, page_bytes());
  const auto there = Mapping::shared(*again, 0, page_bytes());
  ASSERT_TRUE(here.ok() && there.ok());
  here->data()[7] = std::byte{42};
  EXPECT_EQ(there->data()[7], std::byte{42});
  EXPECT_TRUE(is_sealed_against_shrinking(*again));
}

TEST(NameSpace, WhatNobodyHoldsIsARefusal) {
  const auto refused = open_descriptor_of(::getpid(), 99999);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().sentence().find("/fd/99999"), std::string::npos);
}

}  // namespace
}  // namespace hawser::platform
