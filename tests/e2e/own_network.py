"""A network namespace of the test's own, in which it may take ports away and lose packets."""

import ctypes
import os
import pathlib
import subprocess

CLONE_NEWNET = 0x40000000
PORTS = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
NETWORK_OFFSET = 0xFFF00000  # classic BPF, linux/filter.h: SKF_NET_OFF, SKF_AD_OFF
ANCILLARY = 0xFFFFF000
RANDOM = ANCILLARY + 56
UNSPEC, SHOT = 0xFFFFFFFF, 2  # linux/pkt_cls.h: TC_ACT_UNSPEC, TC_ACT_SHOT


def why_failed(command):
    """Says why the command failed, or None."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        return str(missing)
    return f"{' '.join(command)}: {done.stderr.strip()}" if done.returncode != 0 else None


def leave_for_own_network():
    """Puts this process and its children into a network of its own; says why it cannot."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        return f"no network of its own: {os.strerror(ctypes.get_errno())}"
    return why_failed("ip link set lo mtu 1500 up".split())


def allow_ports(first, last):
    """The ports that connections may come from; says why it cannot."""
    try:
        PORTS.write_text(f"{first} {last}")
    except OSError as refused:
        return f"{PORTS}: {refused}"
    return None


def keep_ports():
    """Ports stay with connections that have ended for a minute; else, on loopback, for a second."""
    pathlib.Path("/proc/sys/net/ipv4/tcp_tw_reuse").write_text("0")


def lose(port, share, bytes_min=200):
    """Loses that share of the packets to the port that are at least so large: no handshake, no
    acknowledgement. They are lost where they come in, behind the sender's own queues. By classic
    BPF, which needs no tool but tc; netem is in few kernels. Says why it cannot."""
    program = (
        (0x28, 0, 0, ANCILLARY),                # protocol
        (0x15, 0, 6, 0x0800),
        (0x28, 0, 0, NETWORK_OFFSET + 22),      # destination port, behind 20 bytes of IPv4
        (0x15, 0, 4, port),
        (0x28, 0, 0, NETWORK_OFFSET + 2),       # total length
        (0x35, 0, 2, bytes_min),
        (0x20, 0, 0, RANDOM),
        (0x35, 1, 0, int((1 - share) * 2**32)),
        (0x06, 0, 0, UNSPEC),
        (0x06, 0, 0, SHOT),
    )
    code = ",".join([str(len(program)), *("%d %d %d %d" % line for line in program)])
    return why_failed("tc qdisc add dev lo clsact".split()) or why_failed(
        "tc filter add dev lo ingress bpf bytecode".split() + [code, "direct-action"]
    )
