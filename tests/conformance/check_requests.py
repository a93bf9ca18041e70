"""Holds every request that the scripted model was asked in the test run against the official SDKs' types:
check_requests.py FOLDER, whose files are bodies named *.KIND.json; KIND is one of reqcheck's (chat, responses, anthropic).

Stands around reqcheck.py, which judges. Ends with "checked: N passed, N failed", a request being one."""
import collections, json, pathlib, sys

import reqcheck


def problems(kind, adapter, body):
    try:
        reqcheck.drain(adapter.validate_python(body))
    except reqcheck.ValidationError as error:
        # The deepest come first: of a union's branches, the one that fits best fails last.
        for found in sorted(error.errors(), key=lambda found: -len(found["loc"]))[:4]:
            yield f"{found['type']} at {'.'.join(map(str, found['loc']))[:200]}"
    else:
        yield from reqcheck.pairs(kind, body)


def main(folder):
    kinds = collections.defaultdict(list)
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        kinds[path.suffixes[-2].removeprefix(".")].append(path)
    passed = failed = 0
    for kind, paths in kinds.items():
        adapter = reqcheck.adapter(kind)
        for path in paths:
            found = list(problems(kind, adapter, json.loads(path.read_text(encoding="utf-8"))))
            for problem in found:
                print(f"{path.name}: {problem}")
            failed += bool(found)
            passed += not found
    print(f"checked: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
