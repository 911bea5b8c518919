// The tools interface (MPI_T) over the life of a process: every variable and category is walked
// through and read, a parameter that is written before MPI_Init takes effect, counters count the
// messages that were just sent, and sessions do not disturb one another.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tool_checks.hpp"

namespace {

using multirank::check;
using multirank::check_equal;
using multirank::check_text;
using multirank::Counter;
using multirank::cvar_index;
using multirank::garbage;
using multirank::never_given;
using multirank::pvar_index;
using multirank::Text;

constexpr int messages = 25;
constexpr int message_bytes = 300;  // one frame of any channel

void test_before_initialization() {
  int number = garbage;
  check_equal(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED, "cvar_get_num");
  check_equal(MPI_T_pvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED, "pvar_get_num");
  check_equal(MPI_T_category_changed(&number), MPI_T_ERR_NOT_INITIALIZED, "category_changed");
  check_equal(MPI_T_event_get_num(&number), MPI_T_ERR_NOT_INITIALIZED, "event_get_num");
  check_equal(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED, "finalize");
  check_equal(number, garbage, "a result of a refused call");
  check_equal(MPI_T_init_thread(12345, &number), MPI_T_ERR_INVALID, "a thread level");
  check_equal(MPI_T_init_thread(MPI_THREAD_SINGLE, nullptr), MPI_T_ERR_INVALID, "no place");
  check_equal(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED, "refused initializations do not count");
}

void test_counted_initialization() {
  int provided = garbage;
  check_equal(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS, "init");
  check_equal(provided, MPI_THREAD_SINGLE, "provided");
  check_equal(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS, "init again");
  check_equal(provided, MPI_THREAD_MULTIPLE, "provided");
  check_equal(MPI_T_finalize(), MPI_SUCCESS, "finalize once");
  int number = 0;
  check_equal(MPI_T_cvar_get_num(&number), MPI_SUCCESS, "still initialized");
}

void check_enumeration(MPI_T_enum enumeration, int value) {
  int number = 0;
  Text name;
  check_equal(MPI_T_enum_get_info(enumeration, &number, name.text, &name.length), MPI_SUCCESS,
              "enum_get_info");
  check_text(name, "name of an enumeration");
  check(number > 1, "items of an enumeration");
  bool known = false;
  for (int item = 0; item < number; ++item) {
    int item_value = garbage;
    Text item_name;
    check_equal(
        MPI_T_enum_get_item(enumeration, item, &item_value, item_name.text, &item_name.length),
        MPI_SUCCESS, "enum_get_item");
    check_equal(item_name.length, std::strlen(item_name.text) + 1, "name of an item");
    known = known || item_value == value;
  }
  check(known, "a variable's value is an item of its enumeration");
  check_equal(MPI_T_enum_get_item(enumeration, number, nullptr, nullptr, nullptr),
              MPI_T_ERR_INVALID_INDEX, "an item that is not there");
  check_equal(MPI_T_enum_get_item(enumeration, -1, nullptr, nullptr, nullptr),
              MPI_T_ERR_INVALID_INDEX, "an item before the first");
}

/// MPI_Type_size would need MPI.
std::size_t size_of_type(MPI_Datatype type) {
  if (type == MPI_CHAR) return sizeof(char);
  if (type == MPI_INT || type == MPI_UNSIGNED) return sizeof(int);
  check(type == MPI_COUNT || type == MPI_UNSIGNED_LONG_LONG || type == MPI_DOUBLE,
        "a type that a variable may have");
  return sizeof(std::uint64_t);
}

void check_control_variable(int index) {
  Text name;
  Text sentence;
  int verbosity = 0;
  int bind = 0;
  int scope = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum enumeration = never_given<MPI_T_enum>();
  check_equal(MPI_T_cvar_get_info(index, name.text, &name.length, &verbosity, &type, &enumeration,
                                  sentence.text, &sentence.length, &bind, &scope),
              MPI_SUCCESS, "cvar_get_info");
  check_text(name, "name");
  check_text(sentence, name.text);
  check_equal(cvar_index(name.text), index, name.text);
  check_equal(bind, MPI_T_BIND_NO_OBJECT, name.text);
  check(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL,
        name.text);
  check(scope == MPI_T_SCOPE_LOCAL || scope == MPI_T_SCOPE_ALL_EQ, name.text);
  const std::size_t bytes = size_of_type(type);
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  check_equal(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count), MPI_SUCCESS, name.text);
  check(count == 1 || type == MPI_CHAR, name.text);
  std::vector<char> value(bytes * static_cast<std::size_t>(count));
  check_equal(MPI_T_cvar_read(handle, value.data()), MPI_SUCCESS, name.text);
  if (enumeration != MPI_T_ENUM_NULL) {
    check(type == MPI_INT, name.text);
    int item = garbage;
    std::memcpy(&item, value.data(), sizeof(item));
    check_enumeration(enumeration, item);
  }
  check_equal(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS, name.text);
  check(handle == MPI_T_CVAR_HANDLE_NULL, name.text);
}

void check_performance_variable(int index) {
  Text name;
  Text sentence;
  int verbosity = 0;
  int var_class = 0;
  int bind = 0;
  int readonly = garbage;
  int continuous = garbage;
  int atomic = garbage;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum enumeration = never_given<MPI_T_enum>();
  check_equal(MPI_T_pvar_get_info(index, name.text, &name.length, &verbosity, &var_class, &type,
                                  &enumeration, sentence.text, &sentence.length, &bind, &readonly,
                                  &continuous, &atomic),
              MPI_SUCCESS, "pvar_get_info");
  check_text(name, "name");
  check_text(sentence, name.text);
  check_equal(pvar_index(name.text, var_class), index, name.text);
  check_equal(bind, MPI_T_BIND_NO_OBJECT, name.text);
  check(type == MPI_UNSIGNED_LONG_LONG && enumeration == MPI_T_ENUM_NULL, name.text);
  const bool is_sum =
      var_class == MPI_T_PVAR_CLASS_COUNTER || var_class == MPI_T_PVAR_CLASS_AGGREGATE;
  check_equal(continuous, is_sum ? 0 : 1, name.text);
  check_equal(readonly, is_sum ? 0 : 1, name.text);
  check_equal(atomic, is_sum ? 1 : 0, name.text);
  Counter counter(name.text, var_class);
  check(counter.elements() >= 1, name.text);
  if (is_sum) check_equal(counter.read(), 0, name.text);
  counter.read();
}

void test_every_variable() {
  int number = 0;
  check_equal(MPI_T_cvar_get_num(&number), MPI_SUCCESS, "cvar_get_num");
  check(number > 20, "there are control variables");
  for (int index = 0; index < number; ++index) check_control_variable(index);
  check_equal(MPI_T_pvar_get_num(&number), MPI_SUCCESS, "pvar_get_num");
  check(number > 30, "there are performance variables");
  for (int index = 0; index < number; ++index) check_performance_variable(index);
}

/// Adds the members that GET gives of category CATEGORY, of which there are NUMBER.
template <class Get>
void collect(Get get, int category, int number, std::multiset<int>& all) {
  std::vector<int> members(number + 2, garbage);
  check_equal(get(category, number + 2, members.data()), MPI_SUCCESS, "members");
  check_equal(members[number], garbage, "no more members than there are");
  all.insert(members.begin(), members.begin() + number);
  if (number == 0) return;
  std::vector<int> fewer(number, garbage);
  check_equal(get(category, number - 1, fewer.data()), MPI_SUCCESS, "fewer members");
  check_equal(fewer[number - 1], garbage, "no more members than there is room for");
}

std::multiset<int> up_to(int number) {
  std::multiset<int> all;
  for (int i = 0; i < number; ++i) all.insert(i);
  return all;
}

void test_every_category() {
  int categories = 0;
  int changed = garbage;
  int cvars = 0;
  int pvars = 0;
  MPI_T_category_get_num(&categories);
  MPI_T_cvar_get_num(&cvars);
  MPI_T_pvar_get_num(&pvars);
  check_equal(MPI_T_category_changed(&changed), MPI_SUCCESS, "category_changed");
  check_equal(changed, 0, "categories never change");
  std::multiset<int> all_cvars;
  std::multiset<int> all_pvars;
  std::multiset<int> all_categories = {0};  // the root is below none
  for (int category = 0; category < categories; ++category) {
    Text name;
    Text sentence;
    int own_cvars = -1;
    int own_pvars = -1;
    int own_categories = -1;
    int events = -1;
    int index = -1;
    check_equal(MPI_T_category_get_info(category, name.text, &name.length, sentence.text,
                                        &sentence.length, &own_cvars, &own_pvars, &own_categories),
                MPI_SUCCESS, "category_get_info");
    check_text(name, "name of a category");
    check_text(sentence, name.text);
    check_equal(MPI_T_category_get_index(name.text, &index), MPI_SUCCESS, name.text);
    check_equal(index, category, name.text);
    check_equal(MPI_T_category_get_num_events(category, &events), MPI_SUCCESS, name.text);
    check_equal(events, 0, name.text);
    check_equal(MPI_T_category_get_events(category, 1, &index), MPI_SUCCESS, name.text);
    collect(MPI_T_category_get_cvars, category, own_cvars, all_cvars);
    collect(MPI_T_category_get_pvars, category, own_pvars, all_pvars);
    collect(MPI_T_category_get_categories, category, own_categories, all_categories);
  }
  check(all_cvars == up_to(cvars), "each control variable has one category");
  check(all_pvars == up_to(pvars), "each performance variable has one category");
  check(all_categories == up_to(categories), "each category but the root has one above it");
}

template <class Value>
int write(const char* name, const Value& value) {
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  check_equal(MPI_T_cvar_handle_alloc(cvar_index(name), nullptr, &handle, &count), MPI_SUCCESS,
              name);
  const int code = MPI_T_cvar_write(handle, &value);
  MPI_T_cvar_handle_free(&handle);
  return code;
}

template <class Value>
Value read(const char* name) {
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  MPI_T_cvar_handle_alloc(cvar_index(name), nullptr, &handle, &count);
  std::vector<char> bytes(4096);
  check_equal(MPI_T_cvar_read(handle, bytes.data()), MPI_SUCCESS, name);
  MPI_T_cvar_handle_free(&handle);
  Value value{};
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

/// All messages to others shall go over the shared queue.
void test_writing_before_mpi() {
  check_equal(write("shm.queue_slots", MPI_Count{3}), MPI_T_ERR_INVALID, "below its limit");
  check_equal(write("shm.single_copy", 2), MPI_T_ERR_INVALID, "no flag");
  check_equal(write("collective.barrier", 1000), MPI_T_ERR_INVALID, "no algorithm");
  check_equal(write("shm.queue_slots", MPI_Count{32}), MPI_SUCCESS, "queue_slots");
  check_equal(read<MPI_Count>("shm.queue_slots"), 32, "queue_slots");
  check_equal(write("shm.single_copy", 0), MPI_SUCCESS, "single_copy");
  check_equal(read<int>("shm.single_copy"), 0, "single_copy");
  char rules[4096] = "size <= 32K -> self; true -> shared_queue";
  check_equal(write("channel.send_rules", rules), MPI_SUCCESS, "send_rules");
}

void test_writing_while_mpi_runs() {
  check_equal(write("shm.queue_slots", MPI_Count{64}), MPI_T_ERR_CVAR_SET_NOT_NOW, "too late");
  check_equal(read<MPI_Count>("shm.queue_slots"), 32, "queue_slots");
  char file[4096] = "/nowhere";
  check_equal(write("stats", file), MPI_SUCCESS, "a parameter that changes at run time");
  file[0] = '\0';
  check_equal(write("stats", file), MPI_SUCCESS, "and back");
}

/// MESSAGES to the next rank, and as many from the one before; nothing else.
void exchange() {
  const int rank = multirank::rank_in(MPI_COMM_WORLD);
  const int size = multirank::size_of(MPI_COMM_WORLD);
  const multirank::Bytes sent = multirank::patterned(rank, message_bytes);
  multirank::Bytes received(message_bytes);
  for (int i = 0; i < messages; ++i) {
    MPI_Sendrecv(sent.data(), message_bytes, MPI_BYTE, (rank + 1) % size, 1, received.data(),
                 message_bytes, MPI_BYTE, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
}

void test_counters() {
  const std::string channel =
      multirank::size_of(MPI_COMM_WORLD) == 1 ? "channel.self." : "channel.shared_queue.";
  Counter sent(channel + "messages_sent", MPI_T_PVAR_CLASS_COUNTER);
  Counter bytes(channel + "bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE);
  Counter received(channel + "messages_received", MPI_T_PVAR_CLASS_COUNTER);
  Counter ring("channel.ring.messages_sent", MPI_T_PVAR_CLASS_COUNTER);
  Counter sizes("p2p.sent_sizes", MPI_T_PVAR_CLASS_COUNTER);
  Counter stopped(channel + "messages_sent", MPI_T_PVAR_CLASS_COUNTER);
  check_equal(sizes.elements(), 65, "bins of the histogram");
  received.start();  // before a neighbour that is quicker sends its first
  MPI_Barrier(MPI_COMM_WORLD);
  for (Counter* counter : {&sent, &bytes, &ring, &sizes}) counter->start();
  exchange();
  for (Counter* counter : {&sent, &bytes, &ring, &sizes}) counter->stop();
  MPI_Barrier(MPI_COMM_WORLD);
  received.stop();
  check_equal(sent.read(), messages, "messages sent");
  check_equal(bytes.read(), messages * message_bytes, "bytes sent");
  check(received.read() >= messages, "messages received, those of the barriers among them");
  check_equal(ring.read(), 0, "messages over a ring, which the rules do not use");
  check_equal(sizes.read(9), messages, "messages of 256 to 511 bytes");
  check_equal(sizes.read(10), 0, "messages of 512 to 1023 bytes");
  check_equal(stopped.read(), 0, "a counter that was not started");
}

void test_sessions_are_apart() {
  const std::string name =
      multirank::size_of(MPI_COMM_WORLD) == 1 ? "channel.self." : "channel.shared_queue.";
  Counter one(name + "messages_sent", MPI_T_PVAR_CLASS_COUNTER);
  Counter other(name + "messages_sent", MPI_T_PVAR_CLASS_COUNTER);
  MPI_Barrier(MPI_COMM_WORLD);
  one.start();
  other.start();
  exchange();
  check_equal(one.read_and_reset(), messages, "read and reset");
  other.write(1000);
  exchange();
  one.stop();
  exchange();
  check_equal(one.read(), messages, "after a reset, until stopped");
  check_equal(other.read(), 1000 + 2 * messages, "after a write");
  other.reset();
  check_equal(other.read(), 0, "after a reset");
  check_equal(one.read(), messages, "another session's reset");
  MPI_Barrier(MPI_COMM_WORLD);
}

void test_queues_and_memory() {
  Counter posted("p2p.posted_queue", MPI_T_PVAR_CLASS_LEVEL);
  Counter waiting("p2p.unexpected_queue", MPI_T_PVAR_CLASS_LEVEL);
  Counter unexpected("p2p.unexpected", MPI_T_PVAR_CLASS_COUNTER);
  Counter current("ledger.endpoints.current_bytes", MPI_T_PVAR_CLASS_LEVEL);
  Counter peak("ledger.endpoints.peak_bytes", MPI_T_PVAR_CLASS_HIGHWATERMARK);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::uint64_t posted_before = posted.read();
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
  check_equal(posted.read(), posted_before + 1, "posted receives");
  MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_equal(posted.read(), posted_before, "posted receives");
  unexpected.start();
  MPI_Isend(&value, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &request);
  int arrived = 0;
  while (arrived == 0) MPI_Iprobe(0, 8, MPI_COMM_SELF, &arrived, MPI_STATUS_IGNORE);
  check(waiting.read() >= 1, "messages that wait");
  check(unexpected.read() >= 1, "unexpected messages");
  MPI_Recv(&value, 1, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(current.read() > 0, "bytes in use");
  check(peak.read() >= current.read(), "the most bytes in use");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A thread of a tool samples while this one communicates.
void test_sampling_thread() {
  std::atomic<bool> done{false};
  std::thread sampler([&done] {
    while (!done) {
      test_every_variable();
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < 10; ++round) exchange();
  done = true;
  sampler.join();
}

/// From here on messages may go over rings, which are earned by now or soon.
void test_changing_rules() {
  char wrong[4096] = "true -> ring";
  check_equal(write("channel.send_rules", wrong), MPI_T_ERR_INVALID, "no rule that always holds");
  const auto kept = read<std::array<char, 4096>>("channel.send_rules");
  check(std::string(kept.data()) == "size <= 32K -> self; true -> shared_queue", "rules kept");
  Counter ring("channel.ring.messages_sent", MPI_T_PVAR_CLASS_COUNTER);
  ring.start();
  exchange();
  check_equal(ring.read(), 0, "messages over a ring before the rules allow it");
  char rules[4096] = "size <= 32K -> self; true -> ring; true -> shared_queue";
  check_equal(write("channel.send_rules", rules), MPI_SUCCESS, "rules that allow it");
  for (int round = 0; round < 40; ++round) exchange();  // as many on every rank
  const bool has_peers = multirank::size_of(MPI_COMM_WORLD) > 1;
  check((ring.read() > 0) == has_peers, "messages over a ring");
}

/// What holds at any time.
void test_everything() {
  test_every_variable();
  test_every_category();
}

}  // namespace

int main() {
  test_before_initialization();
  test_counted_initialization();
  test_everything();
  test_writing_before_mpi();
  Counter sent("p2p.sent_sizes", MPI_T_PVAR_CLASS_COUNTER);  // lives longer than MPI
  sent.start();
  {
    const multirank::Mpi mpi;
    test_everything();
    test_writing_while_mpi_runs();
    test_counters();
    test_sessions_are_apart();
    test_queues_and_memory();
    test_sampling_thread();
    test_changing_rules();
    multirank::passed("tools");
  }
  check(sent.read(9) >= 3 * messages, "counters stay when MPI is finalized");
  test_everything();
  check_equal(MPI_T_finalize(), MPI_SUCCESS, "finalize");
  test_before_initialization();
  int provided = 0;
  check_equal(MPI_T_init_thread(MPI_THREAD_FUNNELED, &provided), MPI_SUCCESS, "and once more");
}
