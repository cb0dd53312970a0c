"""Runs case files and recordings that live outside this repository against the package.

`DSH_WEB_SHARED` names the folder (default: `../shared` beside the repository); its own README files
define the keys. Without that folder everything here is skipped.

    case_files.py     reads a folder: cases, recordings, `$repeat`, placeholders
    not_yet.py        what belongs to a later milestone, each with its reason
    stub_server.py    the loopback server that plays the provider
    network_watch.py  what else left the process; nothing but loopback is let through
    calls.py          one call, sync or async, measured from outside
    outcome.py        what a run produced, for the expectations to look at
    checks/           one function per expectation key
    expectations.py   an outcome against what a case expects of it
    surfaces/         one function per surface: runs a case, returns an outcome
    runner.py         a case, a mode: run it and compare it
    recordings.py     the same for recorded responses

To switch a surface on: delete its line in `not_yet.py` and add its function to `SURFACES`. To
switch a key on: delete its line and add its function to `checks/`.
"""
