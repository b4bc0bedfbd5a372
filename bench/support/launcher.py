"""Runs one pipeline and prints CPU, peak memory and exit code of each process. Started by path, with `-I -S`.

A child's peak memory is never counted lower than that of the process it was started from, so the measured programs
must not be started from the benchmark itself. This file imports almost nothing and is about as large as the bare
interpreter it is compared with.

Arguments: the standard output of the last command, then the commands with `|` between them.
"""

import os
import sys
import time


def main() -> None:
    output, *words = sys.argv[1:]
    started = time.monotonic()
    pids = spawn(split(words), output)
    waited = [os.wait4(pid, 0) for pid in pids]
    print(time.monotonic() - started)
    for _, status, usage in waited:
        print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status))


def split(words: list[str]) -> list[list[str]]:
    commands: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def spawn(commands: list[list[str]], output: str) -> list[int]:
    source = os.open(os.devnull, os.O_RDONLY)
    pids: list[int] = []
    for command in commands:
        last = command is commands[-1]
        following, target = (-1, os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)) if last else os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, source, 0), (os.POSIX_SPAWN_DUP2, target, 1)]
        pids.append(os.posix_spawnp(command[0], command, os.environ, file_actions=actions))
        os.close(source)
        os.close(target)
        source = following
    return pids


if __name__ == "__main__":
    main()
