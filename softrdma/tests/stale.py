"""A registration cache that misses a change: a page is registered, given back to the system, and written
to by its old key. Prints the status of that write. `softrdma run --strict` makes it an error."""
import ctypes
import mmap

import pyverbs.enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

PAGE_BYTES = 4096
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE


def connected_to_itself(domain, completions, lid):
    capacity = QPCap(max_send_wr=4, max_recv_wr=4)
    queue_pair = QP(domain, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=completions, rcq=completions,
                                       cap=capacity))
    attributes = QPAttr(port_num=1)
    attributes.qp_access_flags = ACCESS
    attributes.dest_qp_num = queue_pair.qp_num
    attributes.path_mtu = e.IBV_MTU_1024
    attributes.timeout, attributes.retry_cnt, attributes.rnr_retry = 14, 7, 7
    attributes.ah_attr = AHAttr(dlid=lid, port_num=1)
    queue_pair.to_rts(attributes)
    return queue_pair


def write(queue_pair, completions, region, address):
    """Writes the first 8 bytes of the page to its middle; returns the status."""
    work = SendWR(opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, sg=[SGE(address, 8, region.lkey)])
    work.set_wr_rdma(region.rkey, address + PAGE_BYTES // 2)
    queue_pair.post_send(work)
    count = 0
    while count == 0:
        count, done = completions.poll()
    return done[0].status


def main():
    context = Context(name="softrdma0")
    domain = PD(context)
    completions = CQ(context, 8)
    page = mmap.mmap(-1, PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    region = MR(domain, PAGE_BYTES, ACCESS, address=address)
    queue_pair = connected_to_itself(domain, completions, context.query_port(1).lid)
    print(write(queue_pair, completions, region, address), flush=True)
    page.madvise(mmap.MADV_DONTNEED)
    print(write(queue_pair, completions, region, address), flush=True)


main()
