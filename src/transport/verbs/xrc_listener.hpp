// XrcListener: the link, told of what becomes of its channels of XRC, and asked to tell the peer.
#pragma once

#include <cstddef>
#include <span>

#include "transport/verbs/wire.hpp"

namespace hawser::transport::verbs {

class XrcListener {
 public:
  virtual ~XrcListener() = default;

  // Our way to the peer.
  virtual void on_xrc_open() = 0;
  /// Where IS_FINAL it is not worth asking again.
  virtual void on_xrc_refused(bool is_final) = 0;
  /// It takes nothing more, and what was sent by it may not have arrived.
  virtual void on_xrc_broken() = 0;
  virtual void on_xrc_recalled() = 0;

  // The peer's way to us.
  /// The peer asks; true grants it.
  virtual bool on_xrc_asked() = 0;
  /// The peer has given it back, or the grant came to nothing.
  virtual void on_xrc_given_back() = 0;
  virtual void on_xrc_arrived(std::span<const std::byte> frame) = 0;

  virtual void send_xrc_message(const XrcMessage& message) = 0;
  /// serve() has something to do at some time.
  virtual void on_timed() = 0;
};

}  // namespace hawser::transport::verbs
