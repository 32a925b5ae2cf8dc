"""The steps that bring a database from one set of tables to the next.

A new step is a file `versions/vNNNN_words.py` with the next number as its `revision`, which changes tables
with `op.batch_alter_table`: SQLite needs it. Rows may be updated freely in it, the append-only tables too:
their triggers are taken away before the first step and put back after the last. There is no way back
but the copy that is made before.
"""
