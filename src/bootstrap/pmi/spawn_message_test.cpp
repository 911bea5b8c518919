#include "bootstrap/pmi/spawn_message.hpp"

#include <gtest/gtest.h>

namespace hawser::bootstrap::pmi {
namespace {

TEST(SpawnMessage, SaysOneThingALine) {
  const SpawnRequest request{
      .programs = {{{"./first", "two words", "a=b"}, 2, "/home"}, {{"second"}, 1, "/tmp"}},
      .environment = {}};
  const std::vector<std::string> texts{"1.00ff"};
  EXPECT_EQ(*spawn_lines(request, texts),
            "mcmd=spawn\nnprocs=2\nexecname=./first\ntotspawns=2\nspawnssofar=1\narg1=two words\n"
            "arg2=a=b\nargcnt=2\npreput_num=1\npreput_key_0=hawser.spawned.0\n"
            "preput_val_0=1.00ff\ninfo_num=1\ninfo_key_0=wdir\ninfo_val_0=/home\nendcmd\n"
            "mcmd=spawn\nnprocs=1\nexecname=second\ntotspawns=2\nspawnssofar=2\nargcnt=0\n"
            "preput_num=1\npreput_key_0=hawser.spawned.0\npreput_val_0=1.00ff\ninfo_num=1\n"
            "info_key_0=wdir\ninfo_val_0=/tmp\nendcmd");
}

TEST(SpawnMessage, AWordWithANewLineIsRefused) {
  for (const SpawnProgram& program :
       {SpawnProgram{{"program", "a\nb"}, 1, "/"}, SpawnProgram{{"pro\ngram"}, 1, "/"},
        SpawnProgram{{"program"}, 1, "/\n"}}) {
    const auto lines = spawn_lines({.programs = {program}, .environment = {}}, {});
    ASSERT_FALSE(lines.ok());
    EXPECT_EQ(lines.error().code(), static_cast<int>(base::ErrorClass::spawn));
  }
}

TEST(SpawnMessage, VariablesComeOutAsTheyWentIn) {
  const Variables variables{
      {"HAWSER_A", std::string(1000, 'x')}, {"HAWSER_B", ""}, {"HAWSER_C", "=\n"}};
  EXPECT_EQ(unpack_variables(pack_variables(variables)), variables);
  EXPECT_EQ(unpack_variables(pack_variables({})), Variables{});
}

TEST(SpawnMessage, OtherVariablesAreRefused) {
  EXPECT_EQ(unpack_variables(pack_variables({{"LD_PRELOAD", "x"}})), std::nullopt);
  Values cut = pack_variables({{"HAWSER_A", "x"}});
  cut.begin()->second.pop_back();
  EXPECT_EQ(unpack_variables(cut), std::nullopt);
}

}  // namespace
}  // namespace hawser::bootstrap::pmi
