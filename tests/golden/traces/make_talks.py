"""Conversations in words, the same ones as each format holds them, and what each must be read as: session, turn,
what a row waits for (row, ns), when it comes where answers take no time, and its request. Part of make_traces.py.
"""

import json

from make_sample import Numbers  # the same on every machine

numbers = Numbers(11)

WORDS = "the cat sat on a mat and saw é \"two\" birds: 你好 \\n".split(" ")


def words(count):
    return " ".join(WORDS[numbers.below(len(WORDS))] for _ in range(count))


def make_talks(folder):
    """Formats that hold answers give each row all that was said before it; the others, what is new in it."""
    out = folder / "talks"
    out.mkdir(exist_ok=True)
    talks = [{"name": f"talk-{number}", "system": words(6) if number != 1 else None,
              "turns": [{"ask": words(3 + turn), "answer": words(4), "delay": 250 * turn,
                         "output": 5 + turn, "prompt": 40 + 9 * turn} for turn in range(number + 1)]}
             for number in range(3)]  # fmt: skip

    def message(role, text):
        return {"role": role, "content": text}

    def play(talk, answers):
        """The messages of each request: all until then, or what is new."""
        said = [message("system", talk["system"])] if talk["system"] else []
        for turn in talk["turns"]:
            said.append(message("user", turn["ask"]))
            yield turn, list(said)
            said = said + [message("assistant", turn["answer"])] if answers else []

    def write(name, text, answers, delays, name_of=lambda talk, number: talk["name"], **keys):
        (out / name).write_text(text + "\n", encoding="utf-8")
        lines = []
        for number, talk in enumerate(talks):
            at_ns = 0
            for turn, (said, messages) in enumerate(play(talk, answers)):
                delay_ns = said["delay"] * 1_000_000 if delays else 0
                at_ns += delay_ns
                request = json.dumps({"messages": messages}, ensure_ascii=False, separators=(",", ":"))
                row = {"session": name_of(talk, number), "turn": turn + 1, "at_ns": at_ns,
                       "waits": [[len(lines) - 1, delay_ns]] if turn else [], "delta": not answers,
                       "request": request}  # fmt: skip
                row.update({key: said[value] for key, value in keys.items()})
                lines.append(json.dumps(row))
        (out / f"{name.split('.')[0]}.expect.jsonl").write_text("\n".join(lines) + "\n")

    def compact(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def messages_of(talk):
        said = list(play(talk, True))[-1][1]
        return said + [message("assistant", talk["turns"][-1]["answer"])]

    speakers = {"system": "system", "user": "human", "assistant": "gpt"}
    write("sharegpt.json", json.dumps(
        [{"id": talk["name"], "conversations": [{"from": speakers[one["role"]], "value": one["content"]}
                                                for one in messages_of(talk)]} for talk in talks],
        indent=1), True, False)  # fmt: skip
    write("vllm.json", compact([{"id": talk["name"], "messages": messages_of(talk)} for talk in talks]),
          True, False)  # fmt: skip

    def cell(talk, gpu):
        turns = [{"turn_idx": number, "messages": [
            {"role": one["role"], "content_blocks": [{"type": "text", "text": one["content"] + "\n"}]}
            for one in messages], "expected_output_tokens": turn["output"], "wait_before_ms": turn["delay"]}
            for number, (turn, messages) in enumerate(play(talk, True))]  # fmt: skip
        return {"trace_id": talk["name"] + gpu, "hardware_profile_id": gpu, "support_status": "supported",
                "session": {"session_id": talk["name"], "turns": turns}}  # fmt: skip

    write("isb1.json", json.dumps(
        {"schema_version": "0.1.0", "adapter_id": "inferencex_multiturn",
         "exports": [cell(talk, gpu) for talk in talks for gpu in ("h200", "b200")]}, indent=2),
        True, True, out="output")  # fmt: skip
    rows = [{"session_id": talk["name"], "assistant_responses": "live", "messages": messages,
             "output_length": turn["output"], **({"delay": turn["delay"]} if turn["delay"] else {})}
            for talk in talks for turn, messages in play(talk, False)]  # fmt: skip
    write("live.jsonl", "\n".join(compact(row) for row in rows), False, True, out="output")
    lines = []
    for talk in talks:
        turns = [{"text": turn["ask"], "delay": turn["delay"], "output_length": turn["output"]}
                 for turn in talk["turns"]]  # fmt: skip
        first = [{"role": "system", "text": talk["system"]}] if talk["system"] else []
        lines.append(compact({"session_id": talk["name"], "turns": first + turns}))
    write("multi_turn.jsonl", "\n".join(lines), False, True, out="output")
    write("sglang.json", compact(
        {"metadata": {"made": True}, "conversations": [
            [{"messages": messages, "prompt_tokens": turn["prompt"]} for turn, messages in play(talk, False)]
            for talk in talks]}), False, False, lambda _, number: str(number), **{"in": "prompt"})  # fmt: skip
