#include "platform/cgroup.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace hawser::platform {
namespace {

class CgroupTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) { folder.write(path, text); }

  const test::TemporaryFolder folder;
  const std::string root = folder.path().string();
};

TEST_F(CgroupTest, NoGroupsNoLimits) {
  EXPECT_FALSE(cgroup_cores_max(root).has_value());
  EXPECT_FALSE(cgroup_memory_bytes_max(root).has_value());
}

TEST_F(CgroupTest, Version2TakesTheSmallestUpToTheRoot) {
  write("/proc/self/cgroup", "0::/user/job\n");
  write("/sys/fs/cgroup/user/job/cpu.max", "400000 100000\n");
  write("/sys/fs/cgroup/user/job/memory.max", "max\n");
  EXPECT_EQ(cgroup_cores_max(root), 4.0);
  EXPECT_FALSE(cgroup_memory_bytes_max(root).has_value());
  write("/sys/fs/cgroup/user/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/user/memory.max", "1048576\n");
  EXPECT_EQ(cgroup_cores_max(root), 1.5);
  EXPECT_EQ(cgroup_memory_bytes_max(root), 1048576U);
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cores_max(root), 1.5);
}

TEST_F(CgroupTest, Version1KeepsControllersApart) {
  write("/proc/self/cgroup", "4:memory:/a\n2:cpuset:/z\n1:cpu,cpuacct:/b/c\n0::/\n");
  write("/sys/fs/cgroup/cpu/b/c/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/b/c/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(cgroup_cores_max(root).has_value());
  EXPECT_FALSE(cgroup_memory_bytes_max(root).has_value());
  write("/sys/fs/cgroup/cpu/b/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu/b/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(cgroup_cores_max(root), 0.5);
  EXPECT_EQ(cgroup_memory_bytes_max(root), 4096U);
}

TEST_F(CgroupTest, MalformedFilesAreNoLimits) {
  write("/proc/self/cgroup", "nonsense\n0::/\n");
  for (const char* text : {"", "\n", "max", "100000", "x y", "1 0", " "}) {
    write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_FALSE(cgroup_cores_max(root).has_value()) << text;
  }
}

}  // namespace
}  // namespace hawser::platform
