#include "hawser/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hawser::tools {
namespace {

constexpr std::array<Check, 17> checks = {check_anonymous_memory,
                                          check_shared_mapping,
                                          check_memory_limit,
                                          check_huge_pages,
                                          check_futex,
                                          check_barrier,
                                          check_copy_from_child,
                                          check_copy_between_siblings,
                                          check_process_descriptor,
                                          check_socket_and_descriptor,
                                          check_host_name,
                                          check_interfaces,
                                          check_loopback,
                                          check_cores,
                                          check_open_files,
                                          check_locked_memory,
                                          check_container};

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "OK";
    case Verdict::warn:
      return "WARN";
    case Verdict::fail:
      return "FAIL";
  }
  return "";
}

std::size_t count(const std::vector<Finding>& findings, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [verdict](const Finding& finding) { return finding.verdict == verdict; }));
}

}  // namespace

std::vector<Finding> examine_machine() {
  std::vector<Finding> findings;
  for (const Check check : checks) findings.push_back(check());
  return findings;
}

std::string doctor_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<5} {:<22} {}", verdict_name(finding.verdict), finding.check,
                        finding.sentence);
    if (!finding.cure.empty()) text += fmt::format(" Cure: {}", finding.cure);
    text += '\n';
  }
  const std::size_t failures = count(findings, Verdict::fail);
  const std::size_t warnings = count(findings, Verdict::warn);
  if (failures > 0) {
    text += fmt::format("\n{} of {} checks failed: programs of several ranks do not run here.\n",
                        failures, findings.size());
  } else if (warnings > 0) {
    text += fmt::format("\nHawser runs here; {} of {} checks warn.\n", warnings, findings.size());
  } else {
    text += "\nHawser runs here at its best.\n";
  }
  return text;
}

int doctor_exit_code(const std::vector<Finding>& findings) {
  return count(findings, Verdict::fail) > 0 ? 1 : 0;
}

int run_doctor() {
  const std::vector<Finding> findings = examine_machine();
  fmt::print("{}", doctor_text(findings));
  return doctor_exit_code(findings);
}

}  // namespace hawser::tools
