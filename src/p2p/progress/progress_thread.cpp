#include "p2p/progress/progress_thread.hpp"

#include "platform/this_process.hpp"
#include "platform/thread.hpp"

namespace hawser::p2p {

ProgressThread::ProgressThread(Engine& engine, WakeBy by)
    : engine_(engine),
      started_by_(platform::process_id()),
      thread_(platform::quiet_thread([this, by] {
        platform::name_this_thread("hawser-progress");
        engine_.attend(is_dismissed_, by);
      })) {}

ProgressThread::~ProgressThread() {
  if (platform::process_id() != started_by_) {
    thread_.detach();
    return;
  }
  is_dismissed_.store(true, std::memory_order_release);
  engine_.rouse_attendants();
  thread_.join();
}

}  // namespace hawser::p2p
