// Any bytes are cut into the same events, however they arrive; no byte is lost or said twice, and
// an event reads the same whether line ends are LF, CR or CRLF.
#include "proto/http/sse.hpp"

#include "tests/fuzz/shared/pieces.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

std::vector<std::string> cut(Framing framing, const std::vector<std::vector<char>>& pieces) {
    EventScanner scanner;
    scanner.reset(framing);
    std::vector<std::string> events(1);
    for (const std::vector<char>& piece : pieces) {
        std::string_view bytes{piece.data(), piece.size()};
        while (!bytes.empty()) {
            const std::size_t end = scanner.next(bytes);
            CHECK(end <= bytes.size());
            events.back() += bytes.substr(0, end == 0 ? bytes.size() : end);
            bytes.remove_prefix(end == 0 ? bytes.size() : end);
            if (end != 0) {
                CHECK(!scanner.pending());
                events.emplace_back();
            }
        }
    }
    const bool blank = events.back().find_first_not_of("\r\n") == std::string::npos;
    CHECK(framing == Framing::whole || scanner.pending() == !blank);
    return events;
}

// Every event as name and data, with line ends written as `line_end`.
std::string read(std::string_view bytes, std::string_view line_end) {
    std::vector<char> text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const bool lf = bytes[i] == '\n';
        const bool cr = bytes[i] == '\r';
        if (lf || cr) {
            i += cr && i + 1 < bytes.size() && bytes[i + 1] == '\n' ? 1 : 0;
            text.insert(text.end(), line_end.begin(), line_end.end());
        } else {
            text.push_back(bytes[i]);
        }
    }
    std::string seen;
    std::string joined;
    for (const std::string& block : cut(Framing::sse, {text})) {
        const SseEvent event = read_sse_event(block, joined);
        seen +=
            std::string(event.name) + (event.has_data ? "=" : "") + std::string(event.data) + ";";
    }
    return seen;
}

void fuzz_sse(std::string_view any) {
    const FuzzInput input = read_input(any);
    const auto ways = ways_to_feed(input);
    for (const Framing framing : {Framing::sse, Framing::lines, Framing::whole}) {
        const std::vector<std::string> whole = cut(framing, ways[0]);
        CHECK(cut(framing, ways[1]) == whole);
        CHECK(cut(framing, ways[2]) == whole);
        std::string joined;
        for (const std::string& event : whole) {
            joined += event;
        }
        CHECK(joined == input.bytes);
    }
    CHECK(read(input.bytes, "\n") == read(input.bytes, "\r"));
    CHECK(read(input.bytes, "\n") == read(input.bytes, "\r\n"));
}

const FuzzTargets sse_target = {{"sse", fuzz_sse}};

}  // namespace
}  // namespace driftless
