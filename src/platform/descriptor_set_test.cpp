#include "platform/descriptor_set.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>

namespace hawser::platform {
namespace {

bool is_readable(int descriptor) {
  pollfd polled{descriptor, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

TEST(DescriptorSet, IsReadableWhileAMemberIs) {
  const std::array members = {FileDescriptor(::eventfd(0, EFD_CLOEXEC)),
                              FileDescriptor(::eventfd(0, EFD_CLOEXEC))};
  const std::array numbers = {members[0].get(), members[1].get()};
  const auto set = DescriptorSet::make(numbers);
  ASSERT_TRUE(set);
  for (const int each : numbers) {
    EXPECT_FALSE(is_readable(set->descriptor()));
    std::uint64_t count = 1;
    ASSERT_EQ(::write(each, &count, sizeof(count)), static_cast<ssize_t>(sizeof(count)));
    EXPECT_TRUE(is_readable(set->descriptor()));
    ASSERT_EQ(::read(each, &count, sizeof(count)), static_cast<ssize_t>(sizeof(count)));
  }
  EXPECT_FALSE(is_readable(set->descriptor()));
}

TEST(DescriptorSet, SaysWhatItCannotWaitFor) {
  const std::array none = {-1};
  const auto set = DescriptorSet::make(none);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().sentence().find("waited for"), std::string::npos);
}

}  // namespace
}  // namespace hawser::platform
