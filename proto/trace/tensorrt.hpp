/// TensorRT-LLM's execution traces of agents (`*.trace.json`): a JSON object is one run of an
/// agent, a list of events in the order in which they happened.
///
/// A message of an assistant is a request. Its prompt is the messages of its conversation so far,
/// whose tokens were counted, made as long as the server counted it; block ids are made from them.
/// System prompts of one `system_prompt_id` are the same in all conversations and runs. Events of
/// one `branch_path` follow each other; calls of tools are pauses; a fork's branches begin where
/// its parent stood, and the parent goes on when all have ended. There are no times of arrival.
/// Full traces (`*.full.trace.json`) are read by the same counts; their text is not sent. Source:
/// NVIDIA/TensorRT-LLM, tensorrt_llm/scaffolding (2026).
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat tensorrt_format;

}  // namespace driftless
