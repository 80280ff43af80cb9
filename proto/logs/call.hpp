/// LogCall: one request of a service's log, as an importer found it: when, how long, and its text.
///
/// Text, names and ids of the log live here while block ids are made of them, and nowhere else:
/// nothing of a LogCall but times, lengths and what `--keep` names is ever written. Owned by the
/// LogReader, valid until its next line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace driftless {

/// A part of a prompt. `role` is empty where the prompt is one text (completions APIs).
struct LogMessage {
    std::string role;
    std::string text;
};

struct LogCall {
    std::int64_t start_ns = 0;                   ///< since 1970
    std::optional<std::int64_t> end_ns;          ///< of the whole answer; not before `start_ns`
    std::vector<LogMessage> prompt;              ///< empty: the log holds no text of it
    std::optional<std::string> answer;           ///< text and tool calls of the first choice
    std::optional<std::uint32_t> input_tokens;   ///< as the server counted them
    std::optional<std::uint32_t> output_tokens;  ///< as the server counted them
    std::string session;                         ///< conversation or trace; empty: none
    std::string id;                              ///< of the call; empty: none
    std::string model;                           ///< empty: not said
    std::optional<bool> streamed;
    bool failed = false;
    std::string kept;        ///< `--keep`: a JSON object; empty where nothing is kept
    std::uint64_t line = 0;  ///< where it stands in its file
    std::string place;       ///< inside the line: "spans[3]."
};

}  // namespace driftless
