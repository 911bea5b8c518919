#include "softrdma/qp/rendezvous.hpp"

#include <algorithm>
#include <utility>

namespace softrdma::qp {

using queue::SendWork;

void Rendezvous::begin(const Transfer& transfer) {
  tags_.begin_transfer();
  transfers_.push_back(transfer);
  read_next();
}

void Rendezvous::read_next() {
  for (; reading_ < transfers_.size() && active_ < transfers_max; ++active_)
    post_read(transfers_[reading_++]);
}

void Rendezvous::post_read(const Transfer& transfer) {
  const wire::RemoteRange range = transfer.header.range();
  SendWork& work = sends_.next();
  work = {};
  work.id = transfer.id;
  work.opcode = IBV_WR_RDMA_READ;
  work.remote_address = range.address;
  work.remote_key = range.key;
  work.bytes = range.bytes;
  work.entries = static_cast<std::uint16_t>(transfer.entries.size());
  std::ranges::copy(transfer.entries, sends_.entries(work).begin());
  push(work);
}

/// The sender may have its memory back.
void Rendezvous::post_end(const wire::TagHeader& request) {
  wire::TagHeader header = request;
  header.match.opcode = IBV_TMH_FIN;
  SendWork& work = sends_.next();
  work = {};
  work.opcode = IBV_WR_SEND;
  work.is_inline = true;
  work.bytes = sizeof(header);
  std::ranges::copy(header.bytes(), sends_.inline_data(work).begin());
  push(work);
}

void Rendezvous::push(SendWork& work) {
  work.is_of_device = true;
  ++sends_count_;
  sends_.push();
}

void Rendezvous::on_sent(const SendWork& work, ibv_wc_status status) {
  --sends_count_;
  const bool is_read = work.opcode == IBV_WR_RDMA_READ;
  const bool goes_on = is_read && status == IBV_WC_SUCCESS;
  // First, as the completion may be one too many for its queue, which ends everything.
  if (goes_on) post_end(transfers_.front().header);
  if (!goes_on) --active_;
  if (is_read) end_oldest(status);
  if (status == IBV_WC_SUCCESS) read_next();
}

/// The buffer of the oldest transfer is the program's again.
void Rendezvous::end_oldest(ibv_wc_status status) {
  const Transfer transfer = std::move(transfers_.front());
  transfers_.pop_front();
  if (reading_ > 0) --reading_;
  tags_.end_transfer();
  const bool is_there = status == IBV_WC_SUCCESS;
  listener_.on_received({.id = transfer.id,
                         .status = status,
                         .opcode = IBV_WC_TM_RECV,
                         .bytes = is_there ? transfer.header.range().bytes : 0,
                         .flags = is_there ? unsigned{IBV_WC_TM_DATA_VALID} : 0U,
                         .solicited = transfer.solicited});
}

void Rendezvous::flush() {
  while (!transfers_.empty()) end_oldest(IBV_WC_WR_FLUSH_ERR);
}

void Rendezvous::forget() {
  for (; !transfers_.empty(); transfers_.pop_front()) tags_.end_transfer();
  reading_ = 0;
  active_ = sends_count_ = 0;
}

}  // namespace softrdma::qp
