// Any bytes as a histogram file of synth, once as tokens and once as milliseconds: refused with the
// number of a line that is there, or bins between the bounds, from which every draw comes.
#include "engine/plan/synth_spec.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

struct Bounds {
    std::int64_t unit;
    std::int64_t low;
    std::int64_t high;
};

bool holds(const LawBin& bin, std::int64_t value) {
    return value >= bin.low && value <= bin.high;
}

void check_bins(const std::vector<LawBin>& bins, const Bounds& bounds) {
    CHECK(!bins.empty() && bins.size() <= law_bins_max);
    std::uint64_t before = 0;
    for (const LawBin& bin : bins) {
        CHECK(bounds.low <= bin.low && bin.low <= bin.high && bin.high <= bounds.high);
        CHECK(bin.low % bounds.unit == 0 && bin.high % bounds.unit == 0);
        CHECK(bin.upto > before);
        before = bin.upto;
    }
    ValueLaw law{.kind = LawKind::histogram, .low = bounds.low, .high = bounds.high, .bins = bins};
    Random random(bins.size());
    for (int i = 0; i < 16; ++i) {
        const std::int64_t value = draw(law, random);
        CHECK(std::any_of(bins.begin(), bins.end(),
                          [value](const LawBin& bin) { return holds(bin, value); }));
    }
}

void check_text(std::string_view text, const Bounds& bounds) {
    std::uint64_t line = 0;
    const Result<std::vector<LawBin>> bins =
        read_law_bins(text, bounds.unit, bounds.low, bounds.high, line);
    if (bins) {
        check_bins(bins.value(), bounds);
        return;
    }
    const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    CHECK(!std::string_view(bins.error().doing).empty());
    CHECK(line <= lines && (line > 0 || bins.error().code == ErrorCode::missing));
}

void fuzz_histogram(std::string_view text) {
    check_text(text, {1, 1, 10'000'000});
    check_text(text, {1'000'000, 0, 3'153'600'000'000'000'000});
}

const FuzzTargets histogram_target = {{"histogram", fuzz_histogram}};

}  // namespace
}  // namespace driftless
