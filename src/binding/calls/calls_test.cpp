// The bindings as a program sees them, in a process whose job is a stand-in: arguments that are
// right and wrong, error handlers, and what needs no communication.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "binding/call.hpp"

namespace hawser::binding {
namespace {

/// A job of four processes, of which this is rank 1. It can't end.
class StandIn : public Job {
 public:
  void abort(int, std::string_view) override { std::_Exit(99); }
  int world_rank() const override { return 1; }
  base::Identity identity() const override { return {7, 1, 0}; }
};

class Calls : public testing::Test {
 protected:
  Calls() : world_(describe(4)), self_(describe(1)) {
    Runtime& runtime = Runtime::get();
    world_->set_name("MPI_COMM_WORLD");
    runtime.set_predefined(raw_handle(MPI_COMM_WORLD), world_.get());
    runtime.set_predefined(raw_handle(MPI_COMM_SELF), self_.get());
    runtime.attach(nullptr, &job_);
    runtime.set_phase(Phase::running);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  }
  ~Calls() override {
    Runtime& runtime = Runtime::get();
    runtime.set_predefined(raw_handle(MPI_COMM_WORLD), nullptr);
    runtime.set_predefined(raw_handle(MPI_COMM_SELF), nullptr);
    runtime.attach(nullptr, nullptr);
    runtime.set_phase(Phase::before_init);
  }

  static Ref<core::Comm> describe(int size) {
    core::Comm::Description description;
    description.group = core::Group::of_stride(7, size == 1 ? 1 : 0, 1, size);
    description.rank = size == 1 ? 0 : 1;
    description.errhandler = Ref<core::Errhandler>::share(&Runtime::get().errors_are_fatal());
    return base::make_ref<core::Comm>(std::move(description));
  }

  StandIn job_;
  Ref<core::Comm> world_;
  Ref<core::Comm> self_;
};
using CallsDeathTest = Calls;

TEST_F(Calls, WrongHandlesAreErrors) {
  int value = 0;
  EXPECT_EQ(MPI_Comm_rank(MPI_COMM_NULL, &value), MPI_ERR_COMM);
  EXPECT_EQ(MPI_Comm_rank(c_handle<core::Comm>(0x209), &value), MPI_ERR_COMM);
  EXPECT_EQ(MPI_Comm_rank(c_handle<core::Comm>(0xdeadbeefcafe), &value), MPI_ERR_COMM);
  EXPECT_EQ(MPI_Comm_rank(MPI_COMM_WORLD, nullptr), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Type_size(MPI_DATATYPE_NULL, &value), MPI_ERR_TYPE);
  EXPECT_EQ(MPI_Group_size(MPI_GROUP_NULL, &value), MPI_ERR_GROUP);
  EXPECT_EQ(MPI_Op_commutative(MPI_OP_NULL, &value), MPI_ERR_OP);
  EXPECT_EQ(MPI_Info_get_nkeys(MPI_INFO_NULL, &value), MPI_ERR_INFO);
}

TEST_F(Calls, FreedHandlesAreErrors) {
  MPI_Info info = MPI_INFO_NULL;
  ASSERT_EQ(MPI_Info_create(&info), MPI_SUCCESS);
  const MPI_Info stale = info;
  ASSERT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
  EXPECT_EQ(info, MPI_INFO_NULL);
  int keys = 0;
  EXPECT_EQ(MPI_Info_get_nkeys(stale, &keys), MPI_ERR_INFO);
}

TEST_F(CallsDeathTest, FatalErrorsSayWhatIsWrong) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  int size = 0;
  EXPECT_EXIT(MPI_Comm_remote_size(MPI_COMM_WORLD, &size), testing::ExitedWithCode(99),
              "hawser: \\[rank 1\\] MPI_Comm_remote_size: .* \\(MPI_ERR_COMM\\)");
}

TEST(CallsBeforeInitDeathTest, SayThatMpiIsNotInitialized) {
  int size = 0;
  EXPECT_EXIT(MPI_Comm_size(MPI_COMM_WORLD, &size), testing::ExitedWithCode(MPI_ERR_OTHER),
              "hawser: MPI_Comm_size: MPI is not initialized");
}

TEST_F(Calls, MissingFunctionsNameThemselves) {
  int maps = 0;
  const int dims = 4;
  EXPECT_EQ(MPI_Cart_map(MPI_COMM_WORLD, 1, &dims, &dims, &maps), MPI_ERR_UNSUPPORTED_OPERATION);
}

TEST_F(Calls, ToolsMustInitializeTheirInterface) {
  int number = 0;
  EXPECT_EQ(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  EXPECT_EQ(MPI_T_event_get_source(nullptr, &number), MPI_T_ERR_NOT_INITIALIZED);
  EXPECT_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
}

MPI_Comm handler_comm;
int handler_code;
void remember(MPI_Comm* comm, int* code, ...) {
  handler_comm = *comm;
  handler_code = *code;
}

TEST_F(Calls, UserErrorHandlersGetHandleAndCode) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  ASSERT_EQ(MPI_Comm_create_errhandler(remember, &handler), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_SUCCESS);
  MPI_Errhandler again = MPI_ERRHANDLER_NULL;
  ASSERT_EQ(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &again), MPI_SUCCESS);
  EXPECT_EQ(again, handler);
  MPI_Errhandler_free(&again);
  MPI_Errhandler_free(&handler);
  int size = 0;
  EXPECT_EQ(MPI_Comm_remote_size(MPI_COMM_WORLD, &size), MPI_ERR_COMM);
  EXPECT_EQ(handler_comm, MPI_COMM_WORLD);
  EXPECT_EQ(handler_code, MPI_ERR_COMM);
  EXPECT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG), MPI_SUCCESS);
  EXPECT_EQ(handler_code, MPI_ERR_TAG);
}

TEST_F(Calls, GroupsOfACommunicatorAreShared) {
  MPI_Group first = MPI_GROUP_NULL;
  MPI_Group second = MPI_GROUP_NULL;
  ASSERT_EQ(MPI_Comm_group(MPI_COMM_WORLD, &first), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_group(MPI_COMM_WORLD, &second), MPI_SUCCESS);
  int rank = -1;
  ASSERT_EQ(MPI_Group_free(&first), MPI_SUCCESS);
  EXPECT_EQ(MPI_Group_rank(second, &rank), MPI_SUCCESS);
  EXPECT_EQ(rank, 1);
  int ranges[1][3] = {{0, 3, 3}};
  MPI_Group ends = MPI_GROUP_NULL;
  ASSERT_EQ(MPI_Group_range_incl(second, 1, ranges, &ends), MPI_SUCCESS);
  const int ranks[] = {1, MPI_PROC_NULL};
  int translated[2] = {};
  ASSERT_EQ(MPI_Group_translate_ranks(ends, 2, ranks, second, translated), MPI_SUCCESS);
  EXPECT_EQ(translated[0], 3);
  EXPECT_EQ(translated[1], MPI_PROC_NULL);
  MPI_Group none = MPI_GROUP_NULL;
  ASSERT_EQ(MPI_Group_incl(second, 0, nullptr, &none), MPI_SUCCESS);
  EXPECT_EQ(none, MPI_GROUP_EMPTY);
  EXPECT_EQ(MPI_Group_free(&none), MPI_SUCCESS);
  MPI_Group_free(&ends);
  MPI_Group_free(&second);
}

TEST_F(Calls, InfoStringsAreCutToTheirRoom) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  ASSERT_EQ(MPI_Info_set(info, "color", "ultramarine"), MPI_SUCCESS);
  char value[16] = "untouched";
  int flag = 0;
  int room = 0;
  ASSERT_EQ(MPI_Info_get_string(info, "color", &room, value, &flag), MPI_SUCCESS);
  EXPECT_EQ(room, 12);
  EXPECT_STREQ(value, "untouched");
  room = 6;
  MPI_Info_get_string(info, "color", &room, value, &flag);
  EXPECT_STREQ(value, "ultra");
  EXPECT_EQ(room, 12);
  MPI_Info_get(info, "color", 3, value, &flag);
  EXPECT_STREQ(value, "ult");
  EXPECT_EQ(MPI_Info_delete(info, "shape"), MPI_ERR_INFO_NOKEY);
  EXPECT_EQ(MPI_Info_set(MPI_INFO_ENV, "a", "b"), MPI_ERR_INFO);
  MPI_Info_free(&info);
}

int deleted_value;
int delete_attribute(MPI_Comm, int, void* value, void* extra) {
  deleted_value = *static_cast<int*>(value) + *static_cast<int*>(extra);
  return MPI_SUCCESS;
}

TEST_F(Calls, AttributesAreKeptAndDeleted) {
  int extra = 100;
  int value = 5;
  int keyval = 0;
  ASSERT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &keyval, &extra),
            MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &value), MPI_SUCCESS);
  void* found = nullptr;
  int flag = 0;
  ASSERT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &found, &flag), MPI_SUCCESS);
  EXPECT_EQ(found, &value);
  ASSERT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval), MPI_SUCCESS);
  EXPECT_EQ(deleted_value, 105);
  const int old = keyval;
  ASSERT_EQ(MPI_Comm_free_keyval(&keyval), MPI_SUCCESS);
  EXPECT_EQ(keyval, MPI_KEYVAL_INVALID);
  EXPECT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, old, &found, &flag), MPI_ERR_KEYVAL);
  int* tag_ub = nullptr;
  ASSERT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag), MPI_SUCCESS);
  ASSERT_EQ(flag, 1);
  EXPECT_EQ(*tag_ub, 0x7fffffff);
  EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value), MPI_ERR_KEYVAL);
}

TEST_F(Calls, LargeAndSmallCountsMakeTheSameType) {
  const int lengths[] = {1, 2};
  const int offsets[] = {0, 4};
  const MPI_Count large_lengths[] = {1, 2};
  const MPI_Count large_offsets[] = {0, 4};
  MPI_Datatype small = MPI_DATATYPE_NULL;
  MPI_Datatype large = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_indexed(2, lengths, offsets, MPI_INT, &small), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_indexed_c(2, large_lengths, large_offsets, MPI_INT, &large), MPI_SUCCESS);
  for (MPI_Datatype* type : {&small, &large}) {
    int size = 0;
    EXPECT_EQ(MPI_Type_size(*type, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 12);
    MPI_Count lower = -1;
    MPI_Count extent = 0;
    EXPECT_EQ(MPI_Type_get_extent_x(*type, &lower, &extent), MPI_SUCCESS);
    EXPECT_EQ(lower, 0);
    EXPECT_EQ(extent, 24);
  }
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  EXPECT_EQ(MPI_Type_get_envelope(large, &integers, &addresses, &types, &combiner), MPI_ERR_TYPE);
  EXPECT_EQ(MPI_Type_get_envelope(small, &integers, &addresses, &types, &combiner), MPI_SUCCESS);
  EXPECT_EQ(combiner, MPI_COMBINER_INDEXED);
  EXPECT_EQ(integers, 5);
  char packed[64];
  int position = 0;
  EXPECT_EQ(MPI_Pack(lengths, 1, small, packed, 64, &position, MPI_COMM_WORLD), MPI_ERR_TYPE)
      << "not committed";
  EXPECT_EQ(MPI_Type_free(&small), MPI_SUCCESS);
  EXPECT_EQ(MPI_Type_free(&large), MPI_SUCCESS);
  EXPECT_EQ(small, MPI_DATATYPE_NULL);
  MPI_Datatype predefined = MPI_INT;
  EXPECT_EQ(MPI_Type_free(&predefined), MPI_ERR_TYPE);
}

TEST_F(Calls, SizesThatDoNotFitAreUndefined) {
  MPI_Datatype huge = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_contiguous_c(MPI_Count{1} << 40, MPI_BYTE, &huge), MPI_SUCCESS);
  int small = 0;
  MPI_Count large = 0;
  EXPECT_EQ(MPI_Type_size(huge, &small), MPI_SUCCESS);
  EXPECT_EQ(small, MPI_UNDEFINED);
  EXPECT_EQ(MPI_Type_size_c(huge, &large), MPI_SUCCESS);
  EXPECT_EQ(large, MPI_Count{1} << 40);
  MPI_Type_free(&huge);
}

TEST_F(Calls, PackedDataComesBack) {
  const double in[3] = {1, 2, 3};
  double out[3] = {};
  char buffer[24];
  int position = 0;
  ASSERT_EQ(MPI_Pack(in, 3, MPI_DOUBLE, buffer, 24, &position, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(position, 24);
  EXPECT_EQ(MPI_Pack(in, 1, MPI_DOUBLE, buffer, 24, &position, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
  position = 0;
  ASSERT_EQ(MPI_Unpack(buffer, 24, &position, out, 3, MPI_DOUBLE, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_TRUE(std::equal(in, in + 3, out));
  EXPECT_EQ(MPI_Pack(in, -1, MPI_DOUBLE, buffer, 24, &position, MPI_COMM_WORLD), MPI_ERR_COUNT);
  EXPECT_EQ(MPI_Pack(nullptr, 1, MPI_DOUBLE, buffer, 24, &position, MPI_COMM_WORLD),
            MPI_ERR_BUFFER);
}

TEST_F(Calls, StatusesKeepWhatUsersSet) {
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  status.MPI_ERROR = 17;
  ASSERT_EQ(MPI_Status_set_source(&status, 3), MPI_SUCCESS);
  ASSERT_EQ(MPI_Status_set_cancelled(&status, 1), MPI_SUCCESS);
  ASSERT_EQ(MPI_Status_set_elements_c(&status, MPI_INT, MPI_Count{1} << 33), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, 3);
  EXPECT_EQ(status.MPI_ERROR, 17);
  int flag = 0;
  MPI_Test_cancelled(&status, &flag);
  EXPECT_EQ(flag, 1);
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT_EQ(count, MPI_UNDEFINED);
  MPI_Count large = 0;
  MPI_Get_elements_c(&status, MPI_INT, &large);
  EXPECT_EQ(large, MPI_Count{1} << 33);
}

void add_items(void* in, void* inout, int* length, MPI_Datatype* type) {
  EXPECT_EQ(*type, MPI_INT);
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

TEST_F(Calls, OperationsOfUsersGetRealHandles) {
  MPI_Op op = MPI_OP_NULL;
  ASSERT_EQ(MPI_Op_create(add_items, 0, &op), MPI_SUCCESS);
  int commutes = 1;
  MPI_Op_commutative(op, &commutes);
  EXPECT_EQ(commutes, 0);
  const int in[2] = {1, 2};
  int inout[2] = {10, 20};
  ASSERT_EQ(MPI_Reduce_local(in, inout, 2, MPI_INT, op), MPI_SUCCESS);
  EXPECT_EQ(inout[1], 22);
  ASSERT_EQ(MPI_Reduce_local(in, inout, 2, MPI_INT, MPI_SUM), MPI_SUCCESS);
  EXPECT_EQ(inout[0], 12);
  EXPECT_EQ(MPI_Reduce_local(in, inout, 2, MPI_FLOAT, MPI_BAND), MPI_ERR_OP);
  ASSERT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
  MPI_Op sum = MPI_SUM;
  EXPECT_EQ(MPI_Op_free(&sum), MPI_ERR_OP);
}

TEST_F(Calls, IntegersStandForHandles) {
  EXPECT_EQ(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
  EXPECT_EQ(MPI_Comm_fromint(0x101), MPI_COMM_WORLD);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  const int integer = MPI_Info_toint(info);
  EXPECT_GE(integer, 0x1000);
  EXPECT_EQ(MPI_Info_fromint(integer), info);
  MPI_Info_free(&info);
  EXPECT_EQ(MPI_Info_fromint(integer), MPI_INFO_NULL);
}

}  // namespace
}  // namespace hawser::binding
