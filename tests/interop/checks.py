"""Counting checks, and running the tool whose path is the script's first argument."""

import subprocess
import sys

failures, passed = [], 0


def check(condition, what):
    """Counts a check; a failure is printed at once. Returns the condition."""
    global passed
    if condition:
        passed += 1
    else:
        failures.append(what)
        print(f"FAIL {what}", flush=True)
    return condition


def slipway(*arguments):
    """What the tool prints. Raises with its messages when it fails."""
    done = subprocess.run([sys.argv[1], *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"slipway {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")
    return done.stdout


def finish():
    """Prints the counts; the script's exit status."""
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0
