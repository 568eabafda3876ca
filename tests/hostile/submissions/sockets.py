# Right answers; every way to talk to somebody.
import ctypes
import os
import socket
import urllib.request

from .attempts import attempt


def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as one:
        one.settimeout(0.2)
        one.connect(address)
    return "connected"


def listen(family, address):
    with socket.socket(family) as one:
        one.bind(address)
        one.listen()
    return "listening"


attempt("IPv4", lambda: socket.socket(socket.AF_INET))
attempt("IPv4 datagrams", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("IPv4 connect", lambda: connect(socket.AF_INET, ("127.0.0.1", 22)))
attempt("IPv4 listen", lambda: listen(socket.AF_INET, ("127.0.0.1", 0)))
attempt("IPv6", lambda: socket.socket(socket.AF_INET6))
attempt("IPv6 listen", lambda: listen(socket.AF_INET6, ("::1", 0)))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("unix", lambda: socket.socket(socket.AF_UNIX))
attempt("unix listen", lambda: listen(socket.AF_UNIX, "/tmp/hostile_trace.sock"))
attempt("abstract listen", lambda: listen(socket.AF_UNIX, "\0hostile_trace"))
attempt("abstract connect", lambda: connect(socket.AF_UNIX, "\0hostile_trace"))
attempt("socketpair", socket.socketpair)
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("packet", lambda: socket.socket(17, socket.SOCK_RAW))
attempt("name service", lambda: socket.getaddrinfo("example.com", 80))
attempt("http", lambda: urllib.request.urlopen("http://127.0.0.1/", timeout=0.2))
if os.uname().machine == "x86_64":
    attempt("system call socket", lambda: ctypes.CDLL(None).syscall(41, 2, 1, 0) >= 0)
