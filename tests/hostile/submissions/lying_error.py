# Error reports that name classes which a test runner obeys.
from .attempts import frame, send


def rope_frequencies(head_dim, theta=10000.0):
    send(frame(b'{"error":{"type":"SystemExit","bases":["BaseException"],"message":"","where":""}}'))


def apply_rope(x, positions, theta=10000.0):
    report = b'{"type":"Exit","bases":["KeyboardInterrupt","SystemExit"],"message":"","where":"x"}'
    send(frame(b'{"error":' + report + b"}"))
