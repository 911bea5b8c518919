#include "platform/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

namespace hawser::platform {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

std::size_t allocated_bytes(const FileDescriptor& file) {
  struct stat status {};
  EXPECT_EQ(::fstat(file.get(), &status), 0);
  return static_cast<std::size_t>(status.st_blocks) * 512;
}

TEST(FileDescriptor, ClosesWhatItOwnsOnce) {
  int number = -1;
  {
    FileDescriptor file = std::move(*create_anonymous_file("test", 0));
    number = file.get();
    FileDescriptor other(std::move(file));
    EXPECT_FALSE(file.is_open());  // NOLINT: what moving leaves is part of the contract
    EXPECT_TRUE(is_open(number));
    file = std::move(other);
    EXPECT_EQ(file.get(), number);
  }
  EXPECT_FALSE(is_open(number));
}

TEST(FileDescriptor, AReleasedNumberStaysOpen) {
  FileDescriptor file = std::move(*create_anonymous_file("test", 0));
  const int number = file.release();
  EXPECT_FALSE(file.is_open());
  EXPECT_TRUE(is_open(number));
  FileDescriptor(number).close();
  EXPECT_FALSE(is_open(number));
}

TEST(AnonymousFile, HoldsZerosAndNeverShrinks) {
  const FileDescriptor file = std::move(*create_anonymous_file("test", 3 * page_bytes()));
  EXPECT_EQ(*file_size(file), 3 * page_bytes());
  EXPECT_TRUE(is_sealed_against_shrinking(file));
  EXPECT_NE(::ftruncate(file.get(), 1), 0);
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(4 * page_bytes())), 0);
  const Mapping mapping = std::move(*Mapping::shared(file, 0, 4 * page_bytes()));
  EXPECT_TRUE(std::all_of(mapping.data(), mapping.data() + mapping.bytes(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(AnonymousFile, IsInheritedOnlyOnRequest) {
  const FileDescriptor kept = std::move(*create_anonymous_file("test", 0));
  EXPECT_NE(::fcntl(kept.get(), F_GETFD) & FD_CLOEXEC, 0);
  const FileDescriptor passed = std::move(*create_anonymous_file("test", 0, true));
  EXPECT_EQ(::fcntl(passed.get(), F_GETFD) & FD_CLOEXEC, 0);
  close_on_exec(passed);
  EXPECT_NE(::fcntl(passed.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(AnonymousFile, WhatIsNoneIsNotSealed) {
  EXPECT_FALSE(is_sealed_against_shrinking(FileDescriptor()));
  EXPECT_FALSE(is_sealed_against_shrinking(FileDescriptor(::open("/proc/self/stat", O_RDONLY))));
  EXPECT_FALSE(is_sealed_against_shrinking(
      FileDescriptor(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING))));
  EXPECT_FALSE(file_size(FileDescriptor()).ok());
}

TEST(AnonymousFile, AllocatingGrowsItWithRealMemory) {
  const FileDescriptor file = std::move(*create_anonymous_file("test", page_bytes()));
  EXPECT_EQ(allocated_bytes(file), 0U);
  ASSERT_TRUE(allocate_pages(file, 2 * page_bytes(), page_bytes()).ok());
  EXPECT_EQ(*file_size(file), 3 * page_bytes());
  EXPECT_EQ(allocated_bytes(file), page_bytes());
}

TEST(AnonymousFile, BeyondWhatAFileCanHoldIsAnError) {
  // Refused for its end, before a page is allocated.
  const FileDescriptor file = std::move(*create_anonymous_file("test", 0));
  const std::size_t last_page = (std::size_t{1} << 63) - page_bytes();
  const Result<void> result = allocate_pages(file, last_page, 2 * page_bytes());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), static_cast<int>(ErrorClass::no_mem));
  EXPECT_NE(result.error().sentence().find(std::to_string(2 * page_bytes())), std::string::npos);
}

TEST(Mapping, TwoOfOneFileSeeTheSameBytes) {
  const FileDescriptor file = std::move(*create_anonymous_file("test", 2 * page_bytes()));
  const Mapping whole = std::move(*Mapping::shared(file, 0, 2 * page_bytes()));
  Mapping second = std::move(*Mapping::shared(file, page_bytes(), page_bytes()));
  whole.data()[page_bytes()] = std::byte{42};
  EXPECT_EQ(second.data()[0], std::byte{42});
  Mapping taken(std::move(second));
  EXPECT_EQ(second.data(), nullptr);  // NOLINT: what moving leaves is part of the contract
  EXPECT_EQ(taken.data()[0], std::byte{42});
}

TEST(Mapping, MayReachBeyondAFileThatGrows) {
  const FileDescriptor file = std::move(*create_anonymous_file("test", page_bytes()));
  const Mapping window = std::move(*Mapping::shared(file, 0, 16 * page_bytes()));
  ASSERT_TRUE(allocate_pages(file, 8 * page_bytes(), page_bytes()).ok());
  window.data()[8 * page_bytes()] = std::byte{1};
  EXPECT_EQ(window.data()[8 * page_bytes()], std::byte{1});
}

TEST(Mapping, PartsAreMappedOverAReservation) {
  const FileDescriptor file = std::move(*create_anonymous_file("test", 4 * page_bytes()));
  Mapping reserved = std::move(*Mapping::reserve(4 * page_bytes()));
  const Mapping shared = std::move(*Mapping::shared(file, 0, 4 * page_bytes()));
  ASSERT_TRUE(reserved.map_over(file, 2 * page_bytes(), page_bytes()).ok());
  reserved.data()[2 * page_bytes()] = std::byte{9};
  EXPECT_EQ(shared.data()[2 * page_bytes()], std::byte{9});
}

TEST(Mapping, OfNothingIsAnError) {
  EXPECT_FALSE(Mapping::shared(FileDescriptor(), 0, page_bytes()).ok());
}

TEST(Pages, SizesAreRoundedUp) {
  EXPECT_EQ(round_to_pages(0), 0U);
  EXPECT_EQ(round_to_pages(1), page_bytes());
  EXPECT_EQ(round_to_pages(page_bytes()), page_bytes());
  EXPECT_EQ(round_to_pages(page_bytes() + 1), 2 * page_bytes());
}

TEST(Random, IsNotTwiceTheSame) {
  std::array<std::byte, 32> first{};
  std::array<std::byte, 32> second{};
  random_bytes(first);
  random_bytes(second);
  EXPECT_NE(first, second);
  random_bytes({});
}

}  // namespace
}  // namespace hawser::platform
