// The functions of the verbs that programs reach through a context, and what the exported ones
// share. Their contracts are those of libibverbs: its manual pages, section 3.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include <cstddef>
#include <cstdint>

/// A function of the interface of libibverbs.
#define SOFTRDMA_EXPORT extern "C" __attribute__((visibility("default")))

// Macros of verbs.h that stand before functions of ours.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace softrdma::verbs {

int poll_cq(ibv_cq* cq, int entries, ibv_wc* completions);
int req_notify_cq(ibv_cq* cq, int solicited_only);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int post_send(ibv_qp* qp, ibv_send_wr* work, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* work, ibv_recv_wr** bad);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* work, ibv_recv_wr** bad);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes);
int free_dm(ibv_dm* dm);
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t bytes, unsigned access);
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* entries,
              std::uint32_t count);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* xrcd);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
int post_srq_ops(ibv_srq* srq, ibv_ops_wr* work, ibv_ops_wr** bad);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);
int query_rt_values(ibv_context* context, ibv_values_ex* values);
int query_port(ibv_context* context, std::uint8_t number, ibv_port_attr* attributes,
               std::size_t bytes);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t bytes);

/// A region of BYTES at MEMORY, whose first byte has ADDRESS in work requests.
ibv_mr* register_region(ibv_pd* pd, void* memory, std::size_t bytes, std::uint64_t address,
                        unsigned access);

/// Whether REQUEST, which its queue pair has taken, keeps whoever carries it out: as send_for()
/// wants to know.
bool is_long(const ibv_send_wr& request);

/// POST(work) for each of a list; stops at the first that fails.
template <class Work, class Post>
int post_each(Work* work, Work** bad, Post&& post) {
  for (; work != nullptr; work = work->next) {
    const int error = post(*work);
    if (error == 0) continue;
    *bad = work;
    return error;
  }
  return 0;
}

/// ADDRESS as the kernel has it: the way back of ibv_copy_ah_attr_from_kern().
ib_uverbs_ah_attr kernel_address(const ibv_ah_attr& address);

/// Sets errno; what a function that returns a pointer returns then.
std::nullptr_t refuse(int error);

// What the device says of itself; queue pairs and queues beyond it are refused.
inline constexpr int work_max = 1 << 15;
inline constexpr int completions_max = 1 << 22;
inline constexpr std::size_t device_memory_bytes_max = 1 << 20;  // of one allocation
inline constexpr int inline_bytes_max = 1024;
inline constexpr std::uint32_t message_bytes_max = 1U << 31;
inline constexpr std::uint32_t tags_max = 1024;            // of one shared receive queue
inline constexpr std::uint32_t tag_operations_max = 1024;  // each is over when it was posted

}  // namespace softrdma::verbs
