"""Runs many small tasks in a few processes. A task that crashes or hangs costs its own process and nothing else.

Workers are forks: they start at once and see whatever the parent has loaded.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

_FORK = multiprocessing.get_context("fork")


class _Worker:
    def __init__(self, work: Callable[[Any], Any], log: Path, memory: int) -> None:
        self.connection, child = _FORK.Pipe()
        self.process = _FORK.Process(target=_serve, args=(work, child, self.connection, log, memory), daemon=True)
        self.process.start()
        child.close()
        self.task = None
        self.deadline = 0.0

    def send(self, index: int, task: Any, timeout: float) -> None:
        self.task, self.deadline = index, time.monotonic() + timeout
        self.connection.send(task)

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


def _serve(work: Callable, connection: Connection, parents: Connection, log: Path, memory: int) -> None:
    parents.close()
    log.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(work(task))


def run_all(
    work: Callable[[Any], Any],
    tasks: Sequence[Any],
    *,
    count: int,
    timeout: float,
    log: Path,
    memory: int = 12 << 30,
    progress: Callable[[int, int], None] | None = None,
) -> list[Any]:
    """Results in the order of the tasks: what `work` returned, or ("crash" | "timeout", text)."""
    results: list[Any] = [None] * len(tasks)
    waiting = list(reversed(range(len(tasks))))
    workers: list[_Worker] = []
    done = 0
    try:
        while waiting or workers:
            while waiting and len(workers) < count:
                worker = _Worker(work, log, memory)
                worker.send(index := waiting.pop(), tasks[index], timeout)
                workers.append(worker)
            wait([w.connection for w in workers], timeout=0.2)
            for worker in list(workers):
                result = _result_of(worker, timeout)
                if result is None:
                    continue
                results[worker.task] = result
                done += 1
                if progress:
                    progress(done, len(tasks))
                if result[0] in ("crash", "timeout") or not waiting:
                    worker.end()
                    workers.remove(worker)
                else:
                    worker.send(index := waiting.pop(), tasks[index], timeout)
    finally:
        for worker in workers:
            worker.end()
    return results


def _result_of(worker: _Worker, timeout: float) -> Any:
    try:
        if worker.connection.poll():
            return worker.connection.recv()
    except (EOFError, ConnectionError):
        worker.process.join(5)
        code = worker.process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return "crash", f"the process ended with {name}"
    if time.monotonic() > worker.deadline:
        return "timeout", f"longer than {timeout:.0f} s"
    return None
