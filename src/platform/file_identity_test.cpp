#include "platform/file_identity.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "platform/file.hpp"

namespace hawser::platform {
namespace {

TEST(FileIdentity, IsThatOfTheFileAndNotOfTheDescriptor) {
  const auto one = create_anonymous_file("identity", page_bytes());
  const auto other = create_anonymous_file("identity", page_bytes());
  ASSERT_TRUE(one && other);
  const FileDescriptor again(::dup(one->get()));
  const auto identity = file_identity(one->get());
  ASSERT_TRUE(identity);
  EXPECT_NE(*identity, 0U);
  EXPECT_EQ(file_identity(again.get()), identity);
  EXPECT_NE(file_identity(other->get()), identity);
}

TEST(FileIdentity, NoFileHasNone) { EXPECT_FALSE(file_identity(-1)); }

}  // namespace
}  // namespace hawser::platform
