#!/usr/bin/env python3
"""Writes small traces of agents and conversations, and beside each what it must be read as.

The traces come from agents that are played here, token by token: every prompt is a list of tokens, every
request knows what it waited for. The trace file says of that what its format says; NAME.expect.jsonl says what
is true of each request, in the order of the file: lengths, session, turn, what it waits for (row, ns), when it
comes where answers take no time, and how many tokens its prompt begins with that each earlier prompt begins with.
Same output everywhere.

    python3 make_traces.py FOLDER
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "data"))
from make_sample import Numbers  # the same on every machine
from make_talks import make_talks

numbers = Numbers(9)
tokens_made = 0


def tokens(count):
    """Tokens that no other text has."""
    global tokens_made
    tokens_made += count
    return list(range(tokens_made - count, tokens_made))


SYSTEM = {"planner": tokens(90), "worker": tokens(75)}


class Request:
    """One call of the model, as it was."""

    def __init__(self, prompt, output, session, turn, waits, pause_ns):
        self.prompt = prompt
        self.output = output
        self.session = session
        self.turn = turn
        self.waits = waits  # [(request, ns)]
        self.at_ns = max([pause_ns] + [one.at_ns + delay for one, delay in waits])

    def expected(self, earlier):
        def shared(other):
            same = 0
            for a, b in zip(self.prompt, other.prompt):
                if a != b:
                    break
                same += 1
            return same

        index = {id(one): row for row, one in enumerate(earlier)}
        return {
            "in": len(self.prompt), "out": self.output, "session": self.session,
            "turn": self.turn, "at_ns": self.at_ns,
            "waits": sorted([index[id(one)], delay] for one, delay in self.waits),
            "shares": [shared(other) for other in earlier],
        }  # fmt: skip


# TensorRT-LLM: a list of events.


class Conversation:
    """Messages as tokens. What the server counts is more, or less, than the counts of the messages."""

    def __init__(self, run, template=None):
        self.run = run
        self.number = run.conversations
        run.conversations += 1
        self.name = run.name if self.number == 0 else f"{run.name}/{self.number}"
        self.messages = []
        self.turns = 0
        self.template = template

    def event(self, branch, role, **more):
        return {"event_type": "message", "branch_path": branch, "conversation_id": self.number,
                "role": role, "message_index": len(self.messages), **more}  # fmt: skip


class Branch:
    """A line of work: its events and requests in order, and what its next request waits for."""

    def __init__(self, run, path, waits, pause_ns=0):
        self.run = run
        self.path = path
        self.waits = waits
        self.pause_ns = pause_ns
        self.log = []  # (event, request or None)

    def say(self, talk, role, count, counted=None, place=None, off=0):
        """A message of `count` tokens, which the trace counts as `off` more; `counted` False: not at all."""
        event = talk.event(self.path, role)
        if role == "system" and talk.template:
            event["system_prompt_id"] = talk.template
            text = SYSTEM[talk.template][:count]
        else:
            text = tokens(count)
        if counted is not False:
            event["tokens"] = count + off
        if place is not None:
            event["message_index"] = place
            talk.messages[place] = text
        else:
            talk.messages.append(text)
        self.log.append((event, None))

    def ask(self, talk, output, reasoning=0):
        prompt = [token for message in talk.messages for token in message]
        talk.turns += 1
        request = Request(prompt, output, talk.name, talk.turns, list(self.waits), self.pause_ns)
        event = talk.event(
            self.path, "assistant", prompt_tokens=len(prompt), completion_tokens=output,
            reasoning_tokens=reasoning, finish_reason="stop")
        self.log.append((event, request))
        talk.messages.append(tokens(output - reasoning))
        self.waits = [(request, 0)]

    def tool(self, name, ms):
        self.log.append(({"event_type": "tool_call", "branch_path": self.path,
                          "tool_call_id": f"call_{len(self.log)}", "tool_name": name,
                          "duration_ms": ms}, None))  # fmt: skip
        ns = int(ms * 1_000_000)
        self.waits = [(one, delay + ns) for one, delay in self.waits]
        self.pause_ns += 0 if self.waits else ns

    def drop_kv_cache(self):
        self.log.append(({"event_type": "drop_kv_cache", "branch_path": self.path}, None))

    def fork(self, works):
        """Branches side by side, whose events stand mixed in the file as they would have come."""
        start = {"event_type": "parallel_start", "branch_path": self.path,
                 "num_branches": len(works)}  # fmt: skip
        self.log.append((start, None))
        branches = []
        for number, work in enumerate(works):
            branch = Branch(self.run, self.path + [number], list(self.waits), self.pause_ns)
            work(branch)
            branches.append(branch)
        heads = [list(branch.log) for branch in branches]
        while any(heads):
            busy = [one for one in heads if one]
            self.log.append(busy[numbers.below(len(busy))].pop(0))
        self.log.append(({"event_type": "parallel_end", "branch_path": self.path}, None))
        longest = {}
        idle = self.waits
        for branch in branches:
            for one, delay in branch.waits if branch.waits != idle else []:
                longest[id(one)] = (one, max(delay, longest.get(id(one), (one, 0))[1]))
        self.waits = list(longest.values()) or idle


class Run:
    def __init__(self, name):
        self.name = name
        self.conversations = 0


def write_run(folder, file, run, root):
    events = [event for event, _ in root.log]
    (folder / file).write_text(json.dumps({"trace_id": run.name, "events": events}, indent=2) + "\n")
    return [request for _, request in root.log if request]


def research(run):
    """A supervisor with workers side by side, one of which has helpers of its own."""
    root = Branch(run, [], [])
    brief = Conversation(run)
    root.say(brief, "user", 40)
    root.ask(brief, 25, reasoning=5)
    plan = Conversation(run, "planner")
    root.say(plan, "system", 90)
    root.say(plan, "user", 61)
    root.ask(plan, 33)
    root.tool("think", 2.6912689208984375)

    def worker(seed):
        def work(branch):
            talk = Conversation(run, "worker")
            branch.say(talk, "system", 60 + 5 * seed)
            branch.say(talk, "user", 31 + seed)
            branch.ask(talk, 20 + seed, reasoning=7)
            branch.tool("search", 108.1840991973877)
            branch.say(talk, "tool", 150, off=-6)  # the server counted 6 more
            if seed == 1:
                branch.fork([helper(talk, 0), helper(talk, 1), lambda one: None])
            branch.ask(talk, 12)
            branch.drop_kv_cache()

        return work

    def helper(talk, seed):
        def work(branch):
            branch.tool("read", 5 + seed)
            own = Conversation(run)
            branch.say(own, "user", 48)
            branch.ask(own, 9)
            branch.tool("read", 1.5)

        return work

    root.fork([worker(0), worker(1), worker(2)])
    root.say(plan, "tool", 77, counted=False)
    root.ask(plan, 18)
    root.fork([lambda one: one.tool("left", 30), lambda one: one.tool("right", 45.25)])
    root.say(plan, "tool", 20, off=3)  # the server counted 3 fewer
    root.ask(plan, 6)
    # The history is edited: a message is replaced by a shorter one.
    root.say(plan, "user", 16, place=1)
    root.ask(plan, 5)
    return root


# Of a published run (django__django-16801): tokens of a message before each request, what the server counted,
# tokens of the answer, ms of the tool behind it.
DJANGO = [(157, 2426, 1444, 108.1840991973877), (6869, 10751, 437, 35.99667549133301),
          (10, 11210, 205, 42.06395149230957), (213, 11640, 374, 4.971027374267578)]  # fmt: skip


def published(run):
    """The messages are 12 tokens fewer than what the server counted, from the second request on."""
    root = Branch(run, [], [])
    talk = Conversation(run)
    root.say(talk, "system", 2269)
    for number, (message, prompt, output, ms) in enumerate(DJANGO):
        known = sum(len(one) for one in talk.messages)
        root.say(talk, "user" if number == 0 else "tool", prompt - known, off=message - prompt + known)
        root.ask(talk, output)
        root.tool("tool", ms)
    return root


def write_expected(folder, name, requests):
    lines = [json.dumps(one.expected(requests[:row])) for row, one in enumerate(requests)]
    (folder / f"{name}.expect.jsonl").write_text("\n".join(lines) + "\n")


def make_tensorrt(folder):
    out = folder / "tensorrt"
    out.mkdir(exist_ok=True)
    requests = []
    for name, make in (("research", research), ("django", published)):
        run = Run(f"{name}-0001")
        requests.append((name, write_run(out, f"{name}.trace.json", run, make(run))))
    # As the folder is read: by name.
    write_expected(folder, "tensorrt", [one for _, some in sorted(requests) for one in some])


# MLPerf: a message a row.

BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}}}


def make_mlperf(folder):
    rows = [{"_type": "dataset_metadata", "name": "made"}]
    requests = []

    def request(session, messages, tools, extra, delay_ns, before):
        turn = before["turn"] + 1 if before else 1
        at_ns = delay_ns + (before["at_ns"] if before else 0)
        one = {"session": session, "turn": turn, "at_ns": at_ns,
               "waits": [[before["row"], delay_ns]] if before else [],
               "body": {"messages": list(messages)}, "row": len(requests)}  # fmt: skip
        if tools:
            one["body"]["tools"] = tools
        if extra:
            one["body"]["extra"] = extra
        requests.append(one)
        return one

    for number in range(3):
        name = f"task__{number}"
        first = {"conversation_id": name, "turn": 1, "role": "user", "content": f"fix \"{number}\" é",
                 "tools": [BASH], "max_new_tokens": 64}  # fmt: skip
        messages = [{"role": "user", "content": first["content"]}]
        delay_ns = 0
        if number != 1:
            first["system"] = "You mend code."
            messages.insert(0, {"role": "system", "content": "You mend code."})
        else:
            first.update(delay_seconds=0.4, temperature=0.5, name="ann")
            messages[0]["name"] = "ann"
            delay_ns = 400_000_000
        rows.append(first)
        extra = {"max_completion_tokens": 64}
        before = request(name, messages, [BASH], {**extra, "temperature": 0.5} if number == 1 else extra,
                         delay_ns, None)  # fmt: skip
        turn = 1
        for step in range(1 + 2 * number):
            calls = [{"id": f"functions.bash:{step}", "type": "function",
                      "function": {"name": "bash", "arguments": json.dumps({"cmd": f"ls {step}"})}}]  # fmt: skip
            answer = {"reasoning_content": f"step {step}", "tool_calls": calls}
            rows.append({"conversation_id": name, "turn": turn + 1, "role": "assistant", **answer})
            messages.append({"role": "assistant", "content": None, **answer})
            results = [{"tool_call_id": f"functions.bash:{step}", "content": f"out\n{step}"}]
            if step == 2:
                results.append({"tool_call_id": "functions.bash:x", "content": ""})
            tool = {"conversation_id": name, "turn": turn + 2, "role": "tool", "tool_results": results,
                    "delay_seconds": 0.05 * (step + 1)}  # fmt: skip
            if step == 3:
                tool["max_completion_tokens"] = 128
            rows.append(tool)
            messages += [{"role": "tool", **one} for one in results]
            limit = {"max_completion_tokens": 128 if step == 3 else 64}
            before = request(name, messages, [BASH], limit, round(50_000_000 * (step + 1)), before)
            turn += 2
        rows.append({"conversation_id": name, "turn": turn + 1, "role": "assistant", "content": "done"})
        messages.append({"role": "assistant", "content": "done"})
        if number == 2:
            rows.append({"conversation_id": name, "turn": turn + 2, "role": "user", "content": "thanks",
                         "tools": None})  # fmt: skip
            messages.append({"role": "user", "content": "thanks"})
            request(name, messages, [BASH], {"max_completion_tokens": 64}, 0, before)
    (folder / "mlperf.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    lines = [json.dumps(one) for one in requests]
    (folder / "mlperf.expect.jsonl").write_text("\n".join(lines) + "\n")


# Weka as SemiAnalysis publishes it.

BLOCK = 64


def make_semianalysis(folder):
    """Ids from 0, the partial block has one too, times of sub-agents from the conversation's start, members
    that are null: as one JSONL file, and as a folder of JSON files."""
    conversations = []
    requests = []
    for number in range(2):
        ids = {}
        talk = {"id": f"tr_{number:04}", "block_size": BLOCK, "hash_id_scope": "local", "tool_tokens": 0,
                "system_tokens": None, "requests": []}  # fmt: skip

        def entry(t, prompt, output, api_time, session, turn, waits):
            blocks = [tuple(prompt[at:at + BLOCK]) for at in range(0, len(prompt), BLOCK)]
            known = [tuple(sum(blocks[:at + 1], ())) for at in range(len(blocks))]
            for one in known:
                ids.setdefault(one, len(ids))
            made = Request(prompt, output, session, turn, [], 0)
            made.at_ns = round(t * 1_000_000_000)
            made.waits = waits
            requests.append(made)
            return {"t": t, "type": "n", "model": "m1", "in": len(prompt), "out": output,
                    "hash_ids": [ids[one] for one in known], "api_time": api_time, "ttft": None,
                    "agent_id": None, "requests": None, "think_time": None}, made  # fmt: skip

        name = talk["id"]
        history = tokens(418 + 16 * number)
        first, a = entry(0.0, history, 52, 4.123, name, 1, [])
        history = history + tokens(52 + 33)
        second, b = entry(9.5, history, 20, 2.25, name, 2, [(a, round(5.377e9))])
        agent = tokens(130)
        third, c = entry(22.4, agent, 9, 0.9, f"{name}/agent_007", 1, [(b, round(10.65e9))])
        fourth, d = entry(24.0, agent + tokens(66), 7, 1.0, f"{name}/agent_007", 2, [(c, 700_000_000)])
        inner = {"t": 22.4 + 4e-7 * number, "type": "subagent", "agent_id": "agent_007", "status": "completed",
                 "requests": [third, fourth], "in": None, "out": None, "hash_ids": None}  # fmt: skip
        # A join has no gap of its own: the conversation's counts from its own last end.
        fifth, _ = entry(30.5, history + tokens(27), 5, 1.5, name, 3,
                         [(b, round(18.75e9)), (d, 0)])  # fmt: skip
        talk["requests"] = [first, second, inner, fifth]
        conversations.append(talk)
    (folder / "semianalysis").mkdir(exist_ok=True)
    lines = [json.dumps(talk, separators=(",", ":")) for talk in conversations]
    (folder / "semianalysis" / "traces.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "semianalysis_files").mkdir(exist_ok=True)
    for talk in conversations:
        (folder / "semianalysis_files" / f"{talk['id']}.json").write_text(json.dumps(talk, indent=1) + "\n")
    write_expected(folder, "semianalysis", requests)


if __name__ == "__main__":
    here = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    make_tensorrt(here)
    make_mlperf(here)
    make_semianalysis(here)
    make_talks(here)
