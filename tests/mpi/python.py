#!/usr/bin/python3
"""Broadcasts of mpi4py, of objects and of buffers; as common.h, prints each rank's checksum."""

import array
import hashlib

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
checksum = hashlib.sha256()
halves = world.Split(rank % 2, -rank)
for comm in (world, halves):
    me = comm.Get_rank()
    for root in range(comm.Get_size()):
        told = {"root": root, "values": [me] * 1000} if me == root else None
        told = comm.bcast(told, root=root)
        checksum.update(repr(told).encode())
        numbers = array.array("d", (at * (me + 1) for at in range(20000)))
        comm.Bcast([numbers, MPI.DOUBLE], root=root)
        checksum.update(numbers.tobytes())
        columns = MPI.DOUBLE.Create_vector(100, 3, 7).Commit()
        table = array.array("d", (at * (me + 2) for at in range(700)))
        request = comm.Ibcast([table, 1, columns], root=root)
        columns.Free()
        request.Wait()
        checksum.update(table.tobytes())
for line in world.gather(f"python: rank {rank}: {checksum.hexdigest()}") or []:
    print(line)
