"""Types of expressions, with sizes: Hindley-Milner with overloaded numbers.

In: a syntax tree, the types of names in scope. Out: a type for each node, what each name stands for, or E02xx. Holds:
two sizes never fail to unify: the equation is recorded with both places.
"""
