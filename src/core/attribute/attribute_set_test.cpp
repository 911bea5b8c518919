#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/attribute/attribute.hpp"

namespace hawser::core {
namespace {

constexpr int user_error = 20000;

class AttributeSetTest : public testing::Test {
 protected:
  /// A keyval that logs what is deleted.
  Ref<Keyval> logging(int id, AttributeCopy copy = {}) {
    return base::make_ref<Keyval>(KeyvalKind::comm, id, std::move(copy),
                                  [this](Object&, int keyval, void* value) {
                                    deleted_.emplace_back(keyval, *static_cast<int*>(value));
                                    return 0;
                                  });
  }
  Ref<Keyval> with_delete(int id, AttributeDelete destroy) {
    return base::make_ref<Keyval>(KeyvalKind::comm, id, AttributeCopy{}, std::move(destroy));
  }
  int value_of(int keyval) const {
    void* value = nullptr;
    return attributes_.get(keyval, &value) ? *static_cast<int*>(value) : -1;
  }

  using Log = std::vector<std::pair<int, int>>;
  Object owner_;
  AttributeSet attributes_;
  Log deleted_;
  int values_[4] = {0, 1, 2, 3};
};

AttributeCopy copy_if(bool flag) {
  return [flag](Object&, int, void* in, void** out, bool* copied) {
    *out = in;
    *copied = flag;
    return 0;
  };
}

TEST_F(AttributeSetTest, SetGetErase) {
  EXPECT_TRUE(attributes_.empty());
  EXPECT_EQ(value_of(1), -1);
  ASSERT_TRUE(attributes_.set(owner_, logging(1), &values_[1]).ok());
  EXPECT_EQ(value_of(1), 1);
  ASSERT_TRUE(attributes_.erase(owner_, 1).ok());
  EXPECT_EQ(value_of(1), -1);
  EXPECT_EQ(deleted_, (Log{{1, 1}}));
  const auto again = attributes_.erase(owner_, 1);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code(), static_cast<int>(ErrorClass::keyval));
}

TEST_F(AttributeSetTest, NullValuesAreValues) {
  ASSERT_TRUE(attributes_.set(owner_, with_delete(1, {}), nullptr).ok());
  void* value = this;
  EXPECT_TRUE(attributes_.get(1, &value));
  EXPECT_EQ(value, nullptr);
}

TEST_F(AttributeSetTest, ClearDeletesTheLastSetFirst) {
  for (const int id : {2, 1, 3}) {
    ASSERT_TRUE(attributes_.set(owner_, logging(id), &values_[id]).ok());
  }
  ASSERT_TRUE(attributes_.clear(owner_).ok());
  EXPECT_EQ(deleted_, (Log{{3, 3}, {1, 1}, {2, 2}}));
  EXPECT_TRUE(attributes_.empty());
}

TEST_F(AttributeSetTest, ReplacingDeletesTheOldValueAndCountsAsSetAnew) {
  const Ref<Keyval> keyval = logging(1);
  ASSERT_TRUE(attributes_.set(owner_, keyval, &values_[1]).ok());
  ASSERT_TRUE(attributes_.set(owner_, logging(2), &values_[2]).ok());
  ASSERT_TRUE(attributes_.set(owner_, keyval, &values_[3]).ok());
  EXPECT_EQ(deleted_, (Log{{1, 1}}));
  ASSERT_TRUE(attributes_.clear(owner_).ok());
  EXPECT_EQ(deleted_, (Log{{1, 1}, {1, 3}, {2, 2}}));
}

TEST_F(AttributeSetTest, AFailingDeleteKeepsTheAttribute) {
  const Ref<Keyval> keyval = with_delete(1, [](Object&, int, void*) { return user_error; });
  ASSERT_TRUE(attributes_.set(owner_, keyval, &values_[1]).ok());
  const auto erased = attributes_.erase(owner_, 1);
  ASSERT_FALSE(erased.ok());
  EXPECT_EQ(erased.error().code(), user_error);
  EXPECT_EQ(erased.error().sentence(), "the delete callback of keyval 1 returned error code 20000");
  const auto replaced = attributes_.set(owner_, keyval, &values_[2]);
  ASSERT_FALSE(replaced.ok());
  EXPECT_EQ(value_of(1), 1);
}

TEST_F(AttributeSetTest, ClearDeletesTheOthersAfterAFailureAndReportsTheFirst) {
  ASSERT_TRUE(attributes_.set(owner_, logging(1), &values_[1]).ok());
  for (const int id : {2, 3}) {
    const Ref<Keyval> failing =
        with_delete(id, [id](Object&, int, void*) { return user_error + id; });
    ASSERT_TRUE(attributes_.set(owner_, failing, &values_[id]).ok());
  }
  const auto cleared = attributes_.clear(owner_);
  ASSERT_FALSE(cleared.ok());
  EXPECT_EQ(cleared.error().code(), user_error + 3);
  EXPECT_EQ(deleted_, (Log{{1, 1}}));
  EXPECT_TRUE(attributes_.empty());
}

TEST_F(AttributeSetTest, CallbacksSeeTheirValueAndMayChangeOtherAttributes) {
  const Ref<Keyval> nosy = with_delete(1, [this](Object& object, int, void*) {
    EXPECT_EQ(&object, &owner_);
    EXPECT_EQ(value_of(1), 1) << "visible until the callback has returned";
    EXPECT_TRUE(attributes_.erase(object, 2).ok());
    for (int id = 10; id < 30; ++id) {  // enough to move the entries
      EXPECT_TRUE(attributes_.set(object, with_delete(id, {}), &values_[0]).ok());
    }
    return 0;
  });
  ASSERT_TRUE(attributes_.set(owner_, logging(2), &values_[2]).ok());
  ASSERT_TRUE(attributes_.set(owner_, nosy, &values_[1]).ok());
  ASSERT_TRUE(attributes_.set(owner_, logging(3), &values_[3]).ok());
  ASSERT_TRUE(attributes_.erase(owner_, 1).ok());
  EXPECT_EQ(value_of(1), -1);
  EXPECT_EQ(value_of(2), -1);
  EXPECT_EQ(value_of(3), 3);
  EXPECT_EQ(value_of(29), 0);
}

TEST_F(AttributeSetTest, ClearAlsoDeletesWhatCallbacksSetAndSkipsWhatTheyDeleted) {
  const Ref<Keyval> nosy = with_delete(3, [this](Object& object, int, void*) {
    EXPECT_TRUE(attributes_.erase(object, 1).ok());
    EXPECT_TRUE(attributes_.set(object, logging(2), &values_[2]).ok());
    return 0;
  });
  ASSERT_TRUE(attributes_.set(owner_, logging(1), &values_[1]).ok());
  ASSERT_TRUE(attributes_.set(owner_, nosy, &values_[3]).ok());
  ASSERT_TRUE(attributes_.clear(owner_).ok());
  EXPECT_EQ(deleted_, (Log{{1, 1}, {2, 2}}));
  EXPECT_TRUE(attributes_.empty());
}

TEST_F(AttributeSetTest, CopyTakesWhatTheCallbacksAllow) {
  ASSERT_TRUE(attributes_.set(owner_, logging(1, copy_if(true)), &values_[1]).ok());
  ASSERT_TRUE(attributes_.set(owner_, logging(2, copy_if(false)), &values_[2]).ok());
  ASSERT_TRUE(attributes_.set(owner_, logging(3), &values_[3]).ok());
  const AttributeCopy substitute = [this](Object&, int, void*, void** out, bool* copied) {
    *out = &values_[0];
    *copied = true;
    return 0;
  };
  ASSERT_TRUE(attributes_.set(owner_, logging(4, substitute), &values_[2]).ok());
  AttributeSet target;
  ASSERT_TRUE(attributes_.copy_to(owner_, target).ok());
  ASSERT_TRUE(target.clear(owner_).ok());
  EXPECT_EQ(deleted_, (Log{{4, 0}, {1, 1}}));
}

TEST_F(AttributeSetTest, AFailingCopyEndsTheCopying) {
  int calls = 0;
  const AttributeCopy failing = [&calls](Object&, int, void*, void**, bool*) {
    ++calls;
    return user_error;
  };
  ASSERT_TRUE(attributes_.set(owner_, logging(1, failing), &values_[1]).ok());
  ASSERT_TRUE(attributes_.set(owner_, logging(2, failing), &values_[2]).ok());
  AttributeSet target;
  const auto copied = attributes_.copy_to(owner_, target);
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code(), user_error);
  EXPECT_EQ(calls, 1);
}

TEST_F(AttributeSetTest, CopyLeavesOutWhatACallbackDeletedMeanwhile) {
  const AttributeCopy nosy = [this](Object& object, int, void* in, void** out, bool* copied) {
    EXPECT_TRUE(attributes_.erase(object, 2).ok());
    *out = in;
    *copied = true;
    return 0;
  };
  ASSERT_TRUE(attributes_.set(owner_, logging(1, nosy), &values_[1]).ok());
  ASSERT_TRUE(attributes_.set(owner_, logging(2, copy_if(true)), &values_[2]).ok());
  AttributeSet target;
  ASSERT_TRUE(attributes_.copy_to(owner_, target).ok());
  void* value = nullptr;
  EXPECT_TRUE(target.get(1, &value));
  EXPECT_FALSE(target.get(2, &value));
}

}  // namespace
}  // namespace hawser::core
