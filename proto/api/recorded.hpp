/// Recorded requests: what a trace kept of a request's own words, made into the body that is sent.
///
/// A recorded request is one JSON object: {"text_input": ".."}, {"messages": [..], "tools": [..]}
/// or {"payload": {..}}, with "extra": {..} if the row had members of its own for the body. The
/// words are sent as they were recorded. What servers refuse or would misread is fixed and counted
/// (trace-formats 11.4): members that are null, empty lists of tools, the role `developer`,
/// arguments of tool calls that are not text, and whatever the run decides (model, stream, length
/// of the answer). Bytes in, bytes out; no file, no clock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api/dialect.hpp"

namespace driftless {

/// What was fixed, counted over all bodies.
struct RecordedFixes {
    std::uint64_t nulls = 0;        ///< members that were null, left out
    std::uint64_t roles = 0;        ///< messages of the role developer, sent as system
    std::uint64_t arguments = 0;    ///< arguments of tool calls that were objects, sent as text
    std::uint64_t call_ids = 0;     ///< tool calls without an id, which got one
    std::uint64_t models = 0;       ///< model names replaced by the run's
    std::uint64_t lengths = 0;      ///< limits of answers replaced by the recorded length
    std::uint64_t constrained = 0;  ///< answers bound to a grammar: asked without ignore_eos
};

/// A fix as a person reads it, and as run.json names it.
struct FixName {
    const char* key;
    const char* one;
    const char* many;
    std::uint64_t RecordedFixes::* count;
};
/// All of them. Static storage.
const std::array<FixName, 7>& recorded_fix_names();

/// Where a message of a chat stands in a body, and whose it is.
struct MessageSpan {
    std::size_t begin = 0;     ///< its first byte, of the body
    std::size_t end = 0;       ///< behind its last one
    std::size_t text_end = 0;  ///< behind the last byte of its text; 0: it has no text, or parts
    bool is_answer = false;    ///< the assistant's
};

class RecordedComposer {
  public:
    /// `spec.prompt` is not looked at: recorded words are text. Both are copied or static.
    RecordedComposer(const Dialect& dialect, const BodySpec& spec);
    ~RecordedComposer();
    RecordedComposer(const RecordedComposer&) = delete;
    RecordedComposer& operator=(const RecordedComposer&) = delete;

    /// The spec's extra body of the requests that follow.
    void set_extra_body(std::string object);

    /// Appends the body of one recorded request. `output_length` 0: unknown, the answer is bounded
    /// by what the request itself says. Errors: bad_json (no recorded request, or `extra_body` is
    /// no object), unsupported (the dialect takes no such request; the text says what would).
    Result<void> compose(std::string_view recorded, std::uint32_t output_length, std::string& out);

    /// Messages of the body that was composed last, in their order; empty where it has none.
    const std::vector<MessageSpan>& messages() const;

    const RecordedFixes& fixes() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace driftless
