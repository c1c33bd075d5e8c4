"""An Idempotency-Key that went with one animal is not sent with another.

Schemathesis sends a key it has made with one body and then with another, and
the service refuses the second with 422, as it should. A schema cannot say so,
and few valid bodies would reach the service. So the header, which is optional,
is left away then.
"""

import json
import re

import schemathesis

sent = {}  # the bodies that went with each key


def unquoted(key):
    """A key in quotes is the same without them (RFC 9651, section 3.3.3)."""
    return re.sub(r"\\(.)", r"\1", key[1:-1]) if re.fullmatch('".*"', key) else key


@schemathesis.hook
def before_call(context, case, kwargs):
    key = (case.headers or {}).get("Idempotency-Key")
    if not isinstance(key, str):
        return
    bodies = sent.setdefault(unquoted(key), set())
    body = json.dumps(case.body, sort_keys=True, default=str)
    if bodies - {body} and case.meta.generation.mode.value == "positive":
        del case.headers["Idempotency-Key"]
    else:
        bodies.add(body)
