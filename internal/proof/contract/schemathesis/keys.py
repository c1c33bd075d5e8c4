"""Sends each Idempotency-Key with one body only, and allows no status but those listed.

Schemathesis reuses keys with other bodies, which the service rejects with 422. A
schema cannot express that, so a hook drops the optional header instead.
"""

import json
import re

import schemathesis

sent = {}  # the bodies sent with each key


def unquoted(key):
    """A quoted key is the same key without its quotes (RFC 9651, section 3.3.3)."""
    return re.sub(r"\\(.)", r"\1", key[1:-1]) if re.fullmatch('".*"', key) else key


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """The default response is for what proxies send; with it, any status would do."""
    for path in raw_schema["paths"].values():
        for operation in path.values():
            operation["responses"].pop("default", None)


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
