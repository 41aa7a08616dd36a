"""The level `node`, above the device: the statements of an entry run in blocks of rows over the workers of a cluster.

In: a program after fusion, arrays on the client, on the workers or in files. Out: arrays that stay on the workers.
Holds: the partition, not the number of workers, decides every bit; no array of full size is on the client unasked.
"""
