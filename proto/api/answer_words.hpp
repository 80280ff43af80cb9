/// AnswerWords: what an assistant said, put together from the events of an answer, and the message
/// that it is in later requests of the conversation. Plain values; bytes in, bytes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"

namespace driftless {

/// A call of a tool, as far as it has come.
struct SaidCall {
    std::uint64_t index = 0;  ///< by which the parts of a call belong together
    std::string id;
    std::string name;
    std::string arguments;  ///< JSON text
};

/// The calls of an answer: at most 256 of them, of 4 MiB in all; what is beyond is `cut`.
class SaidCalls {
  public:
    /// One event's list of calls, or of parts of them. Absent: nothing. Parts belong together by
    /// their index, or follow one another where there is none; another id is another call.
    void take(const JsonValue& calls);
    void clear();
    const std::vector<SaidCall>& all() const { return calls_; }
    bool is_cut() const { return cut_; }

  private:
    SaidCall* call_of(const JsonValue& part);
    void append(std::string& to, std::string_view text);

    std::vector<SaidCall> calls_;
    std::size_t bytes_ = 0;
    bool cut_ = false;
};

/// What of an answer stays in the conversation (`--live-keep`).
struct KeptWords {
    bool text = true;
    bool tools = true;
    bool reasoning = false;
};

/// Appends the answer as a message of the chat completions API. An answer without text and calls
/// is an empty text.
void append_answer_message(std::string& out, std::string_view content, std::string_view reasoning,
                           const std::vector<SaidCall>& calls, const KeptWords& kept);

}  // namespace driftless
