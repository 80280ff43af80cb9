/// Dialogue: the conversation at hand of a format that has one message a row.
///
/// It checks that turns and roles follow each other and gathers the messages, so that a row that
/// asks for an answer can be given everything said before it. Rows of a conversation stand
/// together, so that there is one of these a file. Part of a TraceDraft; no clock, no file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/trace/row.hpp"

namespace driftless {

/// Who speaks. `none`: nobody has.
enum class Speaker : std::uint8_t { none, user, assistant, tool };

struct Dialogue {
    std::string id;
    std::uint32_t session = no_session;  ///< of `Trace::sessions`
    std::uint32_t turn = 0;              ///< of the row before
    Speaker speaker = Speaker::none;     ///< of the row before
    bool calls_tools = false;            ///< the row before asks for results of tools
    bool has_system = false;
    bool broken = false;   ///< one of its rows was refused: those behind it mean nothing
    std::string messages;  ///< JSON objects with commas between them
    std::string tools;     ///< JSON list that holds for rows without one; empty: none
    std::uint32_t answer_tokens_max = 0;  ///< holds for rows without a limit; 0: none

    /// Appends messages: JSON objects with commas between them.
    void add(std::string_view objects) {
        messages += messages.empty() || objects.empty() ? "" : ",";
        messages += objects;
    }
};

/// Whether a row of `next` may follow the dialogue so far. What forbids it, a clause; empty: it
/// may.
std::string_view order_problem(const Dialogue& dialogue, Speaker next);

}  // namespace driftless
