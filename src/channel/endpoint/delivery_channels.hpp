// DeliveryChannels: which channels have their frames and payload checked, and which have their
// frames kept and acknowledged though they lose none, as a user names them ("delivery.crc",
// "delivery.acknowledged").
//
// The channel `self` is neither: its frames never leave the memory of this very process. `copy` has
// no frames of its own: they are those of the channel that carries them.
// Values. Errors name the parameter, the word and what would be right.
#pragma once

#include "base/result.hpp"
#include "channel/endpoint/assurance.hpp"
#include "transport/transport.hpp"

namespace hawser::channel {

using base::Result;
using transport::ChannelSet;

struct DeliveryChannels {
  static Result<DeliveryChannels> parse(const AssuranceSettings& settings);

  ChannelSet checked;
  ChannelSet acknowledged;

  /// Those of a link that may have POSSIBLE channels.
  [[nodiscard]] DeliveryChannels of_link(ChannelSet possible) const;
  /// All frames of such a link have to be acknowledged.
  [[nodiscard]] bool need_assurance() const;
};

}  // namespace hawser::channel
