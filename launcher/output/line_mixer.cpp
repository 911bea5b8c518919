#include "launcher/output/line_mixer.hpp"

#include <utility>

namespace hawser::launcher {

std::size_t LineMixer::add_stream(std::string prefix, Waiting waiting) {
  streams_.push_back({std::move(prefix), waiting, {}});
  return streams_.size() - 1;
}

void LineMixer::feed(std::size_t stream, std::string_view bytes, std::string* out) {
  Stream& source = streams_[stream];
  const std::size_t last_feed = bytes.rfind('\n');
  if (last_feed != std::string_view::npos) {
    const std::string waited = std::exchange(source.partial, {});
    if (!waited.empty()) emit(stream, waited, out);
    emit(stream, bytes.substr(0, last_feed + 1), out);
    bytes.remove_prefix(last_feed + 1);
  }
  source.partial += bytes;
  if (source.waiting == Waiting::never || source.partial.size() >= line_bytes_max)
    emit(stream, std::exchange(source.partial, {}), out);
}

void LineMixer::close(std::size_t stream, std::string* out) {
  emit(stream, std::exchange(streams_[stream].partial, {}), out);
  if (open_line_of_ == stream && !streams_[stream].prefix.empty()) {
    *out += '\n';
    open_line_of_.reset();
  }
}

void LineMixer::emit(std::size_t stream, std::string_view bytes, std::string* out) {
  if (bytes.empty()) return;
  if (open_line_of_ && open_line_of_ != stream) *out += '\n';
  const std::string& prefix = streams_[stream].prefix;
  bool at_start = open_line_of_ != stream;
  open_line_of_.reset();
  if (bytes.back() != '\n') open_line_of_ = stream;
  if (prefix.empty()) {
    *out += bytes;
    return;
  }
  while (!bytes.empty()) {
    const std::size_t line_bytes = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    if (at_start) *out += prefix;
    *out += bytes.substr(0, line_bytes);
    bytes.remove_prefix(line_bytes);
    at_start = true;
  }
}

}  // namespace hawser::launcher
