#include "launcher/options.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace hawser::launcher {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;
using Words = std::vector<std::string>;

Result<CommandLine> parse(const std::string& text) {
  std::istringstream words(text);
  Words arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  return parse_command_line(arguments);
}

Options parsed(const std::string& text) {
  const auto line = parse(text);
  EXPECT_TRUE(line.ok()) << text << ": " << line.error().sentence();
  return line.ok() ? line->options : Options();
}

std::string refusal(const std::string& text) {
  const auto line = parse(text);
  EXPECT_FALSE(line.ok()) << text;
  return line.ok() ? std::string() : line.error().sentence();
}

TEST(CommandLine, EverySpellingOfTheNumberOfProcesses) {
  for (const char* text :
       {"-n 3 p", "-np 3 p", "-c 3 p", "--np 3 p", "--n 3 p", "-n3 p", "--np=3 p", "-np=3 p"})
    EXPECT_EQ(parsed(text).programs.at(0).processes, 3U) << text;
  EXPECT_EQ(parsed("p").programs.at(0).processes, 1U);
}

TEST(CommandLine, EverySpellingOfGoingOnAfterADeath) {
  for (const char* text : {"--keep-going p", "--enable-recovery p", "-disable-auto-cleanup p",
                           "--with-ft ulfm p", "--with-ft=mpi p", "-with-ft yes p"})
    EXPECT_TRUE(parsed(text).keep_going) << text;
  for (const char* text : {"p", "--with-ft no p"}) EXPECT_FALSE(parsed(text).keep_going) << text;
  EXPECT_NE(refusal("--with-ft perhaps p").find("perhaps"), std::string::npos);
}

TEST(CommandLine, WhatFollowsTheProgramIsTheProgramsOwn) {
  EXPECT_EQ(parsed("-n 2 p -n 4 --tag-output -- x").programs.at(0).command,
            (Words{"p", "-n", "4", "--tag-output", "--", "x"}));
  EXPECT_FALSE(parsed("p -l").tag_output);
  EXPECT_EQ(parsed("-n 2 -- -strange-name").programs.at(0).command, Words{"-strange-name"});
}

TEST(CommandLine, SeveralPrograms) {
  const Options options = parsed("-n 2 --wdir /a p 1 : -l -n 3 -wdir /b q 2 : r");
  ASSERT_EQ(options.programs.size(), 3U);
  EXPECT_EQ(options.processes(), 6U);
  EXPECT_EQ(options.programs[0].directory, "/a");
  EXPECT_EQ(options.programs[1].directory, "/b");
  EXPECT_EQ(options.programs[2].directory, "");
  EXPECT_EQ(options.programs[1].command, (Words{"q", "2"}));
  EXPECT_TRUE(options.tag_output);
  std::vector<std::uint32_t> program_of;
  for (std::uint32_t rank = 0; rank < 6; ++rank) program_of.push_back(options.program_of(rank));
  EXPECT_EQ(program_of, (std::vector<std::uint32_t>{0, 0, 1, 1, 1, 2}));
}

TEST(CommandLine, Environment) {
  const Options options =
      parsed("--env A=1 -x B=x=y -x PATH -env C 3 -genv A 0 p : --env D= -genv Z 26 q");
  EXPECT_EQ(options.programs.at(0).environment,
            (Variables{{"A", "0"}, {"Z", "26"}, {"A", "1"}, {"B", "x=y"}, {"C", "3"}}));
  EXPECT_EQ(options.programs.at(1).environment, (Variables{{"A", "0"}, {"Z", "26"}, {"D", ""}}));
  EXPECT_NE(refusal("--env =1 p"), "");
  EXPECT_NE(refusal("-genv A=B 1 p"), "");
}

TEST(CommandLine, OneDashIsEnoughForLongOptions) {
  const Options options = parsed("-timeout 1.5 -bind-to core -prefix -verbose p");
  EXPECT_EQ(options.timeout_ns, 1'500'000'000U);
  EXPECT_EQ(options.bind_to, BindTo::core);
  EXPECT_TRUE(options.tag_output);
  EXPECT_TRUE(options.verbose);
}

TEST(CommandLine, OptionsOfOtherLaunchersThatAreAlwaysSo) {
  EXPECT_EQ(parsed("--oversubscribe --allow-run-as-root -n 2 p").processes(), 2U);
}

TEST(CommandLine, RefusalsNameValueAndRange) {
  for (const char* number : {"0", "-1", "65537", "99999999999999", "two", "2x", "1.5"})
    EXPECT_NE(refusal(std::string("-n ") + number + " p").find(number), std::string::npos);
  EXPECT_NE(refusal("-n 0 p").find("1 to 65536"), std::string::npos);
  EXPECT_NE(refusal("-n 65536 p : q").find("65536"), std::string::npos);
  EXPECT_NE(refusal("--bind-to moon p").find("'moon'"), std::string::npos);
  for (const char* seconds : {"0", "-1", "soon", "nan", "1e99"})
    EXPECT_NE(refusal(std::string("--timeout ") + seconds + " p").find("timeout"),
              std::string::npos);
  EXPECT_NE(refusal("--tag p").find("'--tag'"), std::string::npos);
  for (const char* text : {"", "-n 2", "p :", ": p", "p : : q", "-n"}) EXPECT_NE(refusal(text), "");
}

TEST(CommandLine, SettingsOfAllProgramsAreOfTheJob) {
  const auto line = parse("--set a.b=1=2 p : --set c= q");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->options.settings, (Words{"a.b=1=2", "c="}));
  for (const char* text : {"--set a p", "--set =1 p"}) EXPECT_NE(refusal(text), "");
}

TEST(CommandLine, HelpAndVersionNeedNoProgram) {
  EXPECT_NE(parse("--help")->text->find("--bind-to"), std::string::npos);
  EXPECT_EQ(parse("--help")->text->find("env-pair"), std::string::npos);
  EXPECT_EQ(parse("-version")->text->find("mpirun (Hawser) "), 0U);
  EXPECT_FALSE(parse("p --help")->text.has_value());
}

}  // namespace
}  // namespace hawser::launcher
