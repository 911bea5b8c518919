#include "session/settings.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "collective/collective.hpp"

namespace hawser::session {

namespace {

/// Of what the processes of a job do together: all must do the same.
constexpr base::ParameterHandling same_in_job = {.scope = base::ParameterScope::job};

void register_shm(base::ParameterRegistry& registry, transport::shm::Settings& shm) {
  registry.add("shm.queue_slots", &shm.queue_slots,
               {.sentence = "Slots of 512 bytes in the receive queue that all peers of a process "
                            "share; rounded up to a power of two.",
                .unit = "slots",
                .min = 4,
                .max = 65536});
  registry.add("shm.ring_lines", &shm.ring_lines,
               {.sentence = "Small frames that the ring of one peer holds; rounded up to a power "
                            "of two.",
                .unit = "lines",
                .min = 4,
                .max = 65536});
  registry.add("shm.ring_bulk_bytes", &shm.ring_bulk_bytes,
               {.sentence = "Room in the ring of one peer for frames longer than a cache line; "
                            "the longest frame is a quarter of it.",
                .unit = "bytes",
                .min = 4096,
                .max = 8 << 20});
  registry.add("shm.whole_rings", &shm.whole_rings,
               {.sentence = "Rings in a process's memory that have all of shm.ring_bulk_bytes; "
                            "further ones, of a crowd of peers, have a quarter of it.",
                .unit = "rings",
                .min = 0,
                .max = 65536});
  registry.add(
      "shm.ring_long_bytes", &shm.ring_long_bytes,
      {.sentence = "Room for frames of 2 KiB and more that a ring gets in addition once it has "
                   "carried 256 KiB; best above the size of a core's own cache.",
       .unit = "bytes",
       .min = 65536,
       .max = 64 << 20});
  registry.add(
      "shm.ring_cells", &shm.ring_cells,
      {.sentence = "Cells of 32 KiB that come with such room: who receives a longer frame in "
                   "one answers in it, in memory that is in its cache.",
       .unit = "cells",
       .min = 0,
       .max = 1024});
  registry.add("shm.long_rings_max", &shm.long_rings_max,
               {.sentence = "Rings in a process's memory that get such room at a time.",
                .unit = "rings",
                .min = 0,
                .max = 65536});
  registry.add("shm.rings_max", &shm.rings_max,
               {.sentence = "Rings that a process has address space for.",
                .unit = "rings",
                .min = 0,
                .max = 65536});
  registry.add("shm.single_copy", &shm.single_copy,
               {.sentence = "Copy long messages straight out of the sender's memory where the "
                            "host allows it."});
}

void register_tcp(base::ParameterRegistry& registry, transport::tcp::Settings& tcp) {
  registry.add("tcp.include", &tcp.include,
               {.sentence = "Interfaces and subnets that others may reach a process by, with "
                            "commas between them: eth0, 10.0.0.0/8; empty: all that are up."});
  registry.add("tcp.exclude", &tcp.exclude,
               {.sentence = "Interfaces and subnets, of those in tcp.include, that they may not."});
  registry.add("tcp.encrypt", &tcp.encrypt,
               {.sentence = "Encrypt all that crosses TCP connections; who does not want the same "
                            "is refused.",
                .handling = same_in_job});
  registry.add("tcp.timeout_s", &tcp.timeout_s,
               {.sentence = "How long a peer may be out of reach before it is taken for lost.",
                .unit = "seconds",
                .min = 1,
                .max = 86400});
  registry.add(
      "tcp.idle_s", &tcp.idle_s,
      {.sentence = "How long a connection is unused before both sides do without it, until "
                   "the next message; 0: they never do.",
       .unit = "seconds",
       .min = 0,
       .max = 86400});
  registry.add("tcp.rails", &tcp.rails,
               {.sentence = "Interfaces by which a process connects to a peer that it exchanges "
                            "much with: what is long crosses all of them, and any takes over from "
                            "one that fails.",
                .unit = "interfaces",
                .min = 1,
                .max = transport::rails_max});
  registry.add("tcp.connections_max", &tcp.connections_max,
               {.sentence = "Peers that a process is connected to at a time: beyond them it does "
                            "without the connection that was used least recently, if nothing is "
                            "under way there; 0: as many as it may have descriptors for.",
                .unit = "connections",
                .min = 0,
                .max = 1 << 20});
}

void register_verbs(base::ParameterRegistry& registry, transport::verbs::Settings& verbs) {
  registry.add(
      "verbs.adapter", &verbs.adapter,
      {.sentence = "The RDMA device: an adapter of this machine, or softrdma's, which needs "
                   "none; auto: softrdma where the machine has no adapter.",
       .allowed = {"auto", "hardware", "softrdma"}});
  registry.add("verbs.device", &verbs.device,
               {.sentence = "The names of the RDMA devices, with commas between them; empty: all "
                            "that have an active port, the nearest first."});
  registry.add("verbs.rails_max", &verbs.rails_max,
               {.sentence = "Active ports of these devices that are used: the first carries what "
                            "is short, all of them what is long, and any takes over from one that "
                            "fails.",
                .unit = "ports",
                .min = 1,
                .max = transport::rails_max});
  registry.add("verbs.ud_send_buffers", &verbs.ud_send_buffers,
               {.sentence = "Buffers for datagrams that were not acknowledged yet, that are made "
                            "at a time: of an MTU, or of 192 bytes for what is so short.",
                .unit = "buffers",
                .min = 32,
                .max = 65536});
  registry.add("verbs.ud_send_buffers_max", &verbs.ud_send_buffers_max,
               {.sentence = "To how many such buffers they may grow while peers do not answer.",
                .unit = "buffers",
                .min = 32,
                .max = 1 << 20});
  registry.add("verbs.ud_queue_depth", &verbs.ud_queue_depth,
               {.sentence = "Datagrams that may be under way in the adapter.",
                .unit = "datagrams",
                .min = 64,
                .max = 16384});
  registry.add("verbs.ud_receive_buffers", &verbs.ud_receive_buffers,
               {.sentence = "Buffers of an MTU in which datagrams arrive; what finds none is lost "
                            "and sent again.",
                .unit = "buffers",
                .min = 32,
                .max = 65536});
}

void register_verbs_connections(base::ParameterRegistry& registry,
                                transport::verbs::Settings& verbs) {
  registry.add("verbs.rc_eager_bytes", &verbs.rc_eager_bytes,
               {.sentence = "The longest frame that goes by a connection's queue pair of high "
                            "priority; every buffer of its receive queue has this size.",
                .unit = "bytes",
                .min = 2304,
                .max = 1 << 20});
  registry.add(
      "verbs.rc_large_bytes", &verbs.rc_large_bytes,
      {.sentence = "The longest frame that goes by a connection at all, with low priority.",
       .unit = "bytes",
       .min = 2304,
       .max = 16 << 20});
  const std::array<std::tuple<std::string_view, std::int64_t*, std::string_view>, 4> buffers = {{
      {"verbs.rc_send_buffers", &verbs.rc_send_buffers,
       "Buffers to send eager frames from, that are made at a time."},
      {"verbs.rc_send_buffers_max", &verbs.rc_send_buffers_max,
       "To how many such buffers they may grow while peers do not answer."},
      {"verbs.rc_large_send_buffers", &verbs.rc_large_send_buffers,
       "Buffers to send large frames from, that are made at a time."},
      {"verbs.rc_large_send_buffers_max", &verbs.rc_large_send_buffers_max,
       "To how many such buffers they may grow."},
  }};
  for (const auto& [name, value, sentence] : buffers)
    registry.add(std::string(name), value,
                 {.sentence = std::string(sentence), .unit = "buffers", .min = 1, .max = 1 << 20});
  registry.add("verbs.rc_queue_depth", &verbs.rc_queue_depth,
               {.sentence = "Work requests under way in one queue pair of a connection.",
                .unit = "requests",
                .min = 16,
                .max = 16384});
  registry.add("verbs.rc_receive_buffers", &verbs.rc_receive_buffers,
               {.sentence = "Buffers of the shared receive queue: this number, and "
                            "verbs.rc_receive_buffers_growth for each time that the number of "
                            "connections doubles.",
                .unit = "buffers",
                .min = 4,
                .max = 65536});
  registry.add(
      "verbs.rc_receive_buffers_growth", &verbs.rc_receive_buffers_growth,
      {.sentence = "See verbs.rc_receive_buffers.", .unit = "buffers", .min = 0, .max = 65536});
  registry.add(
      "verbs.srq", &verbs.srq,
      {.sentence = "Connections share the buffers in which they receive; off: each has its "
                   "own, for as many frames as its peer may have on their way."});
  for (const auto& [name, value, sentence] :
       {std::tuple("verbs.rc_credits", &verbs.rc_credits,
                   "With verbs.srq=off: frames that a connected peer may have on their way at "
                   "first."),
        std::tuple("verbs.rc_credits_max", &verbs.rc_credits_max,
                   "To how many they grow while it uses them.")})
    registry.add(name, value, {.sentence = sentence, .unit = "frames", .min = 1, .max = 512});
  registry.add(
      "verbs.break_one_in", &verbs.break_one_in,
      {.sentence = "For tests: one in about so many frames breaks the connection it leaves "
                   "by; 0: none.",
       .unit = "frames",
       .min = 0,
       .max = 1 << 30});
}

void register_verbs_memory(base::ParameterRegistry& registry, transport::verbs::Settings& verbs) {
  registry.add("verbs.fast_path_slots", &verbs.fast_path_slots,
               {.sentence = "Frames that the ring of a fast path holds.",
                .unit = "slots",
                .min = 2,
                .max = transport::verbs::ring_slots_max});
  registry.add(
      "verbs.fast_path_bytes", &verbs.fast_path_bytes,
      {.sentence = "The longest frame in such a ring.", .unit = "bytes", .min = 512, .max = 65536});
  registry.add("verbs.fast_path_check", &verbs.fast_path_check,
               {.sentence = "Whether a frame in such a ring has a checksum by which the receiver "
                            "knows that it is all there; auto: where the adapter does not promise "
                            "to write the last bytes last.",
                .allowed = {"auto", "on", "off"}});
  registry.add(
      "verbs.pinned_bytes_max", &verbs.pinned_bytes_max,
      {.sentence = "The program's memory that may be registered with the adapter at a time.",
       .unit = "bytes",
       .min = 0,
       .max = std::int64_t{1} << 44});
  registry.add("verbs.registration_cache", &verbs.registration_cache,
               {.sentence = "Keep the program's memory registered after a message, until it is "
                            "unmapped or others need the room; needs libucm of UCX."});
}

void register_verbs_zero_copy(base::ParameterRegistry& registry,
                              transport::verbs::Settings& verbs) {
  registry.add("verbs.zero_copy_queue_pairs", &verbs.zero_copy_queue_pairs,
               {.sentence = "Queue pairs for messages that come without copies and without a "
                            "connection (ud_zero_copy), one for each; what finds none is copied. "
                            "They are made when they are needed, and kept; 0: all are copied.",
                .unit = "queue pairs",
                .min = 0,
                .max = 1024});
  registry.add("verbs.zero_copy_receive_depth", &verbs.zero_copy_receive_depth,
               {.sentence = "Datagrams of such a message that may come before its receiver clears "
                            "the way for more.",
                .unit = "datagrams",
                .min = 1,
                .max = 4096});
  registry.add("verbs.zero_copy_send_depth", &verbs.zero_copy_send_depth,
               {.sentence = "Datagrams of all such messages that may be under way in the adapter.",
                .unit = "datagrams",
                .min = 1,
                .max = 16384});
  registry.add("verbs.zero_copy_first_timeout_ns", &verbs.zero_copy_first_timeout_ns,
               {.sentence = "How long such a message may take to begin, or to go on once more of "
                            "it is cleared, as its sender may compute; then it is copied.",
                .unit = "nanoseconds",
                .min = 1'000'000,
                .max = 60'000'000'000});
  registry.add("verbs.zero_copy_timeout_ns", &verbs.zero_copy_timeout_ns,
               {.sentence = "How long the next of its datagrams may take otherwise.",
                .unit = "nanoseconds",
                .min = 1'000'000,
                .max = 60'000'000'000});
}

void register_channel(base::ParameterRegistry& registry, channel::PolicySettings& channel) {
  registry.add("channel.send_rules", &channel.send_rules,
               {.sentence = "Which channel carries a message: 'condition -> channel' rules, first "
                            "match wins.",
                .handling = {.changes_at_run_time = true}});
  registry.add("channel.earn_rules", &channel.earn_rules,
               {.sentence = "When a peer earns a channel of its own: 'condition -> channel'.",
                .handling = {.changes_at_run_time = true}});
  registry.add("channel.rings_asked_max", &channel.rings_asked_max,
               {.sentence = "Peers to which a process asks for a ring.",
                .unit = "rings",
                .min = 0,
                .max = 65536});
  registry.add("channel.rings_granted_max", &channel.rings_granted_max,
               {.sentence = "Peers to which a process grants a ring in its memory.",
                .unit = "rings",
                .min = 0,
                .max = 65536});
}

void register_connections(base::ParameterRegistry& registry, channel::PolicySettings& channel) {
  registry.add("channel.connections_max", &channel.connections_max,
               {.sentence = "Peers with which a process has a reliable connection (rc_send, "
                            "rc_rdma) at a time.",
                .unit = "connections",
                .min = 0,
                .max = 65536});
  registry.add("channel.memory_max", &channel.memory_max,
               {.sentence = "What rings that were granted and connections may take of a process's "
                            "memory: from there on none is asked for or granted, and beyond it "
                            "those least recently used are given back; 0: no limit.",
                .unit = "bytes",
                .min = 0,
                .max = std::int64_t{1} << 44});
  registry.add(
      "channel.connect", &channel.connect,
      {.sentence = "on_demand: peers earn connections; for comparison, everyone gets one "
                   "before MPI_Init returns, whatever the limit: static, all at once; "
                   "client_server, one after another, where who has the higher number asks.",
       .allowed = {"on_demand", "static", "client_server"},
       .handling = same_in_job});
  registry.add("channel.fast_paths_max", &channel.fast_paths_max,
               {.sentence = "Connected peers whose memory a process writes small frames into, and "
                            "as many that write into its own, which it has to poll.",
                .unit = "rings",
                .min = 0,
                .max = 65536});
}

void register_xrc(base::ParameterRegistry& registry, Settings& settings) {
  registry.add("channel.xrc_peers_max", &settings.channel.xrc_peers_max,
               {.sentence = "Peers to which a process sends by queue pairs that the peers of a "
                            "host share (xrc_send), and as many that send to it.",
                .unit = "peers",
                .min = 0,
                .max = 65536});
  registry.add("verbs.xrc_hosts_max", &settings.verbs.xrc_hosts_max,
               {.sentence = "Hosts to which a process has such a queue pair at a time.",
                .unit = "hosts",
                .min = 0,
                .max = 65536});
}

void register_delivery(base::ParameterRegistry& registry, channel::AssuranceSettings& delivery) {
  registry.add("delivery.window_frames", &delivery.window_frames,
               {.sentence = "Frames that a peer may have on its way to us over channels that may "
                            "lose some, before we have acknowledged them.",
                .unit = "frames",
                .min = 1,
                .max = delivery::SendWindow::frames_max});
  registry.add("delivery.window_frames_initial", &delivery.window.frames_initial,
               {.sentence = "Such frames that may leave before the peer has said anything.",
                .unit = "frames",
                .min = 1,
                .max = delivery::SendWindow::frames_max});
  registry.add("delivery.timeout_ns_min", &delivery.window.timeout_ns_min,
               {.sentence = "How long a frame stays unanswered, at least, before it is sent again; "
                            "longer where answers take longer.",
                .unit = "nanoseconds",
                .min = 1000,
                .max = 1'000'000'000});
  registry.add("delivery.timeout_ns_max", &delivery.window.timeout_ns_max,
               {.sentence = "How long it may take, at most, until it is sent yet another time.",
                .unit = "nanoseconds",
                .min = 1000,
                .max = 60'000'000'000});
  registry.add("delivery.watch_ns", &delivery.watch_ns,
               {.sentence = "How often a process that has nothing else to do looks after the "
                            "peers on other hosts that something waits for; 0: never.",
                .unit = "nanoseconds",
                .min = 0,
                .max = 60'000'000'000});
  registry.add("delivery.silence_s", &delivery.silence_s,
               {.sentence = "How long a peer on another host that something waits for may be "
                            "silent before it is taken for dead, over networks that don't notice "
                            "that by themselves (verbs) and where tcp is not there to find out; 0: "
                            "for ever, since it may be computing.",
                .unit = "seconds",
                .min = 0,
                .max = 86400});
  registry.add("delivery.crc", &delivery.crc,
               {.sentence = "Channels whose frames and payload carry a CRC32C that the receiver "
                            "checks, and have sent again what fails: off, on, or names separated "
                            "by commas.",
                .handling = same_in_job});
  registry.add(
      "delivery.acknowledged", &delivery.acknowledged,
      {.sentence = "Channels whose frames are kept and acknowledged though they lose none: "
                   "needed, on, or names separated by commas.",
       .handling = same_in_job});
  registry.add(
      "delivery.flip_one_in", &delivery.flip_one_in,
      {.sentence = "For tests: one in about so many frames, and payloads, that are checked "
                   "arrives with a flipped bit; 0: none.",
       .unit = "frames",
       .min = 0,
       .max = 1 << 30});
  registry.add("delivery.acknowledged_frames", &delivery.acknowledger.frames,
               {.sentence = "Frames that one acknowledgement may be about.",
                .unit = "frames",
                .min = 1,
                .max = delivery::SendWindow::frames_max});
  registry.add("delivery.acknowledge_ns", &delivery.acknowledger.delay_ns,
               {.sentence = "How long after the first of them it leaves, at most.",
                .unit = "nanoseconds",
                .min = 0,
                .max = 1'000'000'000});
}

void register_p2p(base::ParameterRegistry& registry, p2p::ProtocolSettings& p2p) {
  registry.add("p2p.credit_bytes", &p2p.credit_bytes,
               {.sentence = "Payload of unexpected messages that a sender may leave at one "
                            "receiver; beyond it the sender keeps the data.",
                .unit = "bytes",
                .min = 0,
                .max = std::int64_t{1} << 40});
  registry.add("p2p.stream_bytes_max", &p2p.stream_bytes_max,
               {.sentence = "Messages up to this length go through a ring as a stream, within the "
                            "credit; longer ones are asked for first.",
                .unit = "bytes",
                .min = 0,
                .max = std::int64_t{1} << 40});
  registry.add("p2p.single_copy_chunk_bytes", &p2p.single_copy_chunk_bytes,
               {.sentence = "Bytes of one message copied at a time before other messages get "
                            "their turn.",
                .unit = "bytes",
                .min = 4096,
                .max = std::int64_t{1} << 40});
  registry.add("p2p.rendezvous_inline", &p2p.rendezvous_inline,
               {.sentence = "The first frame of a message that is asked for takes some of its data "
                            "along."});
  registry.add("p2p.rdma", &p2p.rdma,
               {.sentence = "How long messages cross a connection: get: the receiver reads the "
                            "sender's memory; put: the sender writes the receiver's; pipeline: the "
                            "same block by block.",
                .allowed = {"get", "put", "pipeline"}});
  registry.add(
      "p2p.rdma_chained", &p2p.rdma_chained,
      {.sentence = "The frame that says that an operation is done is posted along with it, "
                   "to leave behind it."});
  registry.add("p2p.pipeline_block_bytes", &p2p.pipeline_block_bytes,
               {.sentence = "Bytes of a block, with p2p.rdma=pipeline.",
                .unit = "bytes",
                .min = 4096,
                .max = 1 << 30});
  registry.add("p2p.pipeline_depth", &p2p.pipeline_depth,
               {.sentence = "Blocks of one message that are written at a time, by each rail.",
                .unit = "blocks",
                .min = 1,
                .max = 1024});
  registry.add("p2p.pipeline_eager_bytes", &p2p.pipeline_eager_bytes,
               {.sentence = "The first bytes of a message that go by frames, while both sides "
                            "register what comes behind them, with p2p.rdma=pipeline.",
                .unit = "bytes",
                .min = 0,
                .max = 1 << 30});
  registry.add("p2p.pipeline_cache", &p2p.pipeline_cache,
               {.sentence = "Blocks stay registered once they are written, with p2p.rdma=pipeline; "
                            "else that ends with each."});
  registry.add("p2p.stripe_bytes_min", &p2p.stripe_bytes_min,
               {.sentence = "Messages from this length on cross connections by all rails at a "
                            "time, each taking a part by its bandwidth.",
                .unit = "bytes",
                .min = 1,
                .max = std::int64_t{1} << 40});
  registry.add("p2p.stripe_networks", &p2p.stripe_networks,
               {.sentence = "Messages from p2p.stripe_bytes_min on also cross another network to "
                            "the same peer at the same time: with transport=verbs,shm the receiver "
                            "copies a share out of the memory of a sender on its host.",
                .handling = same_in_job});
}

void register_wait(base::ParameterRegistry& registry, WaitSettings& wait) {
  registry.add(
      "wait.progress", &wait.progress,
      {.sentence = "Who moves messages on. polling: the program's calls, which poll before they "
                   "sleep; blocking: its calls, which sleep at once; thread: a thread as well, "
                   "so that messages move while the program computes; two_threads: one for "
                   "what comes and one for what has left (over shm alone: thread).",
       .allowed = {"polling", "blocking", "thread", "two_threads"},
       .handling = same_in_job});
  registry.add("wait.spin_us", &wait.spin_us,
               {.sentence = "How long a waiting process polls before it sleeps, where each local "
                            "rank has a core.",
                .unit = "microseconds",
                .min = 0,
                .max = 1'000'000'000,
                .handling = same_in_job});
  registry.add(
      "wait.brief_spin_us", &wait.brief_spin_us,
      {.sentence = "How long a waiting process polls before others have a turn, where ranks "
                   "outnumber the cores, as long as it gains by it; 0: never.",
       .unit = "microseconds",
       .min = 0,
       .max = 1'000'000,
       .handling = same_in_job});
  registry.add("wait.yields", &wait.yields,
               {.sentence = "How often a waiting process lets others run before it sleeps, where "
                            "ranks outnumber the cores.",
                .unit = "times",
                .min = 0,
                .max = 1'000'000'000,
                .handling = same_in_job});
  registry.add("wait.yield_us", &wait.yield_us,
               {.sentence = "How long it goes on doing so after that: without others to run, "
                            "turns are over at once.",
                .unit = "microseconds",
                .min = 0,
                .max = 1'000'000'000,
                .handling = same_in_job});
  registry.add("wait.spread", &wait.spread,
               {.sentence = "Where ranks outnumber the cores, a waiting process moves to a less "
                            "crowded core now and then, as long as nobody computes there."});
  registry.add("wait.sleeper_fences", &wait.sleeper_fences,
               {.sentence = "Where cores are free, a process that goes to sleep pays for memory "
                            "ordering (membarrier), so that senders need no fence.",
                .handling = same_in_job});
}

void register_collective(base::ParameterRegistry& registry, collective::Tuning& tuning) {
  const std::pair<std::string_view, std::string*> operations[] = {
      {"barrier", &tuning.barrier},
      {"bcast", &tuning.bcast},
      {"gather", &tuning.gather},
      {"gatherv", &tuning.gatherv},
      {"scatter", &tuning.scatter},
      {"scatterv", &tuning.scatterv},
      {"allgather", &tuning.allgather},
      {"allgatherv", &tuning.allgatherv},
      {"alltoall", &tuning.alltoall},
      {"alltoallv", &tuning.alltoallv},
      {"alltoallw", &tuning.alltoallw},
      {"reduce", &tuning.reduce},
      {"allreduce", &tuning.allreduce},
      {"reduce_scatter", &tuning.reduce_scatter},
      {"reduce_scatter_block", &tuning.reduce_scatter_block},
      {"scan", &tuning.scan},
      {"exscan", &tuning.exscan},
  };
  for (const auto& [operation, algorithm] : operations) {
    std::vector<std::string> allowed = {""};
    for (const std::string_view name : collective::algorithms_of(operation))
      allowed.emplace_back(name);
    registry.add(fmt::format("collective.{}", operation), algorithm,
                 {.sentence = fmt::format("The algorithm of {} wherever it can do the job; empty: "
                                          "chosen by size, ranks and, for some, trials.",
                                          operation),
                  .allowed = std::move(allowed),
                  .handling = {.verbosity = base::Verbosity::tuner_detail,
                               .scope = base::ParameterScope::job}});
  }
}

void register_teams(base::ParameterRegistry& registry, collective::TeamSettings& teams) {
  registry.add("collective.shared_after", &teams.shared_after,
               {.sentence = "Blocking collective calls on a communicator of one host after which "
                            "its members share memory for them; 0: never.",
                .unit = "calls",
                .min = 0,
                .max = 1'000'000'000,
                .handling = same_in_job});
  registry.add("collective.shared_max", &teams.shared_max,
               {.sentence = "Communicators for which a process shares memory at a time.",
                .unit = "communicators",
                .min = 0,
                .max = 65536,
                .handling = same_in_job});
  registry.add("collective.shared_bytes", &teams.shared_bytes,
               {.sentence = "What all members of a communicator together can show in one step of a "
                            "long collective; the memory that they share is about four times that "
                            "once they have made as many of those as shared_after says.",
                .unit = "bytes",
                .min = 4096,
                .max = 1 << 30,
                .handling = same_in_job});
}

}  // namespace

void register_all_parameters(base::ParameterRegistry& registry, Settings& settings) {
  registry.add(
      "bootstrap", &settings.bootstrap,
      {.sentence = "Who started this process: local (mpirun of Hawser), pmix, pmi (PMI-1), "
                   "none (it is a job of one); auto: whoever left word in the environment.",
       .allowed = {"auto", "local", "pmix", "pmi", "none"}});
  registry.add("transport", &settings.transport,
               {.sentence = "The transports to other processes, separated by commas, the preferred "
                            "one first: shm, tcp, verbs. tcp is opened where shm does not reach "
                            "all of them."});
  register_shm(registry, settings.shm);
  register_tcp(registry, settings.tcp);
  register_verbs(registry, settings.verbs);
  register_verbs_connections(registry, settings.verbs);
  register_verbs_zero_copy(registry, settings.verbs);
  register_verbs_memory(registry, settings.verbs);
  register_channel(registry, settings.channel);
  register_connections(registry, settings.channel);
  register_xrc(registry, settings);
  register_delivery(registry, settings.delivery);
  register_p2p(registry, settings.p2p);
  register_wait(registry, settings.wait);
  register_collective(registry, settings.collective);
  register_teams(registry, settings.teams);
  registry.add(
      "stats", &settings.stats_file,
      {.sentence = "File to which each rank appends its statistics as one line of JSON "
                   "when it finalizes ('%r' becomes the rank); read by 'hawser report'.",
       .handling = {.verbosity = base::Verbosity::user_basic, .changes_at_run_time = true}});
}

}  // namespace hawser::session
