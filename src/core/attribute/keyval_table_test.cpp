#include <gtest/gtest.h>

#include <memory>

#include "core/attribute/attribute.hpp"

namespace hawser::core {
namespace {

TEST(KeyvalTable, IdsAreAboveThePredefinedAndNeverReused) {
  KeyvalTable table;
  const int first = table.create(KeyvalKind::comm, {}, {});
  EXPECT_GT(first, 605);
  ASSERT_TRUE(table.free(KeyvalKind::comm, first).ok());
  const int second = table.create(KeyvalKind::comm, {}, {});
  EXPECT_GT(second, first);
}

TEST(KeyvalTable, FindsOnlyLiveKeyvalsOfTheKind) {
  KeyvalTable table;
  const int id = table.create(KeyvalKind::type, {}, {});
  ASSERT_TRUE(table.find(KeyvalKind::type, id).ok());
  EXPECT_EQ((*table.find(KeyvalKind::type, id))->id(), id);
  const auto wrong_kind = table.find(KeyvalKind::win, id);
  ASSERT_FALSE(wrong_kind.ok());
  EXPECT_EQ(wrong_kind.error().code(), static_cast<int>(ErrorClass::keyval));
  EXPECT_FALSE(table.free(KeyvalKind::win, id).ok());
  EXPECT_TRUE(table.find(KeyvalKind::type, id).ok()) << "a refused free changes nothing";
  ASSERT_TRUE(table.free(KeyvalKind::type, id).ok());
  EXPECT_FALSE(table.find(KeyvalKind::type, id).ok());
  EXPECT_FALSE(table.free(KeyvalKind::type, id).ok());
  EXPECT_FALSE(table.find(KeyvalKind::type, -1).ok());
}

TEST(KeyvalTable, AFreedKeyvalLivesOnWhereItIsUsed) {
  KeyvalTable table;
  int deleted = 0;
  const int id = table.create(KeyvalKind::comm, {}, [&deleted](Object&, int, void*) {
    ++deleted;
    return 0;
  });
  Object owner;
  AttributeSet attributes;
  ASSERT_TRUE(attributes.set(owner, *table.find(KeyvalKind::comm, id), nullptr).ok());
  ASSERT_TRUE(table.free(KeyvalKind::comm, id).ok());
  void* value = nullptr;
  EXPECT_TRUE(attributes.get(id, &value));
  EXPECT_TRUE(attributes.clear(owner).ok());
  EXPECT_EQ(deleted, 1);
}

TEST(KeyvalTable, DestructorsOfCallbacksMayUseTheTable) {
  KeyvalTable table;
  int id_of_destructor = 0;
  // A captured pointer whose deleter takes the table's lock.
  std::shared_ptr<void> captured(
      &table, [&](void*) { id_of_destructor = table.create(KeyvalKind::comm, {}, {}); });
  const int id = table.create(KeyvalKind::comm, {}, [captured](Object&, int, void*) { return 0; });
  captured.reset();
  ASSERT_TRUE(table.free(KeyvalKind::comm, id).ok());
  EXPECT_GT(id_of_destructor, id);
}

}  // namespace
}  // namespace hawser::core
