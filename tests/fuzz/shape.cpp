// Any bytes as a --shape file: refused with the file's name, or a curve that can be asked at every
// count of arrivals: its instants do not fall, and as many arrivals are expected by each of them.
#include "cmd/flags/checks.hpp"
#include "cmd/flags/replay_values.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

// A second of double precision at `seconds`, at the highest rate that there is, beside the rounding
// of the sums.
double tolerance(double seconds, double arrivals) {
    return 1 + 1e-6 * arrivals + seconds * rate_most * 1e-14;
}

void check_curve(const RateCurve& curve) {
    CHECK(!curve.is_zero());
    CHECK(std::isfinite(curve.last_rate()) && curve.last_rate() >= 0);
    double before = 0;
    for (const double arrivals : {0.0, 0.5, 1.0, 2.0, 10.0, 1e3, 1e6, 1e9, 4e9}) {
        const std::optional<double> seconds = curve.seconds_at(arrivals);
        if (!seconds) {
            CHECK(curve.last_rate() == 0);
            continue;
        }
        CHECK(std::isfinite(*seconds) && *seconds >= before);
        CHECK(std::abs(curve.arrivals_by(*seconds) - arrivals) <= tolerance(*seconds, arrivals));
        before = *seconds;
    }
}

std::string with_crlf(std::string_view text) {
    std::string out;
    for (const char c : text) {
        out += c == '\n' ? "\r\n" : std::string(1, c);
    }
    return out;
}

void fuzz_shape(std::string_view text) {
    RateCurve curve(0);
    const std::string why = parse_shape("--shape file", text, curve);
    CHECK(why.empty() || why.starts_with("--shape file:"));
    if (why.empty()) {
        check_curve(curve);
    }
    if (text.find('\r') == text.npos) {
        RateCurve same(0);
        CHECK(parse_shape("--shape file", with_crlf(text), same) == why);
        CHECK(!why.empty() || same.seconds_at(7) == curve.seconds_at(7));
    }
}

const FuzzTargets shape_target = {{"shape", fuzz_shape}};

}  // namespace
}  // namespace driftless
