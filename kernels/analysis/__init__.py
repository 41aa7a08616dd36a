"""What passes, schedules and printers ask of a kernel: cost, uniformity, accesses, sectors.

In: kernel IR. Out: facts about it. Holds: nothing is changed.
"""
