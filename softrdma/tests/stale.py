"""A registration cache that misses a change: a page is registered, given back to the system, and written
to by its old key. Prints the status of that write. `softrdma run --strict` makes it an error."""
import mmap

from loop import Loop

loop = Loop()
print(loop.write(), flush=True)
loop.page.madvise(mmap.MADV_DONTNEED)
print(loop.write(), flush=True)
