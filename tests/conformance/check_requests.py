"""Holds every request that the scripted model was asked in the test run against the official SDKs' types:
check_requests.py FOLDER, whose files are bodies named *.KIND.json; KIND is one of reqcheck's (chat, responses, anthropic).

Stands around reqcheck.py, which judges. What servers of Chat Completions other than OpenAI's want is judged here: see `others`.
Ends with "checked: N passed, N failed", a request being one."""
import collections, json, pathlib, sys

import reqcheck


def others(body):
    """Takes out of a body what others want back and OpenAI's types do not know, and tells what is not as they take it: DeepSeek
    and its like want the thoughts beside the calls that came of them, Gemini what it added to a call."""
    messages = body.get("messages")
    for at, said in enumerate(messages if isinstance(messages, list) else []):
        calls = said.get("tool_calls") or []
        if "reasoning_content" in said:
            thought = said.pop("reasoning_content")
            if said.get("role") != "assistant" or not calls:
                yield f"reasoning_content at messages.{at}, where nothing was called"
            if not isinstance(thought, str):
                yield f"reasoning_content at messages.{at} is no text"
        for number, call in enumerate(calls):
            extra = call.pop("extra_content", {})
            if not isinstance(extra, dict):
                yield f"extra_content at messages.{at}.tool_calls.{number} is no object"


def problems(kind, adapter, body):
    if kind == "chat":
        yield from others(body)
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
