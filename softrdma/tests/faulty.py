"""Does what its standard input says, and prints a number for each line: `connect` anew, the number of the
queue pair; `write`, its status; `port`, its state; the next asynchronous `event`."""
import sys

from loop import Loop

loop = Loop()


def connect():
    loop.connect()
    return loop.queue_pair.qp_num


ACTIONS = {"connect": connect, "write": loop.write, "port": lambda: loop.context.query_port(1).state,
           "event": lambda: loop.context.get_async_event().event_type}
for line in sys.stdin:
    print(int(ACTIONS[line.strip()]()), flush=True)
