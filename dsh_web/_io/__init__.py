"""Everything that touches the operating system: sockets, clocks, threads, event loops.

`sync_driver` and `async_driver` perform the steps of a flow. Both stand on the same small pool and
on `httpcore`'s public connection classes over sockets that this package owns, which is what lets a
cancel or a deadline end a call at once. Only `runtime` imports this package.
"""
