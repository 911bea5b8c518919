#include "softrdma/verbs/extended_send.hpp"

#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {
namespace {

QueuePair& owner_of(ibv_qp_ex* qp) { return object_of<QueuePair>(qp); }

ibv_send_wr& begin(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
  return owner_of(qp).builder->begin(qp->wr_id, qp->wr_flags, opcode);
}

void begin_remote(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t key, std::uint64_t address) {
  ibv_send_wr& work = begin(qp, opcode);
  work.wr.rdma.rkey = key;
  work.wr.rdma.remote_addr = address;
}

ibv_send_wr& begin_atomic(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t key,
                          std::uint64_t address) {
  ibv_send_wr& work = begin(qp, opcode);
  work.wr.atomic.rkey = key;
  work.wr.atomic.remote_addr = address;
  return work;
}

void set_inline(ibv_qp_ex* qp, const void* data, std::size_t bytes) {
  owner_of(qp).builder->add_inline({static_cast<const std::byte*>(data), bytes});
}

const ibv_ah_attr* address_of(const ibv_qp& qp, const ibv_send_wr& work) {
  if (qp.qp_type != IBV_QPT_UD || work.wr.ud.ah == nullptr) return nullptr;
  return &object_of<AddressHandle>(work.wr.ud.ah).attributes;
}

/// All of the builder's requests, or none.
int post_all(QueuePair& qp) {
  if (is_lost()) return ENODEV;
  SendBuilder& builder = *qp.builder;
  if (builder.error() != 0) return builder.error();
  builder.settle();
  Adapter& adapter = *qp.context->adapter;
  const ibv_qp& visible = qp.handle.visible.qp_base;
  const auto lock = adapter.lock();
  int error = builder.size() > qp.inner->free_sends() ? ENOMEM : 0;
  builder.for_each([&](const ibv_send_wr& work) {
    if (error == 0) error = qp.inner->check_send(work, address_of(visible, work));
  });
  if (error != 0) return error;
  bool takes_long = false;
  builder.for_each([&](const ibv_send_wr& work) {
    takes_long |= is_long(work);
    qp.inner->post_send(work, address_of(visible, work));
  });
  adapter.send_for(*qp.inner, takes_long);
  return 0;
}

int complete(ibv_qp_ex* qp) {
  QueuePair& object = owner_of(qp);
  const int error = post_all(object);
  object.builder->end();
  return error;
}

void fill_sends(ibv_qp_ex& qp) {
  qp.wr_send = [](ibv_qp_ex* to) { begin(to, IBV_WR_SEND); };
  qp.wr_send_imm = [](ibv_qp_ex* to, __be32 data) {
    begin(to, IBV_WR_SEND_WITH_IMM).imm_data = data;
  };
  qp.wr_send_inv = [](ibv_qp_ex* to, std::uint32_t key) {
    begin(to, IBV_WR_SEND_WITH_INV).invalidate_rkey = key;
  };
  qp.wr_bind_mw = [](ibv_qp_ex* to, ibv_mw* window, std::uint32_t key,
                     const ibv_mw_bind_info* info) {
    begin(to, IBV_WR_BIND_MW).bind_mw = {.mw = window, .rkey = key, .bind_info = *info};
  };
  qp.wr_local_inv = [](ibv_qp_ex* to, std::uint32_t key) {
    begin(to, IBV_WR_LOCAL_INV).invalidate_rkey = key;
  };
}

void fill_remote(ibv_qp_ex& qp) {
  qp.wr_rdma_write = [](ibv_qp_ex* to, std::uint32_t key, std::uint64_t address) {
    begin_remote(to, IBV_WR_RDMA_WRITE, key, address);
  };
  qp.wr_rdma_write_imm = [](ibv_qp_ex* to, std::uint32_t key, std::uint64_t address, __be32 data) {
    begin_remote(to, IBV_WR_RDMA_WRITE_WITH_IMM, key, address);
    owner_of(to).builder->last()->imm_data = data;
  };
  qp.wr_rdma_read = [](ibv_qp_ex* to, std::uint32_t key, std::uint64_t address) {
    begin_remote(to, IBV_WR_RDMA_READ, key, address);
  };
  qp.wr_atomic_cmp_swp = [](ibv_qp_ex* to, std::uint32_t key, std::uint64_t address,
                            std::uint64_t compare, std::uint64_t swap) {
    ibv_send_wr& work = begin_atomic(to, IBV_WR_ATOMIC_CMP_AND_SWP, key, address);
    work.wr.atomic.compare_add = compare;
    work.wr.atomic.swap = swap;
  };
  qp.wr_atomic_fetch_add = [](ibv_qp_ex* to, std::uint32_t key, std::uint64_t address,
                              std::uint64_t amount) {
    begin_atomic(to, IBV_WR_ATOMIC_FETCH_AND_ADD, key, address).wr.atomic.compare_add = amount;
  };
}

void fill_setters(ibv_qp_ex& qp) {
  qp.wr_set_ud_addr = [](ibv_qp_ex* to, ibv_ah* address, std::uint32_t number, std::uint32_t key) {
    ibv_send_wr* const work = owner_of(to).builder->last();
    if (work != nullptr) work->wr.ud = {.ah = address, .remote_qpn = number, .remote_qkey = key};
  };
  qp.wr_set_xrc_srqn = [](ibv_qp_ex* to, std::uint32_t number) {
    ibv_send_wr* const work = owner_of(to).builder->last();
    if (work != nullptr) work->qp_type.xrc.remote_srqn = number;
  };
  qp.wr_set_inline_data = [](ibv_qp_ex* to, void* data, std::size_t bytes) {
    set_inline(to, data, bytes);
  };
  qp.wr_set_inline_data_list = [](ibv_qp_ex* to, std::size_t count, const ibv_data_buf* list) {
    for (const ibv_data_buf& buffer : std::span(list, count))
      set_inline(to, buffer.addr, buffer.length);
  };
  qp.wr_set_sge = [](ibv_qp_ex* to, std::uint32_t key, std::uint64_t address, std::uint32_t bytes) {
    const ibv_sge entry{.addr = address, .length = bytes, .lkey = key};
    owner_of(to).builder->add_entries({&entry, 1});
  };
  qp.wr_set_sge_list = [](ibv_qp_ex* to, std::size_t count, const ibv_sge* list) {
    owner_of(to).builder->add_entries({list, count});
  };
}

constexpr std::uint64_t send_operations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
constexpr std::uint64_t write_operations =
    send_operations | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
constexpr std::uint64_t reliable_operations =
    write_operations | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV |
    IBV_QP_EX_WITH_BIND_MW;

}  // namespace

bool is_extended_type(ibv_qp_type type, std::uint64_t operations) {
  switch (type) {
    case IBV_QPT_RC:
    case IBV_QPT_XRC_SEND:
      return (operations & ~reliable_operations) == 0;
    case IBV_QPT_UC:
      return (operations & ~write_operations) == 0;
    case IBV_QPT_UD:
      return (operations & ~send_operations) == 0;
    default:
      return false;
  }
}

void extend(QueuePair& qp) {
  qp.builder = std::make_unique<SendBuilder>();
  ibv_qp_ex& visible = qp.handle.visible;
  // A function that was not asked for may be there: posting checks what the type takes.
  fill_sends(visible);
  fill_remote(visible);
  fill_setters(visible);
  visible.wr_start = [](ibv_qp_ex* to) { owner_of(to).builder->start(); };
  visible.wr_complete = complete;
  visible.wr_abort = [](ibv_qp_ex* to) { owner_of(to).builder->end(); };
}

}  // namespace softrdma::verbs
