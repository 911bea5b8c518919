"""The ring of ring.c in Python: a list goes round and every rank adds its name.

    mpirun -n 4 python3 ring.py
"""
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
following, previous = (rank + 1) % size, (rank - 1) % size

if rank == 0:
    request = world.isend([f"rank 0 of {size}"], dest=following)
    names = world.recv(source=previous)
    request.wait()
    print(*names, sep="\n")
else:
    names = world.recv(source=previous)
    world.send(names + [f"rank {rank}"], dest=following)
