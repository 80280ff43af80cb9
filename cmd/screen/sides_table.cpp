#include "cmd/screen/sides_table.hpp"

#include <fmt/format.h>

#include "cmd/screen/lines.hpp"
#include "cmd/screen/plots.hpp"
#include "cmd/screen/words.hpp"

namespace driftless {

namespace {

constexpr double ns_per_us = 1e3;
constexpr double ns_per_ms = 1e6;

std::string cell(const Distribution& d, double value, double unit) {
    return d.count == 0 ? fmt::format(" {:>8}", "-") : fmt::format(" {:>8.2f}", value / unit);
}

void add_side(Lines& lines, const char* name, const OneSideFigures& side) {
    const Distribution& drift = side.drift;
    lines.raw(fmt::format("{:<{}}{:>8}{:>8}", name, label_columns - 6, grouped(side.completed),
                          grouped(side.failed)) +
              cell(side.ttft, side.ttft.median(), ns_per_ms) +
              cell(side.ttft, side.ttft.at[p99_index], ns_per_ms) +
              cell(side.tpot, side.tpot.median(), ns_per_ms) +
              cell(side.e2e, side.e2e.median(), ns_per_ms) +
              cell(drift, drift.median(), ns_per_us) + cell(drift, drift.at[p99_index], ns_per_us));
}

/// A difference, in the unit that shows it.
std::string signed_time(double ns) {
    const bool small = ns > -ns_per_ms && ns < ns_per_ms;
    return small ? fmt::format("{:+.1f} us", ns / ns_per_us)
                 : fmt::format("{:+.2f} ms", ns / ns_per_ms);
}

std::string order_text(const Distribution& d, const char* first) {
    return d.count == 0 ? fmt::format("none was sent to {} first", first)
                        : fmt::format("mean {} where {} went first ({})", signed_time(d.mean),
                                      first, grouped(d.count));
}

void add_pairs(Lines& lines, const PairFigures& pairs) {
    if (pairs.ttft.count > 0) {
        lines.add("TTFT, b less a",
                  fmt::format("p50 {} over {}; {}, {}", signed_time(pairs.ttft.median()),
                              rows_text(pairs.ttft.count), order_text(pairs.a_first, "a"),
                              order_text(pairs.b_first, "b")));
    }
    if (pairs.unpaired > 0) {
        lines.add(pairs.ttft.count > 0 ? "" : "TTFT, b less a",
                  rows_text(pairs.unpaired) + " without a first token on both sides left out");
    }
}

}  // namespace

std::string sides_table(const std::optional<SideFigures>& sides) {
    if (!sides) {
        return "";
    }
    Lines lines;
    lines.rule("Sides");
    lines.add("a", sides->a.url.empty() ? "-" : sides->a.url);
    lines.add("b", sides->b.url.empty() ? "-" : sides->b.url);
    lines.raw(fmt::format("{:<{}}{:>8}{:>8}{:>9}{:>9}{:>9}{:>9}{:>18}", "ms", label_columns - 6,
                          "ok", "failed", "TTFT p50", "p99", "TPOT p50", "E2E p50",
                          "drift p50, p99 us"));
    add_side(lines, "a", sides->a);
    add_side(lines, "b", sides->b);
    add_pairs(lines, sides->pairs);
    lines.rule("");
    return lines.take();
}

}  // namespace driftless
