// XrcListener: the link, told of what becomes of its channels of XRC, and asked to tell the peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/verbs/wire.hpp"

namespace hawser::transport::verbs {

enum class XrcRefusal : std::uint8_t {
  for_now,              // it may be asked for again at any time
  until_there_is_room,  // not before on_xrc_room(): other hosts have all queue pairs
  for_good,
};

class XrcListener {
 public:
  virtual ~XrcListener() = default;

  // Our way to the peer.
  virtual void on_xrc_open() = 0;
  virtual void on_xrc_refused(XrcRefusal refusal) = 0;
  /// What was refused until there is room may be asked for again.
  virtual void on_xrc_room() = 0;
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
