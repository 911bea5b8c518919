#include "softrdma/qp/transitions.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace softrdma::qp {
namespace {

/// The attributes of a kind of queue pair in one change.
struct Attributes {
  int required = 0;
  int optional = 0;
};

enum class Column : unsigned char { rc, uc, ud, xrc_send, xrc_receive };

struct Transition {
  ibv_qp_state from;
  ibv_qp_state to;
  std::optional<Attributes> rc, uc, ud, xrc_send, xrc_receive;

  [[nodiscard]] const std::optional<Attributes>& of(Column column) const {
    switch (column) {
      case Column::rc:
        return rc;
      case Column::uc:
        return uc;
      case Column::ud:
        return ud;
      case Column::xrc_send:
        return xrc_send;
      case Column::xrc_receive:
        return xrc_receive;
    }
    return rc;
  }
};

std::optional<Column> column_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return Column::rc;
    case IBV_QPT_UC:
      return Column::uc;
    case IBV_QPT_UD:
      return Column::ud;
    case IBV_QPT_XRC_SEND:
      return Column::xrc_send;
    case IBV_QPT_XRC_RECV:
      return Column::xrc_receive;
    default:
      return std::nullopt;
  }
}

constexpr int connected_init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int datagram_init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr int route = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int requester =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int to_rtr_optional = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
constexpr int running_datagram = IBV_QP_CUR_STATE | IBV_QP_QKEY;
constexpr int running_connected =
    IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
constexpr int running_responder = running_connected | IBV_QP_MIN_RNR_TIMER;
constexpr int drained_datagram = IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
constexpr int drained_uc =
    IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE;
constexpr int drained_xrc_receive =
    drained_uc | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int drained_xrc_send = drained_uc | IBV_QP_PORT | requester;
constexpr int drained_rc = drained_xrc_send | responder;

constexpr Attributes needs(int required, int optional = 0) { return {required, optional}; }
constexpr Attributes allows(int optional) { return {0, optional}; }

const std::array transitions{
    Transition{IBV_QPS_RESET, IBV_QPS_INIT, needs(connected_init), needs(connected_init),
               needs(datagram_init), needs(connected_init), needs(connected_init)},
    Transition{IBV_QPS_INIT, IBV_QPS_INIT, allows(connected_init), allows(connected_init),
               allows(datagram_init), allows(connected_init), allows(connected_init)},
    Transition{IBV_QPS_INIT, IBV_QPS_RTR, needs(route | responder, to_rtr_optional),
               needs(route, to_rtr_optional), allows(drained_datagram),
               needs(route, to_rtr_optional), needs(route | responder, to_rtr_optional)},
    Transition{IBV_QPS_RTR, IBV_QPS_RTS, needs(IBV_QP_SQ_PSN | requester, running_responder),
               needs(IBV_QP_SQ_PSN, running_connected), needs(IBV_QP_SQ_PSN, running_datagram),
               needs(IBV_QP_SQ_PSN | requester, running_connected),
               needs(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT, running_responder)},
    Transition{IBV_QPS_RTS, IBV_QPS_RTS, allows(running_responder), allows(running_connected),
               allows(running_datagram), allows(running_connected), allows(running_responder)},
    Transition{IBV_QPS_RTS, IBV_QPS_SQD, allows(IBV_QP_EN_SQD_ASYNC_NOTIFY),
               allows(IBV_QP_EN_SQD_ASYNC_NOTIFY), allows(IBV_QP_EN_SQD_ASYNC_NOTIFY),
               allows(IBV_QP_EN_SQD_ASYNC_NOTIFY), allows(IBV_QP_EN_SQD_ASYNC_NOTIFY)},
    Transition{IBV_QPS_SQD, IBV_QPS_RTS, allows(running_responder), allows(running_connected),
               allows(running_datagram), allows(running_connected), allows(running_responder)},
    Transition{IBV_QPS_SQD, IBV_QPS_SQD, allows(drained_rc), allows(drained_uc),
               allows(drained_datagram), allows(drained_xrc_send), allows(drained_xrc_receive)},
    // Only queue pairs without acknowledgements have this state.
    Transition{IBV_QPS_SQE, IBV_QPS_RTS, std::nullopt,
               allows(IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS), allows(running_datagram),
               std::nullopt, std::nullopt},
};

/// RESET and ERR can be reached from everywhere, and need nothing.
std::optional<Attributes> attributes_of(Column column, ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return Attributes{};
  const auto found = std::ranges::find_if(transitions, [&](const Transition& transition) {
    return transition.from == from && transition.to == to;
  });
  return found == transitions.end() ? std::nullopt : found->of(column);
}

}  // namespace

TransitionCheck check_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
  const std::optional<Column> column = column_of(type);
  const std::optional<Attributes> attributes =
      column ? attributes_of(*column, from, to) : std::nullopt;
  if (!attributes) return {};
  // The caller may always name the state that it goes to, and the one that it thinks is current.
  const int given = mask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE);
  return {true, attributes->required & ~given,
          given & ~(attributes->required | attributes->optional)};
}

}  // namespace softrdma::qp
