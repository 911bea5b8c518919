// Two ends of a connection, requester and responder of each, and a network between them that loses,
// repeats and reorders: what the tests of connections run on.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "softrdma/qp/requester.hpp"
#include "softrdma/qp/responder.hpp"

namespace softrdma::qp::connected {

using queue::ReceiveQueue;
using queue::SendQueue;
using queue::SendWork;
using Bytes = std::vector<std::byte>;

inline constexpr std::uint32_t domain = 3;
inline constexpr std::uint32_t segment_bytes = 64;
inline constexpr std::uint32_t queue_depth = 64;
inline constexpr std::uint32_t memory_bytes = 4096;
inline constexpr std::uint8_t timeout = 8;  // about a millisecond
inline constexpr std::uint8_t retry_count = 7;

/// One end: its memory, queues and both halves of the queue pair.
class End final : public RequesterListener, public ResponderListener, public ReceiveSource {
 public:
  End(std::uint32_t number, wire::Service service, std::uint64_t secret)
      : regions(secret), ram(memory_bytes) {
    context.service = service;
    context.number = number;
    context.destination_qp = 3 - number;
    context.domain = domain;
    context.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    context.segment_bytes = segment_bytes;
    context.window_packets = 16;
    context.timeout = timeout;
    context.retry_count = retry_count;
    context.rnr_retry = 7;
    context.min_rnr_timer = 1;
    context.reads_max = context.incoming_reads_max = 4;
    key = *regions.insert({.address = address(0),
                           .bytes = ram.size(),
                           .memory = ram.data(),
                           .domain = domain,
                           .access = IBV_ACCESS_LOCAL_WRITE | context.access});
    start();
  }
  void start() {
    requester.start(first_sequence);
    responder.start(first_sequence);
  }

  static std::uint64_t address(std::uint64_t offset) { return 0x7000000000 + offset; }

  SendWork& add(ibv_wr_opcode opcode, std::uint32_t offset, std::uint32_t bytes) {
    SendWork& work = sends.next();
    work = {};
    work.id = next_id++;
    work.opcode = opcode;
    work.flags = IBV_SEND_SIGNALED;
    work.bytes = bytes;
    work.entries = 1;
    sends.entries(work)[0] = {.addr = address(offset), .length = bytes, .lkey = key};
    sends.push();
    return work;
  }
  SendWork& add_remote(ibv_wr_opcode opcode, std::uint32_t offset, std::uint32_t bytes,
                       const End& peer, std::uint32_t remote_offset) {
    SendWork& work = add(opcode, offset, bytes);
    work.remote_address = address(remote_offset);
    work.remote_key = peer.key;
    return work;
  }
  void add_receive(std::uint32_t offset, std::uint32_t bytes) {
    queue::ReceiveWork& work = receives.next();
    work = {.id = next_id++, .entries = 1};
    receives.entries(work)[0] = {.addr = address(offset), .length = bytes, .lkey = key};
    receives.push();
  }
  Bytes part(std::uint32_t offset, std::uint32_t count) const {
    return {ram.begin() + offset, ram.begin() + offset + count};
  }
  void fill(std::uint32_t offset, std::uint32_t count, std::uint8_t seed) {
    for (std::uint32_t i = 0; i < count; ++i) ram[offset + i] = static_cast<std::byte>(seed + i);
  }
  std::uint64_t& word(std::uint32_t offset) {
    return *reinterpret_cast<std::uint64_t*>(ram.data() + offset);
  }

  void on_sent(const SendWork& work, ibv_wc_status status) override {
    sent.push_back(work.id);
    statuses.push_back(status);
  }
  void on_send_failure() override {
    ++failures;
    requester.flush();
    responder.stop();
  }
  ibv_wc_status do_local(SendWork&) override { return IBV_WC_SUCCESS; }
  bool copy_directly(const DirectCopy& copy) override {
    if (neighbour == nullptr || ++asked_directly % 3 == 0) return false;
    const unsigned right = copy.is_write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
    const memory::Opened opened = neighbour->regions.open(copy.remote.key, copy.remote.address,
                                                          copy.remote.bytes, {domain, 0, right});
    if (!opened.ok()) return false;
    std::byte* there = opened.memory;
    for (const std::span<std::byte> part : copy.local.all()) {
      std::memcpy(copy.is_write ? there : part.data(), copy.is_write ? part.data() : there,
                  part.size());
      there += part.size();
    }
    ++copied_directly;
    return true;
  }
  void on_drained() override { ++drained; }
  void on_received(const Received& message) override { received.push_back(message); }
  void on_established() override { ++established; }
  void on_receive_failure(std::optional<ibv_event_type> what) override {
    ++failures;
    event = what;
    responder.stop();
  }
  bool invalidate(std::uint32_t invalidated) override { return regions.erase(invalidated); }
  void on_rendezvous(const Transfer&) override { FAIL() << "nothing here has a tag"; }
  bool take_receive(std::uint32_t, std::uint64_t* id, std::vector<ibv_sge>* entries) override {
    if (receives.is_empty()) return false;
    *id = receives.front().id;
    const auto from = receives.entries(receives.front());
    entries->assign(from.begin(), from.end());
    receives.pop();
    return true;
  }

  // So that every run goes over the end of the numbers.
  static constexpr std::uint32_t first_sequence = 0xfffff0;
  Context context;
  memory::RegionTable regions;
  Bytes ram;
  std::uint32_t key = 0;
  SendQueue sends{queue_depth, 1, 32, false};
  ReceiveQueue receives{queue_depth, 1};
  std::uint64_t next_id = 0;
  std::vector<std::uint64_t> sent;
  std::vector<ibv_wc_status> statuses;
  std::vector<Received> received;
  std::optional<ibv_event_type> event;
  int failures = 0;
  int established = 0;
  int drained = 0;
  End* neighbour = nullptr;  // whose memory it copies to and from by itself, two times of three
  int asked_directly = 0;
  int copied_directly = 0;
  Requester requester{context, sends, regions, *this};
  Responder responder{context, regions, *this, *this};
};

/// How many packets of a hundred.
struct Faults {
  unsigned lost = 0;
  unsigned repeated = 0;
  unsigned late = 0;
  unsigned gone = 0;              // payloads that lie elsewhere, and are no more when they are read
  std::uint64_t lost_packet = 0;  // this one for certain, counted from 1
};

class GonePayload final : public wire::PayloadSource {
 public:
  bool read(std::span<const std::span<std::byte>> parts) override {
    for (const std::span<std::byte> part : parts) std::ranges::fill(part, std::byte{0xee});
    return false;
  }
};

class Network {
 public:
  Network(End& a, End& b, Faults faults, std::uint64_t seed)
      : ends_{&a, &b}, faults_(faults), random_(seed) {}

  /// Until nothing moves any more and no timer runs; false if that takes too long.
  bool run() {
    for (int step = 0; step < 200000; ++step) {
      bool moved = false;
      for (std::size_t i = 0; i < 2; ++i) moved |= send_one(i);
      if (deliver()) moved = true;
      if (moved) continue;
      if (!wait()) return true;
    }
    return false;
  }
  std::uint64_t now_ns = 1;
  std::uint64_t packets = 0;

 private:
  struct OnTheWay {
    Bytes bytes;
    std::size_t to;
  };

  bool hits(unsigned of_a_hundred) { return random_() % 100 < of_a_hundred; }

  bool send_one(std::size_t i) {
    Outgoing out;
    End& end = *ends_[i];
    if (!end.responder.next(&out) && !end.requester.next(now_ns, &out)) return false;
    ++packets;
    const Bytes bytes = to_bytes(out);
    if (packets == faults_.lost_packet || hits(faults_.lost)) return true;
    if (hits(faults_.repeated)) on_the_way_.insert({late(), {bytes, 1 - i}});
    on_the_way_.insert({late(), {bytes, 1 - i}});
    return true;
  }
  std::uint64_t late() {
    now_ns += 10;
    return now_ns + (hits(faults_.late) ? 500 + random_() % 100000 : 500);
  }
  bool deliver() {
    if (on_the_way_.empty() || on_the_way_.begin()->first > now_ns) return false;
    const OnTheWay next = std::move(on_the_way_.begin()->second);
    on_the_way_.erase(on_the_way_.begin());
    auto packet = wire::parse(next.bytes);
    EXPECT_TRUE(packet);
    if (!packet) return true;
    GonePayload nowhere;
    if (packet->payload.size() != 0 && hits(faults_.gone))
      packet->payload = {nowhere, packet->payload.size()};
    End& end = *ends_[next.to];
    if (packet->shape.is_request()) {
      end.responder.on_request(*packet);
    } else {
      end.requester.on_answer(*packet, now_ns);
    }
    return true;
  }
  /// Moves the clock to whatever comes next; false if nothing does.
  bool wait() {
    std::optional<std::uint64_t> next;
    const auto consider = [&](std::uint64_t time_ns) {
      next = std::min(next.value_or(time_ns), time_ns);
    };
    if (!on_the_way_.empty()) consider(on_the_way_.begin()->first);
    for (End* end : ends_)
      if (const auto deadline = end->requester.deadline_ns()) consider(*deadline);
    if (!next) return false;
    now_ns = std::max(now_ns, *next);
    for (End* end : ends_) end->requester.on_time(now_ns);
    return true;
  }

  std::array<End*, 2> ends_;
  Faults faults_;
  std::mt19937_64 random_;
  std::multimap<std::uint64_t, OnTheWay> on_the_way_;
};

class Connection : public testing::Test {
 protected:
  bool run(Faults faults = {}, std::uint64_t seed = 1) { return Network(a, b, faults, seed).run(); }
  void expect_all_sent() {
    EXPECT_TRUE(a.sends.is_empty());
    EXPECT_TRUE(std::ranges::is_sorted(a.sent));
    EXPECT_EQ(std::ranges::count(a.statuses, IBV_WC_SUCCESS),
              static_cast<std::ptrdiff_t>(a.statuses.size()));
    EXPECT_EQ(a.failures + b.failures, 0);
  }

  End a{1, wire::Service::reliable_connection, 1};
  End b{2, wire::Service::reliable_connection, 2};
};

}  // namespace softrdma::qp::connected
