// Any bytes give the same requests, or the same error, however they arrive.

#include "proto/http/parsers.hpp"
#include "tests/fuzz/shared/pieces.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

std::string read(const std::vector<std::vector<char>>& pieces) {
    RequestParser parser;
    std::string seen;
    for (const std::vector<char>& piece : pieces) {
        std::string_view bytes{piece.data(), piece.size()};
        while (true) {
            const RequestParser::Step step = parser.feed(bytes);
            CHECK(step.consumed <= bytes.size());
            bytes.remove_prefix(step.consumed);
            if (step.piece == RequestPiece::head_done) {
                seen += std::string(parser.method()) + " " + std::string(parser.target()) + " " +
                        std::string(parser.header("x-request-id")) + " " +
                        std::to_string(parser.content_length()) +
                        (parser.keep_alive() ? "k" : "c") +
                        (parser.expects_continue() ? "e\n" : "\n");
            } else if (step.piece == RequestPiece::body) {
                CHECK(!step.span.empty());
                seen += step.span;
            } else if (step.piece == RequestPiece::done) {
                seen += "\ndone\n";
                parser.reset();
            } else if (step.piece == RequestPiece::error) {
                return seen + "\nerror" + (parser.head_too_large() ? " too large" : "");
            } else {
                CHECK(bytes.empty());
                break;
            }
        }
    }
    return seen + (parser.idle() ? "" : "?");
}

void fuzz_request_parser(std::string_view input) {
    check_every_way(read_input(input), read);
}

const FuzzTargets request_parser_target = {{"request_parser", fuzz_request_parser}};

}  // namespace
}  // namespace driftless
