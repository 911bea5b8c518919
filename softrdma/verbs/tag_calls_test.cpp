// Tag matching as a program asks for it.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <vector>

namespace softrdma::verbs {
namespace {

constexpr std::uint32_t tags_asked_for = 4;
constexpr unsigned needed_for_tags =
    unsigned{IBV_SRQ_INIT_ATTR_TYPE} | unsigned{IBV_SRQ_INIT_ATTR_PD} |
    unsigned{IBV_SRQ_INIT_ATTR_CQ} | unsigned{IBV_SRQ_INIT_ATTR_TM};

class TagCalls : public testing::Test {
 protected:
  void SetUp() override {
    ibv_device** const list = ibv_get_device_list(nullptr);
    ASSERT_NE(list, nullptr);
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    ASSERT_NE(context, nullptr);
    domain = ibv_alloc_pd(context);
    ibv_cq_init_attr_ex wanted{};
    wanted.cqe = 16;
    wanted.wc_flags = IBV_WC_EX_WITH_TM_INFO;
    completions = ibv_create_cq_ex(context, &wanted);
    ASSERT_TRUE(domain != nullptr && completions != nullptr);
    auto attributes = attributes_with({.max_num_tags = tags_asked_for, .max_ops = 4});
    receives = ibv_create_srq_ex(context, &attributes);
    ASSERT_NE(receives, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(ibv_destroy_srq(receives), 0);
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(completions)), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
  }
  ibv_srq_init_attr_ex attributes_with(const ibv_tm_cap& tags) const {
    ibv_srq_init_attr_ex out{};
    out.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
    out.comp_mask = needed_for_tags;
    out.srq_type = IBV_SRQT_TM;
    out.pd = domain;
    out.cq = ibv_cq_ex_to_cq(completions);
    out.tm_cap = tags;
    return out;
  }
  static ibv_ops_wr operation(ibv_ops_wr_opcode opcode, std::uint64_t id, int flags) {
    ibv_ops_wr out{};
    out.wr_id = id;
    out.opcode = opcode;
    out.flags = flags;
    return out;
  }
  int post(ibv_ops_wr& work) {
    ibv_ops_wr* bad = nullptr;
    return ibv_post_srq_ops(receives, &work, &bad);
  }
  /// The only completion that there is.
  ibv_wc poll() {
    ibv_wc out[2]{};
    EXPECT_EQ(ibv_poll_cq(ibv_cq_ex_to_cq(completions), 2, out), 1);
    return out[0];
  }
  bool has_completions() {
    ibv_wc completion{};
    return ibv_poll_cq(ibv_cq_ex_to_cq(completions), 1, &completion) != 0;
  }

  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_cq_ex* completions = nullptr;
  ibv_srq* receives = nullptr;
};

TEST_F(TagCalls, AQueueIsWithinWhatTheDeviceSays) {
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(context, nullptr, &device), 0);
  EXPECT_EQ(device.tm_caps.flags, unsigned{IBV_TM_CAP_RC});
  EXPECT_GE(device.tm_caps.max_rndv_hdr_size, 32U);
  EXPECT_GE(device.tm_caps.max_sge, 1U);
  const auto refused = [&](const ibv_srq_init_attr_ex& wanted) {
    ibv_srq_init_attr_ex attributes = wanted;
    errno = 0;
    return ibv_create_srq_ex(context, &attributes) == nullptr && errno == EINVAL;
  };
  const ibv_tm_cap most{.max_num_tags = device.tm_caps.max_num_tags,
                        .max_ops = device.tm_caps.max_ops};
  EXPECT_TRUE(refused(attributes_with({most.max_num_tags + 1, most.max_ops})));
  EXPECT_TRUE(refused(attributes_with({most.max_num_tags, most.max_ops + 1})));
  EXPECT_TRUE(refused(attributes_with({0, most.max_ops})));
  auto attributes = attributes_with(most);
  attributes.comp_mask &= ~unsigned{IBV_SRQ_INIT_ATTR_CQ};
  EXPECT_TRUE(refused(attributes));
  attributes = attributes_with(most);
  ibv_srq* const largest = ibv_create_srq_ex(context, &attributes);
  ASSERT_NE(largest, nullptr);
  std::uint32_t numbers[2]{};
  EXPECT_EQ(ibv_get_srq_num(largest, &numbers[0]), 0);
  EXPECT_EQ(ibv_get_srq_num(receives, &numbers[1]), 0);
  EXPECT_NE(numbers[0], numbers[1]);
  EXPECT_EQ(ibv_destroy_srq(largest), 0);
}

TEST_F(TagCalls, ItsCompletionQueueIsInUse) {
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(completions)), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
}

TEST_F(TagCalls, OnlyReliableConnectionsMatchTags) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = ibv_cq_ex_to_cq(completions);
  attributes.srq = receives;
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
    attributes.qp_type = type;
    EXPECT_EQ(ibv_create_qp(domain, &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  attributes.qp_type = IBV_QPT_RC;
  ibv_qp* const qp = ibv_create_qp(domain, &attributes);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(attributes.cap.max_send_wr, 0U)
      << "what the device sends is no business of the program";
  EXPECT_EQ(ibv_destroy_srq(receives), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(TagCalls, ATagMoreThanWasAskedForHasNoRoom) {
  std::vector<ibv_ops_wr> work(tags_asked_for + 1, operation(IBV_WR_TAG_ADD, 0, 0));
  for (std::size_t i = 0; i < tags_asked_for; ++i) work[i].next = &work[i + 1];
  ibv_ops_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_ops(receives, work.data(), &bad), ENOMEM);
  EXPECT_EQ(bad, &work.back());
  EXPECT_NE(work[0].tm.handle, work[1].tm.handle);
  EXPECT_FALSE(has_completions()) << "nobody asked for any";
  ibv_ops_wr removal = operation(IBV_WR_TAG_DEL, 7, IBV_OPS_SIGNALED);
  removal.tm.handle = work[1].tm.handle;
  EXPECT_EQ(post(removal), 0);
  const ibv_wc removed = poll();
  EXPECT_EQ(removed.wr_id, 7U);
  EXPECT_EQ(removed.opcode, IBV_WC_TM_DEL);
  EXPECT_EQ(removed.status, IBV_WC_SUCCESS);
  EXPECT_EQ(removed.wc_flags, 0U);
  EXPECT_EQ(post(work.back()), 0);
}

TEST_F(TagCalls, WhatIsNotThereIsNotRemoved) {
  ibv_ops_wr removal = operation(IBV_WR_TAG_DEL, 7, 0);
  removal.tm.handle = 12345;
  EXPECT_EQ(post(removal), 0);
  const ibv_wc refused = poll();
  EXPECT_EQ(refused.wr_id, 7U);
  EXPECT_EQ(refused.status, IBV_WC_TM_ERR);
}

TEST_F(TagCalls, AWrongCountAsksForTheRightOne) {
  ibv_ops_wr work = operation(IBV_WR_TAG_ADD, 7, IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC);
  work.tm.unexpected_cnt = 1;
  EXPECT_EQ(post(work), 0);
  const ibv_wc added = poll();
  EXPECT_EQ(added.opcode, IBV_WC_TM_ADD);
  EXPECT_EQ(added.wc_flags, unsigned{IBV_WC_TM_SYNC_REQ});
  ibv_ops_wr sync = operation(IBV_WR_TAG_SYNC, 8, IBV_OPS_SIGNALED);
  EXPECT_EQ(post(sync), 0);
  const ibv_wc synchronized = poll();
  EXPECT_EQ(synchronized.wr_id, 8U);
  EXPECT_EQ(synchronized.opcode, IBV_WC_TM_SYNC);
  EXPECT_EQ(synchronized.wc_flags, 0U);
}

TEST_F(TagCalls, WhatMakesNoSenseIsRefused) {
  ibv_ops_wr work = operation(static_cast<ibv_ops_wr_opcode>(3), 0, 0);
  EXPECT_EQ(post(work), EINVAL);
  work = operation(IBV_WR_TAG_ADD, 0, 1 << 5);
  EXPECT_EQ(post(work), EINVAL);
  work = operation(IBV_WR_TAG_ADD, 0, 0);
  ibv_sge entries[5]{};
  work.tm.add.sg_list = entries;
  for (const int count : {-1, 5}) {
    work.tm.add.num_sge = count;
    EXPECT_EQ(post(work), EINVAL);
  }
  ibv_srq_init_attr plain{};
  plain.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  ibv_srq* const without_tags = ibv_create_srq(domain, &plain);
  ASSERT_NE(without_tags, nullptr);
  ibv_ops_wr sync = operation(IBV_WR_TAG_SYNC, 0, 0);
  ibv_ops_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_ops(without_tags, &sync, &bad), EINVAL);
  EXPECT_EQ(ibv_destroy_srq(without_tags), 0);
}

}  // namespace
}  // namespace softrdma::verbs
