"""Holds every message that copydesk sent in the test run against LSP's own types: check_lsp.py FOLDER (of *.jsonl).

Stands around lspstrict.py, which judges standard LSP and nothing else. Left out are only copydesk's own methods (copydesk/...)
and what a test sent on purpose to be wrong (it is logged as {"raw": ...}). What the client sends is fed, since answers
need their questions, and not judged: it is what real editors sent. Ends with "checked: N passed, N failed", a log being one."""
import json, pathlib, sys

import lspstrict


def problems(path):
    checker, own, raw = lspstrict.Checker(), set(), False
    for number, line in enumerate(path.open(encoding="utf-8"), 1):
        message = json.loads(line)
        from_server = message.pop("dir") == "s->c"
        if "raw" in message:
            raw = True
            continue
        method, key = message.get("method"), (from_server, message.get("id"))
        if method and method.startswith("copydesk/"):
            if "id" in message:
                own.add(key)
            continue
        if not method and (not from_server, key[1]) in own:
            own.discard((not from_server, key[1]))
            continue
        # The answer to bytes that were no message has no id (JSON-RPC).
        if not method and raw and from_server and message.get("id") is None and "error" in message:
            continue
        problem = checker.check(message, from_server)
        if problem and from_server:
            yield f"{path.name}:{number}: {problem}\n    {json.dumps(message)[:400]}"


def main(folder):
    logs = sorted(pathlib.Path(folder).glob("*.jsonl"))
    bad = 0
    for log in logs:
        found = list(problems(log))
        bad += bool(found)
        for problem in found[:20]:
            print(problem)
    print(f"checked: {len(logs) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
