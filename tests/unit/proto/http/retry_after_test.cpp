// When a server says that a request may come again is read from any head, however it is cut.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http/fields.hpp"
#include "tests/unit/proto/http/cuts.hpp"

namespace driftless {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t hour_ns = 3'600 * second_ns;

struct RetryCase {
    std::string fields;
    std::optional<std::int64_t> wait_ns;
};

// RFC 9110, 10.2.3 (seconds, or a date), and decimals, which some gateways send.
const std::vector<RetryCase> retry_cases = {
    {"Retry-After: 3\r\n", 3 * second_ns},
    {"retry-after:120\n", 120 * second_ns},
    {"RETRY-AFTER: \t 7 \t \r\n", 7 * second_ns},
    {"Retry-After: 0\r\n", 0},
    {"Retry-After: 1.5\r\n", 1'500'000'000},
    {"Retry-After: .25\r\n", 250'000'000},
    {"Retry-After: 0.0000000019\r\n", 1},
    {"Retry-After: 1e1\r\n", 10 * second_ns},
    // An hour at most: below, at and above it, and beyond every integer.
    {"Retry-After: 3599.999999999\r\n", hour_ns - 1},
    {"Retry-After: 3600\r\n", hour_ns},
    {"Retry-After: 3600.000000001\r\n", hour_ns},
    {"Retry-After: 18446744073709551616\r\n", hour_ns},
    {"Retry-After: 1e99999999999\r\n", hour_ns},
    // Not said.
    {"Retry-After: -1\r\n", {}},
    {"Retry-After: -0\r\n", {}},
    {"Retry-After:\r\n", {}},
    {"Retry-After: \r\n", {}},
    {"Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", {}},
    {"Retry-After: soon\r\n", {}},
    {"Retry-After: 3s\r\n", {}},
    {"Retry-After: 3, 4\r\n", {}},
    {"Retry-After: 0x10\r\n", {}},
    {"Retry-After: inf\r\n", {}},
    {"X-Retry-After: 3\r\n", {}},
    {"Retry-After-Ms: 300\r\n", {}},
    {"Retry-After : 3\r\n", {}},
    {"Server: Retry-After: 3\r\n", {}},
    {"Retry-Afte\r\nr: 3\r\n", {}},
    {"", {}},
    // Of several the last that says a number.
    {"Retry-After: 3\r\nRetry-After: 5\r\n", 5 * second_ns},
    {"Retry-After: 5\r\nX: y\r\nretry-after: 3\r\n", 3 * second_ns},
    {"Retry-After: 5\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", 5 * second_ns},
    {"Retry-After: later\r\nRetry-After: 2\r\n", 2 * second_ns},
};

std::string head_of(const std::string& fields) {
    return "HTTP/1.1 429 Too Many Requests\r\n" + fields + "Content-Length: 0\r\n\r\n";
}

std::optional<std::int64_t> scan_retry(const std::vector<std::string_view>& pieces) {
    RetryAfterScanner scanner;
    for (const std::string_view piece : pieces) {
        scanner.feed(piece);
    }
    return scanner.wait_ns();
}

TEST(RetryAfter, IsReadWholeByteByByteAndAtEverySplit) {
    for (const RetryCase& wanted : retry_cases) {
        const std::string head = head_of(wanted.fields);
        each_cut(head, [&](const std::vector<std::string_view>& pieces) {
            EXPECT_EQ(scan_retry(pieces), wanted.wait_ns) << head << pieces[0].size();
        });
    }
}

// A head that ends too early has said nothing before the end of the line.
TEST(RetryAfter, CountsAtTheEndOfItsLine) {
    const std::string head = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 12\r\n";
    for (std::size_t bytes = 0; bytes <= head.size(); ++bytes) {
        const bool whole = bytes == head.size();
        EXPECT_EQ(scan_retry({std::string_view(head).substr(0, bytes)}),
                  whole ? std::optional(12 * second_ns) : std::nullopt)
            << bytes;
    }
}

// The status line is not a field, and the next head begins anew.
TEST(RetryAfter, BelongsToOneHead) {
    EXPECT_EQ(scan_retry({"Retry-After: 3\r\n\r\n"}), std::nullopt);
    RetryAfterScanner scanner;
    scanner.feed(head_of("Retry-After: 3\r\n"));
    EXPECT_EQ(scanner.wait_ns(), 3 * second_ns);
    scanner.reset();
    EXPECT_EQ(scanner.wait_ns(), std::nullopt);
    scanner.feed("HTTP/1.1 429 Retry-After: 3\r\n\r\n");
    EXPECT_EQ(scanner.wait_ns(), std::nullopt);
}

// Through the parser: that of the final head alone, and of this message alone.
TEST(RetryAfter, BelongsToOneFinalHead) {
    const std::string interim = "HTTP/1.1 103 Early Hints\r\nRetry-After: 1\r\n\r\n";
    for (const std::string fields : {"Retry-After: 5\r\n", "X: y\r\n"}) {
        const std::string head = interim + head_of(fields);
        const bool is_said = fields.front() == 'R';
        each_parsed(head, [is_said](ResponseParser& parser) {
            EXPECT_EQ(parser.retry_after_ns(),
                      is_said ? std::optional(5 * second_ns) : std::nullopt);
            parser.reset();
            EXPECT_EQ(parser.retry_after_ns(), std::nullopt);
        });
    }
}

// A value is kept up to a limit (limit - 1, limit, limit + 1), and no number is read in part.
TEST(RetryAfter, BoundsItsValue) {
    for (const int more : {-1, 0, 1, 2, 20}) {
        const std::size_t bytes = FieldScanner::value_bytes_max + static_cast<std::size_t>(more);
        const std::string zeros(bytes - 1, '0');
        EXPECT_EQ(scan_retry({head_of("Retry-After:" + zeros + "5\r\n")}),
                  more <= 0 ? std::optional(5 * second_ns) : std::nullopt)
            << more;
    }
}

}  // namespace
}  // namespace driftless
