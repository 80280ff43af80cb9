"""The spoilers: what a host, a limit, a network or a disk can do to a client while it replays.

Each says how the client and the receiver are started, what strikes once rows have left, and why
this machine may not permit it. Python's standard library only.
"""

import contextlib
import ctypes
import dataclasses
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
CGROUPS = pathlib.Path("/sys/fs/cgroup")
# A program that is busy for so many seconds on a CPU; with a third word before all ordinary ones.
BUSY = (
    "import os, sys, time\n"
    "os.sched_setaffinity(0, {int(sys.argv[1])})\n"
    "if len(sys.argv) > 3: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))\n"
    "end = time.monotonic() + float(sys.argv[2])\n"
    "while time.monotonic() < end: pass\n"
)


@dataclasses.dataclass
class Target:
    """What a spoiler strikes: the client, and where things run."""

    process: subprocess.Popen
    engine_cpu: int
    other_cpu: int
    scratch: pathlib.Path


@dataclasses.dataclass
class Spoiler:
    name: str
    strike: object = None  # called with a Target while rows run
    client: tuple = ()  # flags
    receiver: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    limit: object = None  # called in the client before it starts
    around: object = contextlib.nullcontext  # entered around receiver and client
    needs: object = None  # returns why this machine cannot, or None
    streams: tuple = (1, 30, 1000)  # with how many it makes sense
    load: dict = dataclasses.field(default_factory=dict)  # what it changes of the workload
    caps: bool = False  # keeps rows from being sent in time by itself, from the start


def pause_for(seconds):
    def strike(target):
        target.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)  # the length of the stop is what is tested
        target.process.send_signal(signal.SIGCONT)

    return strike


def stop_shortly(seconds):
    """Again and again, with 20 ms in between: no stop is beyond the limit, but all of them are."""

    def strike(target):
        end = time.monotonic() + 0.6  # large_bodies: until all have left, and before answers come
        while time.monotonic() < end:
            target.process.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            target.process.send_signal(signal.SIGCONT)
            time.sleep(0.02)

    return strike


@contextlib.contextmanager
def group_of(process, folder):
    """The process in a control group of its own below `folder`; back where it was at the end."""
    group = folder / f"driftless-spoiler-{process.pid}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(process.pid))
        yield group
    finally:
        with contextlib.suppress(OSError):  # it may have ended
            (folder / "cgroup.procs").write_text(str(process.pid))
        end = time.monotonic() + 5
        while group.exists() and time.monotonic() < end:
            with contextlib.suppress(OSError):  # until its last thread has left
                group.rmdir()
            time.sleep(0.01)


def unified():
    return next((f for f in (CGROUPS, CGROUPS / "unified") if (f / "cgroup.controllers").exists()),
                None)


def own_groups():
    """Where this process may make groups under cgroup v2: below its own."""
    root = unified()
    if root is None:
        return None
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            return root / line[3:].lstrip("/")
    return None


def may_make_group(folder):
    probe = folder / f"driftless-spoiler-probe-{os.getpid()}"
    try:
        probe.mkdir()
        probe.rmdir()
        return None
    except OSError as error:
        return f"no control group: {error.strerror}"


def why_no_freezer():
    folder = own_groups()
    return "no cgroup v2" if folder is None else may_make_group(folder)


def freeze_for(seconds):
    def strike(target):
        with group_of(target.process, own_groups()) as group:
            (group / "cgroup.freeze").write_text("1")
            time.sleep(seconds)  # the length of the frost is what is tested
            (group / "cgroup.freeze").write_text("0")

    return strike


def quota_folder():
    """(folder, is it version 2) where a group can have a share of the CPU."""
    own = own_groups()
    if own is not None and "cpu" in (own / "cgroup.subtree_control").read_text().split():
        return own, True
    first = CGROUPS / "cpu"
    return (first, False) if (first / "cpu.cfs_quota_us").exists() else (None, False)


def why_no_quota():
    folder, _ = quota_folder()
    return "no cgroup with a cpu quota" if folder is None else may_make_group(folder)


def quota_for(seconds, quota_us, period_us=100_000):
    def strike(target):
        folder, is_second = quota_folder()
        with group_of(target.process, folder) as group:
            if is_second:
                (group / "cpu.max").write_text(f"{quota_us} {period_us}")
            else:
                (group / "cpu.cfs_period_us").write_text(str(period_us))
                (group / "cpu.cfs_quota_us").write_text(str(quota_us))
            time.sleep(seconds)

    return strike


def busy_on(cpu, seconds, *words):
    return subprocess.Popen([sys.executable, "-c", BUSY, str(cpu), str(seconds), *words])


def compete(target):
    """Three times 100 ms before all ordinary threads of the engine's CPU."""
    for _ in range(3):
        busy_on(target.engine_cpu, 0.1, "fifo").wait()
        time.sleep(0.1)


def hog_engine(target):
    busy_on(target.engine_cpu, 1.0).wait()


def hog_other(target):
    busy_on(target.other_cpu, 1.0).wait()


def why_no_fifo():
    ask = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, check=False)
    return None if done.returncode == 0 else "no right to SCHED_FIFO"


@contextlib.contextmanager
def own_network(**settings):
    """A network of our own with these settings of IPv4; this thread, and what it starts, is in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        for name, value in settings.items():
            (pathlib.Path("/proc/sys/net/ipv4") / name).write_text(value)
        yield
    finally:
        libc.setns(before, CLONE_NEWNET)
        os.close(before)


def why_no_network():
    ask = "unshare -n ip link set lo up && test -w /proc/sys/net/ipv4/ip_local_port_range"
    done = subprocess.run(["sh", "-c", ask], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"no network of its own: {done.stderr.strip()}"


def limit_files(count):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def limit_memory(mib):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))


def hang_disk(target):
    disk = target.scratch / "disk-works"
    disk.unlink(missing_ok=True)
    time.sleep(1)  # so long no record can be written
    disk.touch()


def preload(**more):
    return {"LD_PRELOAD": os.environ["HUNG_DISK_LIBRARY"], **more}


def close_together(gap_us):
    """1,000 rows so many us apart, whose tokens come while rows leave."""
    return {"gap_us": gap_us, "tokens": 40, "between_us": 50_000, "first_ms": 2}


def small_sockets():
    """Kernels on both sides hold so little that a reader soon has nothing while the client stands
    still: with the 4 MB that they may hold by themselves, a stop of some ms delays no byte."""
    return own_network(tcp_wmem="4096 16384 32768", tcp_rmem="4096 32768 32768")


def large_bodies():
    """A small row, which lets the spoiler strike, and 0.1 s later 0.4 to 6 MB at one instant. A
    reader of 40 MB/s takes 150 ms for the longest. Answers come when the spoiler has ended, so
    that what it spares is not tainted for those."""
    inputs = (1_500_000, 1_500_000, 1_500_000, 400_000, 400_000, 100_000)
    dues = [(0, 200)] + [(100_000 + place, tokens) for place, tokens in enumerate(inputs)]
    return {"dues": dues, "rows": len(dues), "tokens": 5, "first_ms": 1000, "strike": 0}


def all_spoilers(scratch):
    """Every spoiler, by name, in the order of the table."""
    many = (1000,)
    short = {"tokens": 5, "between_us": 60_000}  # a thousand rows wait for a few connections
    made = [Spoiler("none")]
    for name, seconds in (("30ms", 0.03), ("100ms", 0.1), ("300ms", 0.3), ("2s", 2)):
        made.append(Spoiler(f"stop-{name}", pause_for(seconds)))
    made += [
        Spoiler("freezer-300ms", freeze_for(0.3), needs=why_no_freezer),
        Spoiler("fifo", compete, needs=why_no_fifo),
        Spoiler("quota", quota_for(1, 3_000), needs=why_no_quota),
        Spoiler("hog-engine", hog_engine),
        Spoiler("hog-other", hog_other),
        Spoiler("files", limit=limit_files(100), streams=(30, 1000), caps=True, load=short),
        Spoiler("ports", around=lambda: own_network(ip_local_port_range="40000 40099"),
                needs=why_no_network, streams=(30, 1000), caps=True),
        Spoiler("memory", limit=limit_memory(120), streams=(30, 1000), caps=True, load=short),
        Spoiler("loss", receiver=("--lose", "50")),
        Spoiler("slow-disk", hang_disk, env=preload(HUNG_DISK=str(scratch / "disk-works"))),
        Spoiler("slow-writer", env=preload(SLOW_WRITE="200")),
        Spoiler("slow-prepare", client=("--arm-ahead", "1ns"), load={"input": 2_000_000},
                streams=(1, 30), caps=True),
        Spoiler("many-events", receiver=("--per-write", "50"),
                load={"tokens": 1000, "between_us": 2000}, streams=(1, 30)),
    ]
    for name, strike in (("large", None), ("large-stops-4ms", stop_shortly(0.004)),
                         ("large-stops-10ms", stop_shortly(0.01))):
        made.append(Spoiler(name, strike, around=small_sockets, needs=why_no_network, streams=(1,),
                            receiver=("--read-mb-s", "40"), load=large_bodies()))
    made.append(Spoiler("large-fast-stops-4ms", stop_shortly(0.004), streams=(1,),
                        load=large_bodies()))
    for gap_us in (200, 100, 50, 20):
        made.append(Spoiler(f"burst-{gap_us}us", load=close_together(gap_us), streams=many))
    return made
