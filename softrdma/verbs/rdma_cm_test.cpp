// The connection manager as librdmacm uses it: commands written to its device, here by a process
// that connects to itself. These tests come after those of linked_test.cpp, as files are taken in
// the order of their names: the device of the list that they make has all addresses of the host.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "softrdma/verbs/cm_events.hpp"

namespace softrdma::verbs {
namespace {

constexpr const char* node = "/dev/infiniband/rdma_cm";
constexpr int patience_ms = 10'000;

/// Writes a command to a channel: 0 or an errno.
template <class Command>
int give_to(int descriptor, std::uint32_t number, const Command& command,
            std::size_t answer_bytes = 0) {
  struct {
    rdma_ucm_cmd_hdr header;
    Command command;
  } written{{number, sizeof(Command), static_cast<std::uint16_t>(answer_bytes)}, command};
  return ::write(descriptor, &written, sizeof(written)) == sizeof(written) ? 0 : errno;
}

/// An event channel, and the commands that these tests give.
class TestChannel {
 public:
  explicit TestChannel(int flags = O_RDWR | O_CLOEXEC) : descriptor_(::open(node, flags)) {}
  ~TestChannel() { ::close(descriptor_); }
  TestChannel(const TestChannel&) = delete;
  TestChannel& operator=(const TestChannel&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  template <class Command>
  int give(std::uint32_t number, const Command& command, std::size_t answer_bytes = 0) const {
    return give_to(descriptor_, number, command, answer_bytes);
  }
  template <class Command, class Answer>
  int ask(std::uint32_t number, Command command, Answer* answer) const {
    command.response = reinterpret_cast<std::uint64_t>(answer);
    return give(number, command, sizeof(*answer));
  }

  std::uint32_t create(rdma_ucm_port_space space = RDMA_PS_TCP, std::uint64_t uid = 7) const {
    rdma_ucm_create_id command{};
    command.uid = uid;
    command.ps = static_cast<std::uint16_t>(space);
    command.qp_type = space == RDMA_PS_TCP ? IBV_QPT_RC : IBV_QPT_UD;
    rdma_ucm_create_id_resp answer{};
    EXPECT_EQ(ask(RDMA_USER_CM_CMD_CREATE_ID, command, &answer), 0);
    return answer.id;
  }
  /// Returns how many events were reported.
  std::uint32_t destroy(std::uint32_t id) const {
    rdma_ucm_destroy_id command{};
    command.id = id;
    rdma_ucm_destroy_id_resp answer{};
    EXPECT_EQ(ask(RDMA_USER_CM_CMD_DESTROY_ID, command, &answer), 0);
    return answer.events_reported;
  }
  int bind(std::uint32_t id, const char* address, std::uint16_t port) const {
    rdma_ucm_bind_ip command{};
    command.id = id;
    fill(&command.addr, address, port);
    return give(RDMA_USER_CM_CMD_BIND_IP, command);
  }
  int listen(std::uint32_t id, std::uint32_t backlog = 0) const {
    return give(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{.id = id, .backlog = backlog});
  }
  int resolve(std::uint32_t id, const char* address, std::uint16_t port) const {
    rdma_ucm_resolve_ip command{};
    command.id = id;
    fill(&command.dst_addr, address, port);
    return give(RDMA_USER_CM_CMD_RESOLVE_IP, command);
  }
  [[nodiscard]] rdma_ucm_query_route_resp route(std::uint32_t id) const {
    rdma_ucm_query command{};
    command.id = id;
    rdma_ucm_query_route_resp answer{};
    EXPECT_EQ(ask(RDMA_USER_CM_CMD_QUERY_ROUTE, command, &answer), 0);
    return answer;
  }
  int connect(std::uint32_t id, std::string_view data = {}) const {
    rdma_ucm_connect command{};
    command.id = id;
    command.conn_param = parameters(17, data);
    return give(RDMA_USER_CM_CMD_CONNECT, command);
  }
  int accept(std::uint32_t id, std::uint64_t uid, std::string_view data = {}) const {
    rdma_ucm_accept command{};
    command.id = id;
    command.uid = uid;
    command.conn_param = parameters(18, data);
    return give(RDMA_USER_CM_CMD_ACCEPT, command);
  }
  int confirm(std::uint32_t id) const {
    rdma_ucm_accept command{};
    command.id = id;
    return give(RDMA_USER_CM_CMD_ACCEPT, command);
  }
  int reject(std::uint32_t id, std::string_view data) const {
    rdma_ucm_reject command{};
    command.id = id;
    command.private_data_len = static_cast<std::uint8_t>(data.size());
    std::ranges::copy(data, command.private_data);
    return give(RDMA_USER_CM_CMD_REJECT, command);
  }
  int disconnect(std::uint32_t id) const {
    return give(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{.id = id});
  }
  [[nodiscard]] ib_uverbs_qp_attr attributes(std::uint32_t id, ibv_qp_state state) const {
    rdma_ucm_init_qp_attr command{};
    command.id = id;
    command.qp_state = state;
    ib_uverbs_qp_attr answer{};
    EXPECT_EQ(ask(RDMA_USER_CM_CMD_INIT_QP_ATTR, command, &answer), 0);
    return answer;
  }
  [[nodiscard]] bool is_readable(int wait_ms) const {
    pollfd waited{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return ::poll(&waited, 1, wait_ms) == 1;
  }
  /// The next event, which has to be of that TYPE.
  rdma_ucm_event_resp expect(std::uint32_t type) const {
    rdma_ucm_event_resp event{};
    EXPECT_TRUE(is_readable(patience_ms)) << type;
    EXPECT_EQ(ask(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, &event), 0);
    EXPECT_EQ(event.event, type);
    return event;
  }
  /// Ready to connect to PORT of this host.
  [[nodiscard]] std::uint32_t resolved(std::uint16_t port,
                                       rdma_ucm_port_space space = RDMA_PS_TCP) const {
    const std::uint32_t id = create(space, 9);
    EXPECT_EQ(resolve(id, "127.0.0.1", port), 0);
    expect(cm_event::address_resolved);
    EXPECT_EQ(
        give(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{.id = id, .timeout_ms = 1}), 0);
    expect(cm_event::route_resolved);
    return id;
  }
  /// Listens on a port that it chooses.
  [[nodiscard]] std::uint32_t listener(std::uint16_t* port,
                                       rdma_ucm_port_space space = RDMA_PS_TCP) const {
    const std::uint32_t id = create(space, 8);
    EXPECT_EQ(bind(id, "0.0.0.0", 0), 0);
    EXPECT_EQ(listen(id), 0);
    sockaddr_in address{};
    const rdma_ucm_query_route_resp shown = route(id);
    std::memcpy(&address, &shown.src_addr, sizeof(address));
    *port = ntohs(address.sin_port);
    return id;
  }

 private:
  static void fill(sockaddr_in6* out, const char* address, std::uint16_t port) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    ::inet_pton(AF_INET, address, &ipv4.sin_addr);
    std::memcpy(out, &ipv4, sizeof(ipv4));
  }
  static rdma_ucm_conn_param parameters(std::uint32_t queue_pair, std::string_view data) {
    rdma_ucm_conn_param out{};
    out.qp_num = queue_pair;
    out.responder_resources = 2;
    out.initiator_depth = 3;
    out.retry_count = 7;
    out.rnr_retry_count = 6;
    out.valid = 1;
    out.private_data_len = static_cast<std::uint8_t>(data.size());
    std::ranges::copy(data, out.private_data);
    return out;
  }

  const int descriptor_;
};

bool begins_with(const std::uint8_t* data, std::string_view wanted) {
  return std::memcmp(data, wanted.data(), wanted.size()) == 0;
}

TEST(ConnectionCommands, DeviceLooksLikeOne) {
  const TestChannel channel;
  ASSERT_GE(channel.descriptor(), 0);
  struct stat shown {};
  ASSERT_EQ(::fstat(channel.descriptor(), &shown), 0);
  EXPECT_TRUE(S_ISCHR(shown.st_mode));
}

TEST(ConnectionCommands, ConnectionIsMadeUsedAndEndedWithPrivateData) {
  const TestChannel passive;
  const TestChannel active;
  std::uint16_t port = 0;
  const std::uint32_t listening = passive.listener(&port);
  const std::uint32_t id = active.resolved(port);
  EXPECT_EQ(active.route(id).num_paths, 1U);
  EXPECT_NE(active.route(id).node_guid, 0U);
  ASSERT_EQ(active.connect(id, "from the client"), 0);

  const rdma_ucm_event_resp request = passive.expect(cm_event::connect_request);
  EXPECT_EQ(request.uid, 8U);
  EXPECT_EQ(request.param.conn.qp_num, 17U);
  EXPECT_EQ(request.param.conn.responder_resources, 3);
  EXPECT_TRUE(begins_with(request.param.conn.private_data, "from the client"));
  const std::uint32_t child = request.id;
  const ib_uverbs_qp_attr to_receive = passive.attributes(child, IBV_QPS_RTR);
  EXPECT_EQ(to_receive.dest_qp_num, 17U);
  ASSERT_EQ(passive.accept(child, 10, "from the server"), 0);

  const rdma_ucm_event_resp reply = active.expect(cm_event::connect_response);
  EXPECT_EQ(reply.uid, 9U);
  EXPECT_TRUE(begins_with(reply.param.conn.private_data, "from the server"));
  const ib_uverbs_qp_attr to_send = active.attributes(id, IBV_QPS_RTS);
  EXPECT_EQ(to_send.sq_psn, to_receive.rq_psn);
  EXPECT_EQ(active.attributes(id, IBV_QPS_RTR).dest_qp_num, 18U);
  ASSERT_EQ(active.confirm(id), 0);
  EXPECT_EQ(passive.expect(cm_event::established).uid, 10U);

  ASSERT_EQ(active.disconnect(id), 0);
  passive.expect(cm_event::disconnected);
  ASSERT_EQ(passive.disconnect(child), 0);
  active.expect(cm_event::disconnected);
  active.expect(cm_event::time_wait_exit);
  EXPECT_EQ(active.disconnect(id), EINVAL);
  EXPECT_EQ(active.destroy(id), 5U);
  EXPECT_EQ(passive.destroy(listening), 1U);
}

TEST(ConnectionCommands, RejectionComesWithItsReasonAndData) {
  const TestChannel channel;
  std::uint16_t port = 0;
  const std::uint32_t listening = channel.listener(&port);
  const std::uint32_t id = channel.resolved(port);
  ASSERT_EQ(channel.connect(id), 0);
  const std::uint32_t child = channel.expect(cm_event::connect_request).id;
  ASSERT_EQ(channel.reject(child, "no"), 0);
  const rdma_ucm_event_resp event = channel.expect(cm_event::rejected);
  constexpr std::uint32_t consumer = 28;
  EXPECT_EQ(event.status, consumer);
  EXPECT_TRUE(begins_with(event.param.conn.private_data, "no"));
  channel.destroy(listening);
}

TEST(ConnectionCommands, PortThatNobodyListensOnRejects) {
  const TestChannel channel;
  std::uint16_t port = 0;
  channel.destroy(channel.listener(&port));
  ASSERT_EQ(channel.connect(channel.resolved(port)), 0);
  constexpr std::uint32_t unknown_service = 8;
  EXPECT_EQ(channel.expect(cm_event::rejected).status, unknown_service);
}

TEST(ConnectionCommands, RequestsThatNobodyFetchedGoWithTheListener) {
  const TestChannel channel;
  const TestChannel client;
  std::uint16_t port = 0;
  const std::uint32_t listening = channel.listener(&port);
  ASSERT_EQ(client.connect(client.resolved(port)), 0);
  ASSERT_TRUE(channel.is_readable(patience_ms));
  EXPECT_EQ(channel.destroy(listening), 0U);
  EXPECT_FALSE(channel.is_readable(0));
  client.expect(cm_event::rejected);
}

TEST(ConnectionCommands, ClosingAChannelEndsItsConnections) {
  const TestChannel client;
  std::optional<TestChannel> server(std::in_place);
  std::uint16_t port = 0;
  [[maybe_unused]] const std::uint32_t listening = server->listener(&port);
  const std::uint32_t id = client.resolved(port);
  ASSERT_EQ(client.connect(id), 0);
  ASSERT_EQ(server->accept(server->expect(cm_event::connect_request).id, 1), 0);
  client.expect(cm_event::connect_response);
  ASSERT_EQ(client.confirm(id), 0);
  server->expect(cm_event::established);
  server.reset();
  client.expect(cm_event::disconnected);
}

TEST(ConnectionCommands, PortBelongsToOneIdentifier) {
  const TestChannel channel;
  std::uint16_t port = 0;
  const std::uint32_t first = channel.listener(&port);
  const std::uint32_t second = channel.create();
  EXPECT_EQ(channel.bind(second, "0.0.0.0", port), EADDRINUSE);
  channel.destroy(first);
  EXPECT_EQ(channel.bind(second, "0.0.0.0", port), 0);
  EXPECT_EQ(channel.bind(second, "0.0.0.0", port), EINVAL);
  const std::uint32_t datagrams = channel.create(RDMA_PS_UDP);
  EXPECT_EQ(channel.bind(datagrams, "0.0.0.0", port), 0);
}

TEST(ConnectionCommands, AddressOfAnotherHostIsNotBoundTo) {
  const TestChannel channel;
  EXPECT_EQ(channel.bind(channel.create(), "192.0.2.1", 0), EADDRNOTAVAIL);
}

TEST(ConnectionCommands, DatagramsLearnTheQueuePairOfTheService) {
  const TestChannel channel;
  std::uint16_t port = 0;
  const std::uint32_t listening = channel.listener(&port, RDMA_PS_UDP);
  const std::uint32_t id = channel.resolved(port, RDMA_PS_UDP);
  ASSERT_EQ(channel.connect(id, "hello"), 0);
  const rdma_ucm_event_resp request = channel.expect(cm_event::connect_request);
  EXPECT_TRUE(begins_with(request.param.ud.private_data, "hello"));
  ASSERT_EQ(channel.accept(request.id, 10), 0);
  const rdma_ucm_event_resp event = channel.expect(cm_event::established);
  EXPECT_EQ(event.param.ud.qp_num, 18U);
  EXPECT_EQ(event.param.ud.qkey, 0x01234567U);
  EXPECT_EQ(event.param.ud.ah_attr.port_num, 1);
  channel.destroy(listening);
}

TEST(ConnectionCommands, GroupIsJoinedAndLeft) {
  const TestChannel channel;
  const std::uint32_t id = channel.resolved(1, RDMA_PS_UDP);
  rdma_ucm_join_ip_mcast command{};
  sockaddr_in group{};
  group.sin_family = AF_INET;
  ::inet_pton(AF_INET, "239.77.0.1", &group.sin_addr);
  std::memcpy(&command.addr, &group, sizeof(group));
  command.id = id;
  command.uid = 33;
  rdma_ucm_create_id_resp joined{};
  ASSERT_EQ(channel.ask(RDMA_USER_CM_CMD_JOIN_IP_MCAST, command, &joined), 0);
  const rdma_ucm_event_resp event = channel.expect(cm_event::multicast_join);
  EXPECT_EQ(event.uid, 33U);
  EXPECT_EQ(event.param.ud.qp_num, 0xffffffU);
  EXPECT_EQ(event.param.ud.ah_attr.grh.dgid[12], 239);
  rdma_ucm_destroy_id leave{};
  leave.id = joined.id;
  rdma_ucm_destroy_id_resp left{};
  ASSERT_EQ(channel.ask(RDMA_USER_CM_CMD_LEAVE_MCAST, leave, &left), 0);
  EXPECT_EQ(left.events_reported, 1U);
  EXPECT_EQ(channel.ask(RDMA_USER_CM_CMD_LEAVE_MCAST, leave, &left), ENOENT);
}

TEST(ConnectionCommands, IdentifierTakesItsEventsToAnotherChannel) {
  const TestChannel first;
  const TestChannel second;
  const std::uint32_t id = first.create();
  ASSERT_EQ(first.resolve(id, "127.0.0.1", 5), 0);
  rdma_ucm_migrate_id command{};
  command.id = id;
  command.fd = static_cast<std::uint32_t>(first.descriptor());
  rdma_ucm_migrate_resp answer{};
  ASSERT_EQ(second.ask(RDMA_USER_CM_CMD_MIGRATE_ID, command, &answer), 0);
  EXPECT_EQ(answer.events_reported, 0U);
  EXPECT_FALSE(first.is_readable(0));
  second.expect(cm_event::address_resolved);
  EXPECT_EQ(second.destroy(id), 1U);
}

TEST(ConnectionCommands, NothingToFetchIsToldToWhoDoesNotWait) {
  const TestChannel channel(O_RDWR | O_NONBLOCK);
  rdma_ucm_event_resp event{};
  EXPECT_EQ(channel.ask(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, &event), EAGAIN);
}

TEST(ConnectionCommands, WhatIsCutUnknownOrForNobodyIsRefused) {
  const TestChannel channel;
  const rdma_ucm_cmd_hdr header{RDMA_USER_CM_CMD_LISTEN, 8, 0};
  EXPECT_EQ(::write(channel.descriptor(), &header, sizeof(header)), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(::write(channel.descriptor(), &header, 3), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(channel.give(RDMA_USER_CM_CMD_QUERY, rdma_ucm_query{}), ENOSYS);
  EXPECT_EQ(channel.give(1000, rdma_ucm_query{}), ENOSYS);
  EXPECT_EQ(channel.listen(12345), ENOENT);
  EXPECT_EQ(channel.disconnect(channel.create()), EINVAL);
}

TEST(ConnectionCommands, MoreThanFitsOfPrivateDataIsRefused) {
  const TestChannel channel;
  const std::uint32_t id = channel.resolved(1);
  EXPECT_EQ(channel.connect(id, std::string(57, 'x')), EINVAL);
  EXPECT_EQ(channel.connect(id, std::string(56, 'x')), 0);
}

TEST(ConnectionFiles, NumberOfAClosedChannelIsAnotherFiles) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int number = ::open(node, O_RDWR);
  ASSERT_GE(number, 0);
  ASSERT_EQ(::dup2(ends[1], number), number);
  EXPECT_EQ(::write(number, "abc", 3), 3);
  char got[4]{};
  EXPECT_EQ(::read(ends[0], got, 3), 3);
  EXPECT_STREQ(got, "abc");
  struct stat shown {};
  EXPECT_EQ(::fstat(number, &shown), 0);
  EXPECT_TRUE(S_ISFIFO(shown.st_mode));
  for (const int descriptor : {ends[0], ends[1], number}) EXPECT_EQ(::close(descriptor), 0);
}

/// A thread that fetches an event of a channel without any; shared with it.
struct Fetching {
  static constexpr int not_yet = -1;

  const int descriptor = ::open(node, O_RDWR | O_CLOEXEC);
  std::atomic<int> interruptions = 0;
  std::atomic<int> error = not_yet;

  void fetch() {
    rdma_ucm_event_resp event{};
    const rdma_ucm_get_event command{reinterpret_cast<std::uint64_t>(&event)};
    error = give_to(descriptor, RDMA_USER_CM_CMD_GET_EVENT, command, sizeof(event));
  }
};

std::atomic<Fetching*> interrupted = nullptr;
void count_interruption(int /*signal*/) { ++interrupted.load()->interruptions; }

/// What a thread gets that waits for LEAD_US when its channel is closed, and is interrupted then:
/// Fetching::not_yet if it goes on waiting.
int fetched_while_closed(useconds_t lead_us) {
  const auto fetching = std::make_shared<Fetching>();
  interrupted = fetching.get();
  std::thread thread([fetching] { fetching->fetch(); });
  ::usleep(lead_us);
  EXPECT_EQ(::close(fetching->descriptor), 0);
  // Each time it looks anew at what it waits for.
  for (int signals = 1; signals <= 10 && fetching->error == Fetching::not_yet; ++signals) {
    ::pthread_kill(thread.native_handle(), SIGUSR1);
    for (int ms = 0; ms < patience_ms && fetching->interruptions < signals; ++ms) ::usleep(1000);
    ::usleep(1000);
  }
  thread.detach();
  return fetching->error;
}

TEST(ConnectionFiles, WhoWaitsForAnEventOfAClosedChannelWaitsForEver) {
  struct sigaction before {};
  struct sigaction counted {};
  counted.sa_handler = count_interruption;
  ASSERT_EQ(::sigaction(SIGUSR1, &counted, &before), 0);
  int error = EBADF;  // the thread came only when the channel was closed
  for (useconds_t lead_us = 10'000; error == EBADF && lead_us < 1'000'000; lead_us *= 2)
    error = fetched_while_closed(lead_us);
  EXPECT_EQ(error, Fetching::not_yet);
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST(ConnectionFiles, ChildHasNoDeviceAndTakesNothingFromItsParent) {
  const TestChannel channel;
  const std::uint32_t id = channel.create();
  const pid_t child = ::fork();
  if (child == 0) {
    const int error = channel.listen(id);
    ::close(channel.descriptor());
    ::_exit(error == ENODEV ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(channel.listen(id), 0);
}

}  // namespace
}  // namespace softrdma::verbs
