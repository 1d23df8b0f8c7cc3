"""What a process can give up on Linux, one function each; what the system refuses is an OSError.

    namespaces   an own process tree, network and IPC, and a root that holds nothing but the system's libraries
                 and Python's, read-only, and one bounded tmpfs
    filters      seccomp: no sockets, no leaving the process group, no signal to others, no kernel corners;
                 Landlock, where there is no root of its own: system libraries can be read and nothing written
    privileges   root, groups, capabilities, and getting any of them back

Run inside `jail`, so it imports nothing but the standard library, and little of that.
"""

from __future__ import annotations

import ctypes
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBRARY = os.path.dirname(os.__file__)
# What a Python program reads of the system. Nothing of anybody's is in there.
SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/nix/store", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
NAMESPACES = 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000  # mount, pid, net, ipc, uts
NEW_USER = 0x10000000
READ_ONLY, NO_SUID, NO_DEVICES, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 4096, 16384, 1 << 18
PARENT_DEATH_SIGNAL, DUMPABLE, SECCOMP, NO_NEW_PRIVILEGES = 1, 4, 22, 38
NOBODY = 65534
# name: number on x86_64, on aarch64
REFUSED = {
    "socket": (41, 198),  # no network in any family; socketpair stays
    "setsid": (112, 157),  # what stays in the group dies with it
    "setpgid": (109, 154),
    "shmget": (29, 194),  # memory that outlives and escapes the limits
    "msgget": (68, 186),
    "semget": (64, 190),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "bpf": (321, 280),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),  # it opens sockets without socket(2)
}
KILL, TGKILL, PRLIMIT, CLONE, CLONE3, PIVOT_ROOT = (62, 129), (234, 131), (302, 261), (56, 220), (435, 435), (155, 41)
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def check(returned: int, what: str) -> None:
    """Raise what a C function left in errno."""
    if returned < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2)."""
    check(LIBC.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()), f"mount {target}")


def leave_namespaces() -> None:
    """Namespaces of our own; without privilege, in a user namespace where we are nobody. Children are in them."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0 and LIBC.unshare(NAMESPACES) == 0:
        return
    check(LIBC.unshare(NAMESPACES | NEW_USER), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{NOBODY} {uid} 1"), ("gid_map", f"{NOBODY} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def die_with_parent() -> None:
    """Be killed when the parent dies. Changing the uid forgets this."""
    LIBC.prctl(PARENT_DEATH_SIGNAL, 9, 0, 0, 0)


def hide_memory() -> None:
    """Let no process of the same user look into this one."""
    LIBC.prctl(DUMPABLE, 0, 0, 0, 0)


def visible() -> list[str]:
    """The paths a program may read."""
    prefix = os.path.realpath(sys.base_prefix)
    return [*SYSTEM, prefix] if not any((prefix + "/").startswith(path + "/") for path in SYSTEM) else [*SYSTEM]


def build_root(folder: str, file_mb: int) -> None:
    """Make a root of read-only binds in a tmpfs over `folder`, and one bounded place to write, /box; move there."""
    mount("none", "/", "none", RECURSIVE | PRIVATE)
    mount("tmpfs", folder, "tmpfs", NO_SUID | NO_DEVICES, "size=1m,mode=755")
    for path in visible():
        inside = folder + path
        os.makedirs(os.path.dirname(inside), 0o755, exist_ok=True)
        if os.path.islink(path):
            os.symlink(os.readlink(path), inside)
        elif os.path.exists(path):
            if os.path.isdir(path):
                os.mkdir(inside)
            else:
                os.close(os.open(inside, os.O_CREAT))
            mount(path, inside, "none", BIND | RECURSIVE)
    os.mkdir(folder + "/box")
    attributes = (ctypes.c_uint64 * 4)(READ_ONLY | NO_SUID, 0, 0, 0)
    check(LIBC.syscall(442, -100, folder.encode(), 0x8000, attributes, 32), "mount_setattr")
    size = f"size={file_mb}m,nr_inodes=4096,mode=777"
    mount("tmpfs", folder + "/box", "tmpfs", NO_SUID | NO_DEVICES, size)
    os.chdir(folder)
    pivot_root = PIVOT_ROOT[MACHINES[os.uname().machine][0]]
    check(LIBC.syscall(pivot_root, b".", b"."), "pivot_root")
    check(LIBC.umount2(b".", 2), "umount")
    os.chdir("/box")


def drop_privileges(uid: int) -> None:
    """Become `uid` if we are root, without groups and capabilities, and for good."""
    if os.geteuid() == 0:
        library = os.open(LIBRARY, os.O_RDONLY)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        if not os.access(os.__file__, os.R_OK):
            # Python lives where only root can walk (/root/.pyenv); through an open folder one need not walk.
            move_library(f"/proc/self/fd/{library}")
    if sys.platform == "linux":
        # Version 3 header, this process; effective, permitted and inheritable all empty.
        check(LIBC.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()), "capset")
        check(LIBC.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")


def move_library(to: str) -> None:
    """Import the standard library from another path from here on."""
    sys.path[:] = [path.replace(LIBRARY, to) for path in sys.path]
    for module in list(sys.modules.values()):
        if isinstance(places := getattr(module, "__path__", None), list):
            places[:] = [path.replace(LIBRARY, to) for path in places]


def landlock() -> None:
    """Read the system's libraries, write nothing at all: a plain folder cannot be bounded, so none is given."""
    version = LIBC.syscall(444, None, 0, 1)
    check(version, "landlock")
    handled = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}.get(version, 0xFFFF)
    ruleset = LIBC.syscall(444, (ctypes.c_uint64 * 1)(handled), 8, 0)
    check(ruleset, "landlock")
    for path in (*visible(), LIBRARY, os.getcwd()):
        if os.path.exists(path):
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            rights = 1 | 4 | 8 if os.path.isdir(path) else 2 | 4 if path == "/dev/null" else 4
            rule = rights.to_bytes(8, sys.byteorder) + handle.to_bytes(4, sys.byteorder)
            check(LIBC.syscall(445, ruleset, 1, rule, 0), f"landlock {path}")
            os.close(handle)
    check(LIBC.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    check(LIBC.syscall(446, ruleset, 0), "landlock")
    os.close(ruleset)


def seccomp() -> None:
    """Refuse the system calls of `REFUSED`, signals to any process but this one, and new namespaces."""
    column, architecture = MACHINES[os.uname().machine]
    load, equal, above, any_bit, end = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, refuse, missing, kill = (
        (end, 0, 0, 0x7FFF0000),
        (end, 0, 0, 0x50001),
        (end, 0, 0, 0x50026),
        (end, 0, 0, 1 << 31),
    )
    filters = [(load, 0, 0, 4), (equal, 1, 0, architecture), kill, (load, 0, 0, 0), (above, 0, 1, 0x40000000), refuse]
    for numbers in REFUSED.values():
        filters += [(equal, 0, 1, numbers[column]), refuse]
    filters += [(equal, 0, 1, CLONE3[column]), missing]  # so that libc takes clone, whose flags can be seen
    for numbers, jump, value in ((KILL, equal, os.getpid()), (TGKILL, equal, os.getpid()), (PRLIMIT, equal, 0)):
        filters += [(equal, 0, 4, numbers[column]), (load, 0, 0, 16), (jump, 0, 1, value), allow, refuse]
    filters += [(equal, 0, 4, CLONE[column]), (load, 0, 0, 16), (any_bit, 0, 1, 0x7E020000), refuse, allow, allow]
    code = b"".join(
        c.to_bytes(2, sys.byteorder) + bytes((yes, no)) + k.to_bytes(4, sys.byteorder) for c, yes, no, k in filters
    )
    text = ctypes.create_string_buffer(code, len(code))
    program = (ctypes.c_uint64 * 2)(len(filters), ctypes.addressof(text))
    check(LIBC.prctl(SECCOMP, 2, program, 0, 0), "seccomp")
