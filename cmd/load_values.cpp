#include "cmd/load_values.hpp"

namespace driftless {
namespace {

constexpr std::uint64_t copies_max = 1'000'000;

}  // namespace

Result<std::optional<Share>> parse_sample(std::string_view text) {
    const Result<Share> share = parse_share(text);
    if (!share) {
        return Error{share.error().code, 0,
                     "is not a share; use a decimal above 0 and up to 1, or 10%"};
    }
    return share.value().billionths == Share{}.billionths ? std::optional<Share>()
                                                          : std::optional(share.value());
}

Result<Copies> parse_copies(std::string_view text) {
    constexpr std::string_view by_rows = "rows:";
    const bool is_rows = text.starts_with(by_rows);
    const Result<std::uint64_t> count =
        parse_positive_count(text.substr(is_rows ? by_rows.size() : 0));
    if (!count || count.value() > (is_rows ? replicated_rows_max : copies_max)) {
        return Error{ErrorCode::invalid, 0,
                     "is not a number of copies from 1 to 1000000, or rows:N with N from 1 to "
                     "100000000"};
    }
    const auto number = static_cast<std::uint32_t>(count.value());
    return is_rows ? Copies(1, number) : Copies(number);
}

Result<Sharing> parse_sharing(std::string_view text) {
    if (text == "session" || text == "all") {
        return text == "all" ? Sharing::all : Sharing::session;
    }
    return Error{ErrorCode::invalid, 0, "is not known; use session or all"};
}

const char* load_refusal(const Error& error) {
    switch (error.code) {
        case ErrorCode::exists:
            return "--share: the trace's block ids already say what rows share; remove this flag";
        case ErrorCode::missing:
            return "--share session: the trace has no sessions; use --share all";
        case ErrorCode::not_found:
            return "--max-context: every session of the trace has a longer request; raise the "
                   "limit";
        default:
            return "--replicate: all copies together have more than 4,294,967,294 rows; use fewer "
                   "copies";
    }
}

std::vector<std::string> load_notes(const LoadFigures& figures) {
    std::vector<std::string> notes;
    if (figures.share != Sharing::none) {
        notes.push_back(std::to_string(figures.rows_sharing) + " of " +
                        std::to_string(figures.rows_read) +
                        " rows are prefixes of one shared prompt" +
                        (figures.share == Sharing::session ? " a session" : ""));
    }
    if (const AdmissionFigures& admission = figures.admission; admission.families > 0) {
        notes.push_back(std::to_string(admission.kept) + " of " +
                        std::to_string(admission.families) + " session trees are used; " +
                        std::to_string(admission.too_long) +
                        " have a request longer than --max-context");
    }
    if (figures.families > 0) {
        notes.push_back("sample of " + std::to_string(figures.families_sampled) + " of " +
                        std::to_string(figures.families) + " sessions, " +
                        std::to_string(figures.rows_sampled) + " of " +
                        std::to_string(figures.rows_read) + " rows");
    }
    if (figures.copies > 1) {
        notes.push_back(std::to_string(figures.copies) + " copies of " +
                        std::to_string(figures.rows_sampled) + " rows, which share nothing and " +
                        (figures.in_turn ? "follow each other"
                                         : "start within " + duration_to_text(figures.within_ns)));
    }
    return notes;
}

}  // namespace driftless
