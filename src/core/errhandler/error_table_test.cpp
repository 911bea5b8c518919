#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/errhandler/errhandler.hpp"

namespace hawser::core {
namespace {

void expect_refused(const auto& result) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), static_cast<int>(ErrorClass::arg));
  EXPECT_FALSE(result.error().sentence().empty());
}

TEST(Errhandler, TheFirstThreeKindsArePredefined) {
  EXPECT_TRUE(Errhandler(ErrhandlerKind::errors_are_fatal).is_predefined());
  EXPECT_TRUE(Errhandler(ErrhandlerKind::errors_return).is_predefined());
  EXPECT_FALSE(Errhandler(ErrhandlerKind::comm).is_predefined());
}

TEST(ErrorTable, EveryStandardClassHasItsOwnString) {
  const ErrorTable table;
  std::set<std::string> texts;
  std::vector<int> classes{ErrorTable::last_standard_code};
  for (int code = 0; code <= 62; ++code) classes.push_back(code);
  for (int code = 1001; code <= 1018; ++code) classes.push_back(code);
  for (const int code : classes) {
    ASSERT_TRUE(table.class_of(code).ok()) << code;
    EXPECT_EQ(*table.class_of(code), code);
    const std::string text = *table.string_of(code);
    EXPECT_EQ(text.rfind("MPI_", 0), 0U) << text;
    EXPECT_LE(text.size(), ErrorTable::string_bytes_max);
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
  EXPECT_EQ(*table.string_of(6), "MPI_ERR_RANK: invalid rank");
}

TEST(ErrorTable, UnknownCodesAreRefused) {
  const ErrorTable table;
  for (const int code : {-1, 63, 1000, 1019, 16382, 16384}) {
    expect_refused(table.class_of(code));
    expect_refused(table.string_of(code));
  }
}

TEST(ErrorTable, UserMadeClassesAndCodes) {
  ErrorTable table;
  EXPECT_EQ(table.last_used_code(), ErrorTable::last_standard_code);
  const int error_class = table.add_class();
  EXPECT_EQ(error_class, ErrorTable::last_standard_code + 1);
  const int code = *table.add_code(error_class);
  const int rank_code = *table.add_code(static_cast<int>(ErrorClass::rank));
  EXPECT_EQ(table.last_used_code(), rank_code);
  EXPECT_EQ(*table.class_of(error_class), error_class);
  EXPECT_EQ(*table.class_of(code), error_class);
  EXPECT_EQ(*table.class_of(rank_code), static_cast<int>(ErrorClass::rank));
  expect_refused(table.add_code(code));
  expect_refused(table.add_code(63));
  expect_refused(table.add_code(table.last_used_code() + 1));
}

TEST(ErrorTable, Strings) {
  ErrorTable table;
  const int code = *table.add_code(table.add_class());
  EXPECT_EQ(*table.string_of(code), "");
  expect_refused(table.remove_string(code));
  ASSERT_TRUE(table.add_string(code, "first").ok());
  ASSERT_TRUE(table.add_string(code, std::string(ErrorTable::string_bytes_max, 'x')).ok());
  expect_refused(table.add_string(code, std::string(ErrorTable::string_bytes_max + 1, 'y')));
  EXPECT_EQ(*table.string_of(code), std::string(ErrorTable::string_bytes_max, 'x'));
  ASSERT_TRUE(table.remove_string(code).ok());
  EXPECT_EQ(*table.string_of(code), "");
  for (const int foreign : {0, 6, ErrorTable::last_standard_code, code + 1}) {
    expect_refused(table.add_string(foreign, "no"));
    expect_refused(table.remove_string(foreign));
  }
}

TEST(ErrorTable, RemovingGoesFromStringsOverCodesToClasses) {
  ErrorTable table;
  const int error_class = table.add_class();
  const int code = *table.add_code(error_class);
  ASSERT_TRUE(table.add_string(code, "text").ok());
  expect_refused(table.remove_class(error_class));
  expect_refused(table.remove_code(code));
  ASSERT_TRUE(table.remove_string(code).ok());
  expect_refused(table.remove_class(code));
  expect_refused(table.remove_code(error_class));
  ASSERT_TRUE(table.remove_code(code).ok());
  expect_refused(table.remove_code(code));
  expect_refused(table.class_of(code));
  ASSERT_TRUE(table.add_string(error_class, "text").ok());
  expect_refused(table.remove_class(error_class));
  ASSERT_TRUE(table.remove_string(error_class).ok());
  ASSERT_TRUE(table.remove_class(error_class).ok());
  expect_refused(table.remove_class(error_class));
  expect_refused(table.add_code(error_class));
  expect_refused(table.remove_class(0));
  expect_refused(table.remove_code(0));
  EXPECT_EQ(table.last_used_code(), code);
  EXPECT_EQ(table.add_class(), code + 1) << "numbers are never reused";
}

TEST(ErrorTable, ManyThreadsGetDistinctCodes) {
  ErrorTable table;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&table] {
      for (int i = 0; i < 250; ++i) {
        const int error_class = table.add_class();
        EXPECT_EQ(*table.class_of(error_class), error_class);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table.last_used_code(), ErrorTable::last_standard_code + 1000);
}

}  // namespace
}  // namespace hawser::core
