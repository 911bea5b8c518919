#include <gtest/gtest.h>

#include "tests/support/comm_tester.hpp"

namespace hawser::comm_ops {
namespace {

using namespace test;  // NOLINT

constexpr int callback_code = 4321;

/// A keyval that copies its value plus 1, and notes the object whose attribute is copied; FAILING
/// ones return callback_code.
Ref<core::Keyval> make_keyval(int id, bool failing, core::Object** seen) {
  return base::make_ref<core::Keyval>(
      core::KeyvalKind::comm, id,
      [failing, seen](core::Object& object, int, void* in, void** out, bool* flag) {
        *seen = &object;
        *out = static_cast<char*>(in) + 1;
        *flag = true;
        return failing ? callback_code : 0;
      },
      nullptr);
}

const void* attribute(Comm& comm, int keyval) {
  void* value = nullptr;
  return comm.attributes().get(keyval, &value) ? value : nullptr;
}

TEST(Dup, is_congruent_and_apart_from_its_parent) {
  for_rank_counts([](CommTester& t) {
    const auto child = t.made(t.factory.dup(*t.world, nullptr));
    const auto grandchild = t.made(t.factory.dup(*child, nullptr));
    EXPECT_EQ(child->compare(*t.world), core::Comparison::congruent);
    EXPECT_EQ(&child->group(), &t.world->group());
    EXPECT_TRUE(child->name().empty());
    for (Comm* comm : {t.world.get(), child.get(), grandchild.get()}) {
      t.expect_intra(*comm, range(0, t.size));
    }
    t.expect_isolated(*t.world, *child);
    t.expect_isolated(*child, *grandchild);
  });
}

TEST(Dup, equal_numbers_take_no_memory_per_rank) {
  run_ranks(4, false, [](Rank& rank) {
    const Hosts hosts(rank.rank, 1);
    collective::PlanRunner runner(rank.engine);
    CommFactory factory(rank.engine, runner, identity(rank.rank), hosts);
    const auto world = factory.make_world(
        rank.size, base::make_ref<core::Errhandler>(core::ErrhandlerKind::errors_return));
    EXPECT_EQ((*factory.dup(*world, nullptr))->contexts().footprint_bytes(), 0U);
  });
}

TEST(Dup, takes_over_attributes_error_handler_and_hints) {
  for_rank_counts([](CommTester& t) {
    core::Object* seen = nullptr;
    char places[4];
    ASSERT_TRUE(
        t.world->attributes().set(*t.world, make_keyval(700, false, &seen), &places[0]).ok());
    const auto uncopied =
        base::make_ref<core::Keyval>(core::KeyvalKind::comm, 701, nullptr, nullptr);
    ASSERT_TRUE(t.world->attributes().set(*t.world, uncopied, &places[1]).ok());
    const auto hints = base::make_ref<Info>();
    ASSERT_TRUE(hints->set("color", "blue").ok());
    t.world->set_info(hints);

    const auto child = t.made(t.factory.dup(*t.world, nullptr));
    EXPECT_EQ(seen, t.world.get());
    EXPECT_EQ(attribute(*child, 700), &places[1]);
    EXPECT_EQ(attribute(*child, 701), nullptr);
    EXPECT_EQ(&child->errhandler(), t.errhandler.get());
    EXPECT_NE(child->info(), hints.get());
    EXPECT_EQ(child->info()->get("color"), "blue");

    const auto other = base::make_ref<Info>();
    ASSERT_TRUE(other->set("shape", "round").ok());
    const auto with_info = t.made(t.factory.dup(*child, other.get()));
    EXPECT_EQ(attribute(*with_info, 700), &places[2]);
    EXPECT_EQ(with_info->info()->get("shape"), "round");
    EXPECT_FALSE(with_info->info()->get("color").has_value());
  });
}

TEST(Dup, failing_callback_fails_its_process_and_hangs_nobody) {
  for_rank_counts([](CommTester& t) {
    core::Object* seen = nullptr;
    char place = 0;
    const bool failing = t.rank == t.size - 1;
    ASSERT_TRUE(t.world->attributes().set(*t.world, make_keyval(700, failing, &seen), &place).ok());
    const auto child = t.factory.dup(*t.world, nullptr);
    EXPECT_EQ(child.ok(), !failing);
    if (!child.ok()) {
      EXPECT_EQ(child.error().code(), callback_code);
    }

    Ref<Comm> late;
    const auto request =
        t.factory.idup(*t.world, nullptr, [&](Ref<Comm> comm) { late = std::move(comm); });
    EXPECT_EQ(request.ok(), !failing);
    if (request.ok()) {
      t.engine.wait(**request);
      EXPECT_NE(late.get(), nullptr);
    } else {
      EXPECT_EQ(request.error().code(), callback_code);
    }
    t.expect_intra(*t.world, range(0, t.size));
    EXPECT_EQ(late.get() == nullptr, failing);
  });
}

TEST(Idup, several_at_a_time_complete_in_any_order_of_waits) {
  for_rank_counts([](CommTester& t) {
    const auto other = t.made(t.factory.dup(*t.world, nullptr));
    constexpr std::size_t number = 4;
    std::vector<Ref<Comm>> made(number);
    std::vector<Ref<Request>> requests;
    for (std::size_t i = 0; i < number; ++i) {
      Comm& parent = i % 2 == 0 ? *t.world : *other;
      requests.push_back(*t.factory.idup(
          parent, nullptr, [&made, i](Ref<Comm> comm) { made[i] = std::move(comm); }));
    }
    t.expect_intra(*t.world, range(0, t.size));  // the parent is in use meanwhile
    for (std::size_t i = 0; i < number; ++i) {
      const std::size_t turn = (i + static_cast<std::size_t>(t.rank)) % number;
      t.engine.wait(*requests[turn]);
      EXPECT_EQ(requests[turn]->error(), nullptr);
    }
    for (std::size_t i = 0; i < number; ++i) {
      ASSERT_NE(made[i].get(), nullptr);
      t.expect_intra(*made[i], range(0, t.size));
      t.expect_isolated(*t.world, *made[i]);
      t.expect_isolated(*made[0], *made[i == 0 ? 1 : i]);
    }
  });
}

TEST(Idup, copies_attributes_when_it_is_called) {
  for_rank_counts([](CommTester& t) {
    core::Object* seen = nullptr;
    char places[3];
    const auto keyval = make_keyval(700, false, &seen);
    ASSERT_TRUE(t.world->attributes().set(*t.world, keyval, &places[0]).ok());
    Ref<Comm> child;
    const auto request =
        *t.factory.idup(*t.world, nullptr, [&](Ref<Comm> comm) { child = std::move(comm); });
    ASSERT_TRUE(t.world->attributes().set(*t.world, keyval, &places[1]).ok());
    t.engine.wait(*request);
    EXPECT_EQ(attribute(*child, 700), &places[1]);  // places[0] + 1
  });
}

TEST(Dup, of_an_intercommunicator) {
  for_rank_counts(
      [](CommTester& t) {
        const auto low = range(0, 1);
        const auto high = range(1, t.size);
        const auto inter = make_inter(t, 1);
        const auto child = t.made(t.factory.dup(*inter, nullptr));
        Ref<Comm> late;
        const auto request =
            *t.factory.idup(*child, nullptr, [&](Ref<Comm> comm) { late = std::move(comm); });
        t.engine.wait(*request);
        for (Comm* comm : {inter.get(), child.get(), late.get()}) {
          t.rank == 0 ? t.expect_inter(*comm, low, high) : t.expect_inter(*comm, high, low);
        }
        EXPECT_EQ(child->compare(*inter), core::Comparison::congruent);
        EXPECT_NE(child->context(), inter->context());
        EXPECT_NE(child->local().context(), inter->local().context());
        EXPECT_NE(child->id(), inter->id());
      },
      2);
}

}  // namespace
}  // namespace hawser::comm_ops
