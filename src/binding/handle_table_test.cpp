#include "binding/handle_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

namespace hawser::binding {
namespace {

class Thing : public core::Object {};

Ref<core::Object> make_thing() { return base::make_ref<Thing>(); }

TEST(HandleTable, FindsWhatWasInserted) {
  HandleTable table(HandleKind::comm);
  auto thing = make_thing();
  const std::uint64_t handle = table.insert(thing);
  EXPECT_EQ(table.find(handle), thing.get());
  EXPECT_EQ(thing->handle(), handle);
  EXPECT_GE(handle, predefined_end);
  EXPECT_EQ(thing->reference_count(), 2u);
}

TEST(HandleTable, StaleHandlesFindNothing) {
  HandleTable table(HandleKind::request);
  const std::uint64_t first = table.insert(make_thing());
  EXPECT_TRUE(table.erase(first));
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_FALSE(table.erase(first));
  const std::uint64_t second = table.insert(make_thing());
  EXPECT_NE(first, second) << "the slot is used again, the handle is not";
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_NE(table.find(second), nullptr);
}

class Pooled : public core::Object {
 public:
  Pooled() { keep_place(); }
};

TEST(HandleTable, PooledObjectsKeepTheirPlace) {
  HandleTable table(HandleKind::request);
  const auto pooled = base::make_ref<Pooled>();
  std::vector<std::uint64_t> handles;
  for (int life = 0; life < 1000; ++life) {
    const std::uint64_t handle = table.insert(pooled);
    EXPECT_EQ(table.find(handle), pooled.get());
    EXPECT_EQ(table.from_int(HandleTable::to_int(handle)), handle);
    EXPECT_EQ(pooled->reference_count(), 2u);
    const std::uint64_t other = table.insert(make_thing());
    EXPECT_EQ(table.erase(handle).get(), pooled.get());
    EXPECT_FALSE(table.erase(handle));
    EXPECT_TRUE(table.erase(other));
    EXPECT_EQ(table.from_int(HandleTable::to_int(handle)), 0u);
    handles.push_back(handle);
  }
  EXPECT_EQ(pooled->reference_count(), 1u);
  EXPECT_EQ(table.find(pooled->handle()), nullptr) << "what it keeps is stale";
  std::ranges::sort(handles);
  EXPECT_EQ(std::ranges::adjacent_find(handles), handles.end()) << "no handle comes twice";
}

TEST(HandleTable, WhatWasFoundIsErasedWithoutAnotherSearch) {
  HandleTable table(HandleKind::request);
  const auto pooled = base::make_ref<Pooled>();
  const auto other = make_thing();
  for (const auto& object : {Ref<core::Object>(pooled), Ref<core::Object>(other)}) {
    std::vector<std::uint64_t> handles;
    for (int life = 0; life < 3; ++life) {
      const std::uint64_t handle = handles.emplace_back(table.insert(object));
      EXPECT_EQ(table.erase(table.look_up(handle)).get(), object.get());
      for (const std::uint64_t stale : handles) EXPECT_EQ(table.find(stale), nullptr);
    }
  }
  EXPECT_EQ(pooled->reference_count(), 1u);
  EXPECT_EQ(other->reference_count(), 1u);
}

TEST(HandleTable, GarbageFindsNothing) {
  HandleTable table(HandleKind::comm);
  const std::uint64_t handle = table.insert(make_thing());
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(predefined_end), nullptr);
  EXPECT_EQ(table.find(~std::uint64_t{0}), nullptr);
  EXPECT_EQ(table.find(handle + 1), nullptr) << "a slot that is free";
  EXPECT_EQ(table.find(handle | 0xffffff), nullptr) << "a slot that does not exist";
  EXPECT_EQ(table.find(handle & ~std::uint64_t{0xffffff}), nullptr) << "an index below the first";
  EXPECT_EQ(table.find(handle + (std::uint64_t{1} << 24)), nullptr) << "another kind";
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t guess = random();
    if (guess == handle) continue;
    ASSERT_EQ(table.find(guess), nullptr);
  }
}

TEST(HandleTable, SharedObjectsNeedOneEraseForEachShow) {
  HandleTable table(HandleKind::group);
  auto thing = make_thing();
  const std::uint64_t handle = table.share(thing);
  EXPECT_EQ(table.share(thing), handle);
  EXPECT_TRUE(table.erase(handle));
  EXPECT_EQ(table.find(handle), thing.get());
  EXPECT_TRUE(table.erase(handle));
  EXPECT_EQ(table.find(handle), nullptr);
  EXPECT_EQ(thing->handle(), 0u);
  EXPECT_EQ(thing->reference_count(), 1u);
}

TEST(HandleTable, PredefinedObjectsKeepTheirNumber) {
  HandleTable table(HandleKind::datatype);
  auto thing = make_thing();
  thing->set_handle(0x209);
  EXPECT_EQ(table.share(thing), 0x209u);
}

TEST(HandleTable, IntegersComeBack) {
  HandleTable table(HandleKind::win);
  std::vector<std::uint64_t> handles;
  for (int i = 0; i < 5000; ++i) handles.push_back(table.insert(make_thing()));
  for (const std::uint64_t handle : handles) {
    const int integer = HandleTable::to_int(handle);
    ASSERT_GE(integer, static_cast<int>(predefined_end));
    ASSERT_EQ(table.from_int(integer), handle);
  }
  const int stale = HandleTable::to_int(handles[7]);
  table.erase(handles[7]);
  EXPECT_EQ(table.from_int(stale), 0u);
  EXPECT_EQ(table.from_int(-1), 0u);
  EXPECT_EQ(table.from_int(0x101), 0u);
}

void agrees_with_a_map(HandleTable& table) {
  std::unordered_map<std::uint64_t, core::Object*> model;
  std::vector<std::uint64_t> ever;
  std::mt19937 random(2);
  for (int step = 0; step < 50000; ++step) {
    if (random() % 5 < 3) {
      auto thing = make_thing();
      core::Object* const object = thing.get();
      const std::uint64_t handle = table.insert(std::move(thing));
      ASSERT_TRUE(model.emplace(handle, object).second);
      ever.push_back(handle);
    } else if (!ever.empty()) {
      const std::uint64_t handle = ever[random() % ever.size()];
      ASSERT_EQ(static_cast<bool>(table.erase(handle)), model.erase(handle) == 1);
    }
    if (!ever.empty()) {
      const std::uint64_t handle = ever[random() % ever.size()];
      const auto known = model.find(handle);
      ASSERT_EQ(table.find(handle), known == model.end() ? nullptr : known->second);
    }
  }
}

TEST(HandleTable, AgreesWithAMapUnderRandomUse) {
  HandleTable table(HandleKind::op);
  agrees_with_a_map(table);
}

TEST(HandleTable, AgreesWithAMapWhereThreadsTakeTurns) {
  HandleTable table(HandleKind::request);
  table.set_threaded(false);
  agrees_with_a_map(table);
  // What was freed by one way is found by the other.
  table.set_threaded(true);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(table.erase(table.insert(make_thing())));
}

TEST(HandleTable, ThreadsInsertAndEraseAtOnce) {
  HandleTable table(HandleKind::request);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&table] {
      std::vector<std::uint64_t> mine;
      for (int round = 0; round < 200; ++round) {
        for (int i = 0; i < 50; ++i) mine.push_back(table.insert(make_thing()));
        for (const std::uint64_t handle : mine) {
          const core::Object* const object = table.find(handle);
          ASSERT_NE(object, nullptr);
          ASSERT_EQ(object->handle(), handle);
        }
        for (const std::uint64_t handle : mine) ASSERT_TRUE(table.erase(handle));
        mine.clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HandleTable, ReleasesWhatIsLeft) {
  auto thing = make_thing();
  {
    HandleTable table(HandleKind::info);
    table.insert(thing);
    EXPECT_EQ(thing->reference_count(), 2u);
  }
  EXPECT_EQ(thing->reference_count(), 1u);
}

}  // namespace
}  // namespace hawser::binding
