// `hawser doctor`: checks this machine by doing what Hawser does, and says cause and cure.
//
// A check is a function without arguments that leaves nothing behind. The groups of checks are one
// file each: doctor_memory.cpp, doctor_processes.cpp, doctor_network.cpp, doctor_host.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hawser::tools {

enum class Verdict : std::uint8_t {
  ok,
  warn,  // works, but slower, or something may be in the way
  fail,  // programs of several ranks do not run here
};

struct Finding {
  Verdict verdict = Verdict::ok;
  std::string check;     // what was tried, in two or three words
  std::string sentence;  // what was found; the cause, if it was not good
  std::string cure = {};
};

using Check = Finding (*)();

Finding check_anonymous_memory();
Finding check_shared_mapping();
Finding check_memory_limit();
Finding check_huge_pages();

Finding check_futex();
Finding check_barrier();
Finding check_copy_from_child();
Finding check_copy_between_siblings();
Finding check_process_descriptor();

Finding check_socket_and_descriptor();
Finding check_host_name();
Finding check_interfaces();
Finding check_loopback();

Finding check_cores();
Finding check_open_files();
Finding check_locked_memory();
Finding check_container();

/// All of the above, in this order.
std::vector<Finding> examine_machine();
std::string doctor_text(const std::vector<Finding>& findings);
/// 0 unless something that is needed failed.
int doctor_exit_code(const std::vector<Finding>& findings);
/// Prints to standard output; returns the exit code.
int run_doctor();

}  // namespace hawser::tools
