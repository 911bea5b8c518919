#include "platform/event.hpp"

#include <gtest/gtest.h>
#include <poll.h>

namespace hawser::platform {
namespace {

bool is_readable(const FileDescriptor& event) {
  pollfd asked{event.get(), POLLIN, 0};
  return ::poll(&asked, 1, 0) == 1;
}

TEST(Event, IsReadableFromSignalToClear) {
  const auto event = make_event();
  ASSERT_TRUE(event.ok());
  EXPECT_FALSE(is_readable(*event));
  signal_event(*event);
  signal_event(*event);
  EXPECT_TRUE(is_readable(*event));
  clear_event(*event);
  EXPECT_FALSE(is_readable(*event));
  clear_event(*event);
}

}  // namespace
}  // namespace hawser::platform
