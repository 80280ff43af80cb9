/// Heads in pieces: whole, byte by byte and at every split, for tests of what reads them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "proto/http/parsers.hpp"

namespace driftless {

/// Calls `use` with the pieces of a text, cut once at each place, and then into single bytes.
template <class Use>
void each_cut(std::string_view text, Use use) {
    std::vector<std::string_view> bytes;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        use(std::vector<std::string_view>{text.substr(0, at), text.substr(at)});
        bytes.push_back(text.substr(at, 1));
    }
    use(bytes);
}

/// Calls `use` with a parser that has read the head of an answer without a body, for each cut.
template <class Use>
void each_parsed(std::string_view head, Use use) {
    each_cut(head, [&use](const std::vector<std::string_view>& pieces) {
        ResponseParser parser;
        for (std::string_view piece : pieces) {
            ResponsePiece got = ResponsePiece::head_bytes;
            while (got != ResponsePiece::need_more && got != ResponsePiece::done) {
                const ResponseParser::Step step = parser.feed(piece);
                piece.remove_prefix(step.consumed);
                got = step.piece;
            }
        }
        use(parser);
    });
}

}  // namespace driftless
