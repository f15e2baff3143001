"""What the benchmarks share: running a command while watching its memory, and writing to a disk."""
import os
import subprocess
import sys
import threading
import time


def anonymous_bytes(pid):
    """Anonymous memory of a process now, swapped out pages included; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            return sum(int(line.split()[1]) * 1024 for line in status
                       if line.startswith(("RssAnon:", "VmSwap:")))
    except (OSError, ValueError, IndexError):
        return 0


def run(command):
    """(seconds, peak of anonymous memory in bytes, standard output). Exits when the command fails."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peak = 0

        def watch():
            nonlocal peak
            while process.poll() is None:
                peak = max(peak, anonymous_bytes(process.pid))
                time.sleep(0.002)

        watcher = threading.Thread(target=watch)
        watcher.start()
        output = process.stdout.read()
        process.wait()
        seconds = time.monotonic() - start
        watcher.join()
    if process.returncode != 0:
        sys.exit(f"[bench] {' '.join(command)} failed with exit code {process.returncode}")
    return seconds, peak, output


def write_seconds(path, size):
    """The time that writing `size` bytes that no file system can compress takes."""
    piece = os.urandom(8 << 20)
    start = time.monotonic()
    with open(path, "wb", buffering=0) as file:
        left = size
        while left > 0:
            left -= file.write(piece[:min(left, len(piece))])
    seconds = time.monotonic() - start
    os.unlink(path)
    return seconds


def folder_bytes(folder):
    return sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file())
