/// RequestLog: the truth about one completion request, as the server saw it.
///
/// All instants are readings of the server's clock in ns; 0: it never happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/mock/behaviour.hpp"
#include "cmd/mock/history.hpp"

namespace driftless::mock {

/// How an exchange ended for the server.
enum class Ending : std::uint8_t {
    complete,  ///< everything that was meant to be sent was handed to the kernel
    faulted,   ///< cut short on purpose
    aborted,   ///< the peer left before
};

/// A header field that says whose request it is.
struct SessionField {
    std::string name;
    std::string value;
};

struct RequestLog {
    std::string request_id;
    std::optional<std::uint64_t> row;
    std::string traceparent;              ///< as it came; empty: none
    std::vector<SessionField> session;    ///< those header fields that came, as they are asked for
    std::optional<HistoryCount> history;  ///< where histories are checked
    std::uint64_t connection = 0;         ///< count of accepts, from 0
    const char* api = "";                 ///< the dialect that was spoken
    bool stream = true;
    Ending ending = Ending::complete;
    int status = 0;
    Fault fault = Fault::none;
    std::int64_t start_ns = 0;      ///< first byte of the request was read
    std::int64_t last_byte_ns = 0;  ///< last byte of it
    std::int64_t begin_ns = 0;      ///< its slot was free and its answer began to be made
    std::int64_t due_ns = 0;        ///< the schedule's instant of the first token
    std::int64_t end_ns = 0;
    std::uint32_t prompt_tokens = 0;
    std::uint32_t cached_tokens = 0;
    std::uint32_t asked_tokens = 0;
    std::uint32_t output_tokens = 0;     ///< sent
    std::uint32_t tokens_per_chunk = 1;  ///< at most; less in the last chunk, and before a turn
    /// Read right before the send of each chunk with tokens was handed over. One entry for an
    /// answer that was not streamed.
    std::vector<std::int64_t> token_ns;

    /// What the first of its session fields says; empty: none came.
    std::string_view session_value() const {
        return session.empty() ? std::string_view() : session.front().value;
    }
};

/// Appends one line of JSON, line end included.
void append_log_line(std::string& out, const RequestLog& entry);

}  // namespace driftless::mock
