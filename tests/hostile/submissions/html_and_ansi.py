# Text for the terminal, the browser and the spreadsheet of whoever reads the result.
EVIL = (
    "\x1b[2J\x1b]0;owned\x07\x1b[31m<script>alert('x')</script><img src=x onerror=alert(1)>"
    "=cmd|' /C calc'!A0 [bold red]{{7*7}}${jndi:ldap://x}\u202e\u2066\u200b\x00\x08\x7f\x9b31m\ud800"
)
print(EVIL)


def apply_rope(x, positions, theta=10000.0):
    raise type("<b>\x1b[31m" + EVIL[:20], (ValueError,), {})(EVIL)


def rope_frequencies(head_dim, theta=10000.0):
    return type(EVIL.replace("\x00", "").replace("\ud800", ""), (), {})()
