"""A page that is written to by a queue pair that is connected to itself, for programs on pyverbs."""
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


class Loop:
    def __init__(self):
        self.context = Context(name="softrdma0")
        self.domain = PD(self.context)
        self.completions = CQ(self.context, 8)
        self.page = mmap.mmap(-1, PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.region = MR(self.domain, PAGE_BYTES, ACCESS, address=self.address)
        self.connect()

    def connect(self):
        """A new queue pair, which gives up after some milliseconds."""
        made_with = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.completions, rcq=self.completions,
                               cap=QPCap(max_send_wr=4, max_recv_wr=4))
        self.queue_pair = QP(self.domain, made_with)
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = ACCESS
        attributes.dest_qp_num = self.queue_pair.qp_num
        attributes.path_mtu = e.IBV_MTU_1024
        attributes.timeout, attributes.retry_cnt, attributes.rnr_retry = 8, 3, 7
        attributes.ah_attr = AHAttr(dlid=self.context.query_port(1).lid, port_num=1)
        self.queue_pair.to_rts(attributes)

    def write(self):
        """Writes the first 8 bytes of the page to its middle; returns the status."""
        source = SGE(self.address, 8, self.region.lkey)
        work = SendWR(opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, sg=[source])
        work.set_wr_rdma(self.region.rkey, self.address + PAGE_BYTES // 2)
        self.queue_pair.post_send(work)
        count = 0
        while count == 0:
            count, done = self.completions.poll()
        return done[0].status
