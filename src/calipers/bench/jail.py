"""What runs one program with as little as possible: started as a script by `sandbox`, in its own interpreter.

    calipers ── supervisor (clock, exit status) ── program (confined, then executed)

It reads its orders and the program from stdin, so that nothing is in the arguments or the environment;
forks; the child gives up whatever the system lets it give up (`walls`, and limits of address space, CPU,
processes, file size and open files), and only then compiles and executes the program. Only when that has
returned does it write the nonce and "passed": to exit early is not to pass.

The program is executed in an empty namespace, as the official checker of HumanEval does it: `__name__` is
then "builtins", so what stands under `if __name__ == "__main__":` does not run here either. One interpreter
start a program (about 10 ms) is nearly all the cost: no site, no json, and a fork instead of a second start.
"""

from __future__ import annotations

# signal without its enums, which take half as long to make as Python takes to start.
import _signal as signal  # type: ignore[import-not-found]
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing and collections would double the start
    from collections.abc import Callable

if __name__ == "__main__":
    # Beside this script `sandbox` puts calipers/bench/walls, and nothing else of calipers.
    sys.path.insert(0, os.path.dirname(__file__))
    from calipers.bench import walls

    del sys.path[0]
else:
    from calipers.bench import walls


class Orders:
    """What the parent asks for, NUL-separated on stdin: ten fields, then the program."""

    def __init__(self, data: bytes) -> None:
        *fields, program = data.split(b"\0", 10)
        self.mode, self.folder, self.nonce = fields[0].decode(), os.fsdecode(fields[1]), fields[2]
        self.cpu, self.memory, self.processes, self.file, self.open_files, self.uid = map(int, fields[3:9])
        self.wall = float(fields[9])
        self.program = program.decode("utf-8", "surrogatepass")


def become_first(handles: tuple[int, ...]) -> None:
    """Go on as process 1 of the new tree, whose end is the end of all in it; what stays outside waits for that."""
    child = os.fork()
    if child:
        for handle in handles:
            os.close(handle)
        os.waitpid(child, 0)
        os._exit(0)


def die_with(parent: int) -> None:
    """Be killed when the parent dies; or now, if it has died already. Changing the uid forgets this."""
    if sys.platform == "linux":
        walls.die_with_parent()
        if os.getppid() != parent:
            os._exit(1)


def confine(orders: Orders) -> None:
    """Give up all that can be given up; what the system refuses is seen by the sandbox's probe, not hidden."""
    steps: list[Callable[[], None]] = []
    if orders.mode == "namespaces":
        walls.build_root(orders.folder, orders.file)
    else:
        os.chdir(orders.folder)
        if orders.mode == "plain" and sys.platform == "linux":
            steps.append(walls.landlock)
    steps.append(lambda: walls.drop_privileges(orders.uid))
    if sys.platform == "linux":
        steps.append(walls.seccomp)
    for step in steps:
        try:
            step()
        except (OSError, KeyError, AttributeError):  # the last two: a system whose calls we do not know
            if orders.mode == "namespaces":
                raise
    memory, file = orders.memory << 20, orders.file << 20
    # A second between SIGXCPU and SIGKILL, so that the end says which limit it was.
    limits = [("AS", memory, 0), ("CPU", orders.cpu, 1), ("FSIZE", file, 0), ("CORE", 0, 0)]
    for name, value, more in [*limits, ("NPROC", orders.processes, 0), ("NOFILE", orders.open_files, 0)]:
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        least = value + more if hard == resource.RLIM_INFINITY else min(value + more, hard)
        try:
            resource.setrlimit(kind, (min(value, least), least))
        except (OSError, ValueError):  # macOS has no limit of address space
            if orders.mode != "plain":
                raise


def execute(text: str, say: Callable[[str], None]) -> None:
    """Run a program to its end and say how it went."""
    own, getpid = os.getpid(), os.getpid
    sys.modules["__main__"] = type(sys)("__main__")
    sys.argv[:] = [""]
    try:
        code = compile(text, "<program>", "exec", dont_inherit=True)
    except BaseException as error:
        say(f"syntax error: {describe(error)}")
        return
    try:
        exec(code, {})
        verdict = "passed"
    except SystemExit as error:
        verdict = f"exited early: {describe(error)}"
    except MemoryError:
        verdict = "out of memory"
    except BaseException as error:
        verdict = f"failed: {describe(error)}"
    if getpid() == own:  # a fork's other half comes here too, and has no say
        say(verdict)


def describe(error: BaseException) -> str:
    """An exception in one short line."""
    try:
        text = f"{type(error).__name__}: {error}"[:300]
        return "".join(c if c.isprintable() else " " for c in text).strip()
    except BaseException:
        return "an exception that cannot be shown"


def program(orders: Orders, result: int, parent: int) -> None:
    """The child: confine, execute, leave at once (no atexit, no threads to wait for)."""
    write, leave, nonce = os.write, os._exit, orders.nonce

    def say(what: str) -> None:
        write(result, nonce + b" " + what.encode("utf-8", "replace") + b"\n")

    try:
        confine(orders)
        die_with(parent)
    except BaseException as error:
        say(f"broken: {describe(error)}")
        leave(1)
    try:
        say("begun")
        execute(orders.program, say)
    finally:  # even where the program has closed the pipe
        leave(0)


def main() -> None:
    """The supervisor: fork, keep the clock, report how the child ended (signal, CPU seconds, over time)."""
    orders = Orders(sys.stdin.buffer.read())
    null = os.open("/dev/null", os.O_RDWR)
    result, report = os.dup(1), os.dup(2)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.environ.clear()
    die_with(os.getppid())
    try:
        if orders.mode == "namespaces":
            walls.leave_namespaces()
            become_first((report, result))
        if sys.platform == "linux":  # not before: an undumpable process may not write its own uid_map
            walls.hide_memory()
        die_with(os.getppid())
        own = os.getpid()
        child = os.fork()
    except OSError as error:
        os.write(result, orders.nonce + b" broken: " + describe(error).encode() + b"\n")
        os._exit(1)
    if child == 0:
        os.close(report)
        os.close(null)
        program(orders, result, own)
    os.close(result)
    late: list[bool] = []

    def stop(*_: object) -> None:
        late.append(True)
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, orders.wall)
    _, status, usage = os.wait4(child, 0)
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    os.write(report, f"{number} {usage.ru_utime + usage.ru_stime:.3f} {int(bool(late))}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    main()
