"""Random programs in the source language, what they mean, and whether every stage agrees.

In: a seed. Out: counts of what was reached, and programs on which two stages differ, made small. Holds: the evaluator
(`evaluate.py`) reads only what the parser gives, and shares nothing with inference, elaboration and `ir/scalar.py`.
"""
