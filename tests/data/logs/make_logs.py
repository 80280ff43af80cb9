#!/usr/bin/env python3
"""Writes the same few calls of a made-up service as every log format has them.

Two conversations under one system prompt, one call that fails and is tried again; nothing else. All
files must become the same trace. Run it in its folder; the files are committed.
"""

import datetime
import json

BEGIN = 1_767_607_200  # 2026-01-05 10:00:00 UTC
SYSTEM = ("You are the clerk of the harbour office of Marzipan Bay. You answer in short sentences, "
          "you know all tides, all berths and all fees, and you never guess: what is not in the "
          "harbour book you do not say. Ships are named in capitals, times are those of the bay.")
QUESTION = "When may the QUILLFEATHER leave berth seven, and what does she owe?"
ANSWER = "The QUILLFEATHER may leave at 14:20 on the ebb. She owes 41 crowns for two nights."
FOLLOW_UP = "And if she stays another night, would berth seven still be free for her?"
OTHER = "Which berths are deep enough for the OSTRICH EGG at low water on Thursday?"


def call(number, at, end, session, messages, answer, usage, failed=False):
    return {"number": number, "at": at, "end": end, "session": session, "messages": messages,
            "answer": answer, "usage": usage, "failed": failed}


def message(role, content):
    return {"role": role, "content": content}


FIRST = [message("system", SYSTEM), message("user", QUESTION)]
BETA = [message("system", SYSTEM), message("user", OTHER)]
SECOND = FIRST + [message("assistant", ANSWER), message("user", FOLLOW_UP)]
# In the order in which they ended, as gateways write them.
CALLS = [
    call(2, 0.5, 0.75, "conversation-beta", BETA, "", None, failed=True),
    call(1, 0.0, 1.25, "conversation-alpha", FIRST, ANSWER, (262, 64)),
    call(3, 1.0, 2.5, "conversation-beta", BETA, "Berths two and nine.", (267, 14)),
    call(4, 4.125, 5.0, "conversation-alpha", SECOND, "Yes, until Friday noon.", (397, 21)),
]


def iso(at, zone="", between="T"):
    when = datetime.datetime.fromtimestamp(BEGIN + at, datetime.timezone.utc)
    return when.strftime(f"%Y-%m-%d{between}%H:%M:%S.%f") + zone


def usage_of(one, prompt, completion):
    return {} if one["usage"] is None else {prompt: one["usage"][0], completion: one["usage"][1]}


def response_of(one):
    return {"id": f"resp-{one['number']}", "object": "chat.completion", "choices": [
        {"index": 0, "finish_reason": "stop", "message": message("assistant", one["answer"])}],
        "usage": usage_of(one, "prompt_tokens", "completion_tokens")}


def litellm(one):
    return {
        "id": f"call-{one['number']}", "trace_id": f"trace-{one['number']}",
        "call_type": "acompletion", "stream": True, "status":
        "failure" if one["failed"] else "success", "model": "harbour-7b",
        "model_group": "harbour", "startTime": BEGIN + one["at"], "endTime": BEGIN + one["end"],
        "completionStartTime": BEGIN + one["at"] + 0.1, "cache_hit": False,
        "metadata": {"user_api_key_alias": "desk-key", "litellm_session_id": one["session"]},
        **(usage_of(one, "prompt_tokens", "completion_tokens")
           or {"prompt_tokens": 0, "completion_tokens": 0}),
        "messages": one["messages"], "response": None if one["failed"] else response_of(one),
    }


def langfuse(one):
    return {
        "id": f"obs-{one['number']}", "trace_id": f"trace-{one['number']}", "type": "GENERATION",
        "session_id": one["session"], "user_id": "clerk-3", "level":
        "ERROR" if one["failed"] else "DEFAULT", "model": "harbour-7b",
        "start_time": iso(one["at"], between=" "), "end_time": iso(one["end"], between=" "),
        "completion_start_time": iso(one["at"] + 0.1, between=" "),
        "input": json.dumps(one["messages"]),
        "output": json.dumps(message("assistant", one["answer"])),
        "usage_details": {} if one["usage"] is None else {
            "input": one["usage"][0] - 16, "input_cached_tokens": 16, "output": one["usage"][1],
            "total": sum(one["usage"])},
    }


def parts(messages):
    return [{"role": one["role"], "parts": [{"type": "text", "content": one["content"]}]}
            for one in messages]


def otel(one):
    return {
        "trace_id": f"{one['number']:032x}", "span_id": f"{one['number']:016x}",
        "parent_span_id": None, "name": "chat harbour-7b", "kind": "CLIENT",
        "start_time": iso(one["at"], "+00:00"), "end_time": iso(one["end"], "+00:00"),
        "status": {"code": 2 if one["failed"] else 0},
        "attributes": {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "harbour-7b",
            "gen_ai.conversation.id": one["session"],
            "gen_ai.input.messages": json.dumps(parts(one["messages"])),
            "gen_ai.output.messages": json.dumps(parts([message("assistant", one["answer"])])),
            **usage_of(one, "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
        },
    }


def otlp_value(value):
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def otlp(one):
    span = otel(one)
    start = BEGIN * 10**9 + round(one["at"] * 10**9)
    end = BEGIN * 10**9 + round(one["end"] * 10**9)
    return {
        "traceId": span["trace_id"], "spanId": span["span_id"], "name": span["name"], "kind": 3,
        "startTimeUnixNano": str(start), "endTimeUnixNano": str(end), "status": span["status"],
        "attributes": [{"key": key, "value": otlp_value(value)}
                       for key, value in span["attributes"].items()],
    }


def plain(one):
    return {
        "timestamp": iso(one["at"], "Z"), "end_time": iso(one["end"], "Z"),
        "request_id": f"req-{one['number']}", "session_id": one["session"],
        "status": 503 if one["failed"] else 200,
        "request": {"model": "harbour-7b", "stream": True, "messages": one["messages"]},
        "response": {"error": {"message": "overloaded"}} if one["failed"] else response_of(one),
    }


def write(name, objects, indent=None):
    with open(name, "w", encoding="ascii") as file:
        for one in objects:
            file.write(json.dumps(one, indent=indent) + "\n")


AGENT = {"trace_id": "f" * 32, "span_id": "e" * 16, "name": "invoke_agent desk", "kind": "INTERNAL",
         "start_time": iso(0.0), "end_time": iso(9.0), "attributes": {}, "status": {"code": 0}}
TRACE_ROW = {"id": "obs-0", "trace_id": "trace-0", "type": "SPAN", "start_time": iso(0, between=" "),
             "input": "the desk opens"}

write("litellm.jsonl", [litellm(one) for one in CALLS])
write("langfuse.jsonl", [TRACE_ROW] + [langfuse(one) for one in CALLS])
write("otel.json", [{"trace_id": "0" * 32, "span_count": 5,
                     "spans": [AGENT] + [otel(one) for one in CALLS]}], indent=1)
write("otlp.jsonl", [{"resourceSpans": [{"resource": {}, "scopeSpans": [
    {"scope": {}, "spans": [otlp(one) for one in pair]}]}]} for pair in (CALLS[:2], CALLS[2:])])
write("plain.jsonl", [plain(one) for one in CALLS])
