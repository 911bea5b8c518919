#include "dynamic/wire.hpp"

#include <gtest/gtest.h>

#include "bootstrap/hexadecimal.hpp"
#include "dynamic/port.hpp"
#include "dynamic/secret.hpp"

namespace hawser::dynamic {
namespace {

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Member some_member(std::uint32_t index) {
  return {{77, index, 0}, {{"tcp", bytes_of("where tcp is")}, {"tcp.1", bytes_of("")}}};
}

bool operator==(const Member& one, const Member& other) {
  return one.identity == other.identity && one.addresses == other.addresses;
}

/// READ takes what was written whole, and nothing that is shorter or longer.
template <class Read>
void expect_exact(const Bytes& written, Read read) {
  EXPECT_TRUE(read(written).ok());
  for (std::size_t bytes = 0; bytes < written.size(); ++bytes)
    EXPECT_FALSE(read(std::span(written).first(bytes)).ok()) << bytes;
  Bytes longer = written;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(read(longer).ok());
}

TEST(DynamicWire, ReadsWhatWasWrittenAndNothingElse) {
  const Call call{7, fresh_nonce(), some_member(3)};
  const Result<Call> read = read_call(write(call));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->port, 7U);
  EXPECT_EQ(read->nonce, call.nonce);
  EXPECT_TRUE(read->caller == call.caller);
  expect_exact(write(call), read_call);
  expect_exact(write(fresh_nonce()), read_nonce);
  expect_exact(write(Directory{.code = 0, .members = {some_member(0), some_member(9)}}),
               read_directory);
}

TEST(DynamicWire, ADirectoryHasMembersOrSaysWhyNot) {
  const Result<Directory> failed = read_directory(write(Directory{.code = 17, .members = {}}));
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->code, 17);
  EXPECT_FALSE(read_directory(write(Directory{.code = 0, .members = {}})).ok());
  EXPECT_FALSE(read_directory(write(Directory{.code = 17, .members = {some_member(0)}})).ok());
}

TEST(DynamicWire, OtherVersionsAreRefused) {
  Bytes written = write(fresh_nonce());
  written[4] ^= std::byte{2};
  EXPECT_FALSE(read_nonce(written).ok());
}

TEST(DynamicWire, ANoticeCarriesTheOtherDirectoryUnread) {
  const Notice notice{.code = 0,
                      .admission = 5,
                      .key = {.under = 6, .nonce = fresh_nonce(), .key = {}},
                      .directory = bytes_of("anything")};
  const Result<Notice> read = read_notice(write(notice));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->admission, 5U);
  EXPECT_EQ(read->key.under, 6U);
  EXPECT_EQ(read->directory, notice.directory);
}

TEST(PortName, NamesAPort) {
  const Port port{fresh_admission(), some_member(4)};
  const Result<std::string> name = port_name(port);
  ASSERT_TRUE(name.ok());
  const Result<Port> parsed = parse_port_name(*name);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->admission.id, port.admission.id);
  EXPECT_EQ(parsed->admission.key, port.admission.key);
  EXPECT_TRUE(parsed->server == port.server);
}

TEST(PortName, AnythingElseIsNone) {
  const std::string name = *port_name({fresh_admission(), some_member(4)});
  for (std::size_t length = 0; length < name.size(); ++length)
    EXPECT_FALSE(parse_port_name(std::string_view(name).substr(0, length)).ok()) << length;
  EXPECT_FALSE(parse_port_name(name + "00").ok());
  EXPECT_FALSE(parse_port_name("x" + name).ok());
}

TEST(PortName, NobodyWroteALongerOne) {
  Bytes bytes(sizeof(Admission::id), std::byte{1});
  bytes.resize(bytes.size() + sizeof(JobKey));
  Member member = some_member(4);
  for (int i = 0; i < 4; ++i)
    member.addresses.emplace(std::string(1, static_cast<char>('a' + i)), Bytes(250));
  write_member(member, bytes);
  EXPECT_FALSE(parse_port_name("hawser-port-1:" + bootstrap::to_hexadecimal(bytes)).ok());
}

TEST(PortName, HasAnEnd) {
  Port port{fresh_admission(), some_member(4)};
  for (int i = 0; i < 4; ++i)
    port.server.addresses.emplace(std::string(1, static_cast<char>('a' + i)), Bytes(250));
  const Result<std::string> name = port_name(port);
  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().code(), static_cast<int>(ErrorClass::port));
}

TEST(Secret, AKeyIsReadUnderTheKeyThatSealedIt) {
  const Admission admission = fresh_admission();
  const JobKey sealing = fresh_admission().key;
  const SealedKey sealed = seal(admission.key, 3, sealing, fresh_nonce());
  EXPECT_NE(sealed.key, admission.key);
  EXPECT_EQ(unseal(sealed, sealing), admission.key);
  EXPECT_NE(unseal(sealed, fresh_admission().key), admission.key);
}

TEST(Secret, BothSidesMakeTheSameKeyAndEachConnectionAnother) {
  const Admission port = fresh_admission();
  const Nonce caller = fresh_nonce();
  const Nonce answerer = fresh_nonce();
  const Admission one = connection_admission(port, caller, answerer);
  EXPECT_EQ(one.key, connection_admission(port, caller, answerer).key);
  EXPECT_EQ(one.id, connection_admission(port, caller, answerer).id);
  EXPECT_NE(one.key, connection_admission(port, answerer, caller).key);
  EXPECT_NE(one.key, connection_admission(fresh_admission(), caller, answerer).key);
  EXPECT_NE(one.id, port.id);
}

}  // namespace
}  // namespace hawser::dynamic
