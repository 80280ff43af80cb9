// Any bytes give the same response, or the same error, however they arrive.

#include "proto/http/parsers.hpp"
#include "tests/fuzz/shared/pieces.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

std::string as_text(const KeepAliveLimits& limits) {
    return std::to_string(limits.timeout_s.value_or(0)) + (limits.timeout_s ? "t" : "-") +
           std::to_string(limits.max.value_or(0)) + (limits.max ? "m" : "-");
}

std::string read(const std::vector<std::vector<char>>& pieces) {
    ResponseParser parser;
    std::string head;
    std::string seen;
    bool over = false;
    for (const std::vector<char>& piece : pieces) {
        std::string_view bytes{piece.data(), piece.size()};
        while (!over) {
            const ResponseParser::Step step = parser.feed(bytes);
            CHECK(step.consumed <= bytes.size());
            bytes.remove_prefix(step.consumed);
            if (step.piece == ResponsePiece::need_more) {
                CHECK(bytes.empty());
                break;
            }
            if (step.piece == ResponsePiece::head_bytes) {
                CHECK(!step.span.empty());
                head += step.span;
            } else if (step.piece == ResponsePiece::head_done) {
                CHECK(parser.status() >= 200);
                seen += "\n" + std::to_string(parser.status()) + (parser.keep_alive() ? "k" : "c") +
                        (parser.close_delimited() ? "e" : "f") + "\n" +
                        as_text(parser.keep_alive_limits());
            } else if (step.piece == ResponsePiece::body) {
                CHECK(!step.span.empty());
                seen += step.span;
            } else {
                over = true;
                seen += step.piece == ResponsePiece::done ? "\ndone" : "\nerror";
                seen += parser.head_too_large() ? " too large" : "";
            }
        }
    }
    return head + seen + (parser.finish() ? "!" : "?");
}

void fuzz_response(std::string_view input) {
    check_every_way(read_input(input), read);
}

const FuzzTargets response_target = {{"response", fuzz_response}};

}  // namespace
}  // namespace driftless
