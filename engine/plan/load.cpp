#include "engine/plan/load.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/trees.hpp"
#include "proto/core/decimal.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

void keep_families(const Families& families, const std::vector<bool>& stays, Trace& trace) {
    std::vector<bool> row_stays(trace.rows.size(), false);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
        if (stays[families.of_row[i]]) {
            row_stays[trace.rows[i].index] = true;
            trace.rows[kept++] = trace.rows[i];
        }
    }
    trace.rows.resize(kept);
    // Rows that wait for each other are one family, so both ends of an edge stay or go.
    std::erase_if(trace.dependencies, [&](const Dependency& one) { return !row_stays[one.row]; });
}

AdmissionFigures admit(const AdmissionRules& rules, Trace& trace) {
    AdmissionFigures figures;
    if (!rules.any()) {
        return figures;
    }
    const Families families = families_of(trace);
    std::vector<bool> stays(families.count, true);
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
        const TraceRow& row = trace.rows[i];
        const std::uint64_t tokens = std::uint64_t{row.input_length} + row.output_length;
        if (rules.context_max && tokens > *rules.context_max) {
            stays[families.of_row[i]] = false;
        }
    }
    figures.families = families.count;
    figures.too_long = static_cast<std::uint32_t>(std::count(stays.begin(), stays.end(), false));
    for (std::uint32_t family = 0; family < families.count; ++family) {
        stays[family] = stays[family] && (!rules.trees_max || figures.kept < *rules.trees_max);
        figures.kept += stays[family] ? 1 : 0;
    }
    keep_families(families, stays, trace);
    return figures;
}

namespace {

constexpr std::uint64_t whole_share = 1'000'000'000;
constexpr std::uint64_t sample_stream = 1;  ///< draws of one purpose are not those of another
constexpr std::uint64_t offset_stream = 2;

std::uint64_t draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t number) {
    return mix64(mix64(mix64(seed + golden_gamma) + stream) ^ mix64(number + golden_gamma));
}

/// Which families stay: those with the smallest draws, so that samples of one seed are nested.
std::vector<bool> draw_families(const Families& families, std::uint32_t wanted,
                                std::uint64_t seed) {
    std::vector<std::uint32_t> order(families.count);
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [seed](std::uint32_t a, std::uint32_t b) {
        const std::uint64_t left = draw(seed, sample_stream, a);
        const std::uint64_t right = draw(seed, sample_stream, b);
        return left != right ? left < right : a < b;
    });
    std::vector<bool> stays(families.count, false);
    for (std::uint32_t i = 0; i < wanted; ++i) {
        stays[order[i]] = true;
    }
    return stays;
}

void sample(Share share, std::uint64_t seed, Trace& trace, LoadFigures& figures) {
    const Families families = families_of(trace);
    const auto wanted = static_cast<std::uint32_t>(
        (families.count * share.billionths + whole_share / 2) / whole_share);
    figures.families = families.count;
    figures.families_sampled = std::clamp(wanted, std::min(families.count, 1U), families.count);
    const std::vector<bool> stays = draw_families(families, figures.families_sampled, seed);
    keep_families(families, stays, trace);
}

/// Whether everything that copies number still fits its type, with the two marks kept free.
bool fits(std::uint32_t copies, const Trace& trace, std::uint32_t rows_read) {
    const std::uint64_t most = std::max<std::uint64_t>(
        {rows_read, trace.name_spaces, trace.sessions.size(), std::uint64_t{1}});
    return most * copies < std::numeric_limits<std::uint32_t>::max() - 1;
}

struct Copy {
    std::uint32_t number = 0;
    std::int64_t offset_ns = 0;
    std::uint32_t rows_read = 0;
    std::uint32_t name_spaces = 0;
    std::uint32_t sessions = 0;
};

void add_copy(const Copy& copy, std::size_t rows, std::size_t dependencies, Trace& trace) {
    for (std::size_t i = 0; i < rows; ++i) {
        TraceRow row = trace.rows[i];
        row.at_ns = row.at_ns > std::numeric_limits<std::int64_t>::max() - copy.offset_ns
                        ? std::numeric_limits<std::int64_t>::max()
                        : row.at_ns + copy.offset_ns;
        row.index += copy.number * copy.rows_read;
        row.name_space += copy.number * copy.name_spaces;
        row.session += row.session == no_session ? 0 : copy.number * copy.sessions;
        trace.rows.push_back(row);
    }
    for (std::size_t i = 0; i < dependencies; ++i) {
        Dependency one = trace.dependencies[i];
        one.row += copy.number * copy.rows_read;
        one.on += copy.number * copy.rows_read;
        trace.dependencies.push_back(one);
    }
    for (std::size_t i = 0; i < copy.sessions; ++i) {
        trace.sessions.push_back(trace.sessions[i] + "#" + std::to_string(copy.number));
    }
}

/// Of a copy behind others, each a mean gap behind the end of the one before.
std::int64_t turn_offset(const Trace& trace, std::size_t rows, std::uint32_t number) {
    const std::int64_t span_ns = trace.rows[rows - 1].at_ns - trace.rows.front().at_ns;
    const auto gaps = static_cast<std::int64_t>(std::max<std::size_t>(rows - 1, 1));
    std::int64_t offset_ns = 0;
    const bool fits = !__builtin_mul_overflow(span_ns + std::max<std::int64_t>(span_ns / gaps, 1),
                                              std::int64_t{number}, &offset_ns);
    return fits ? offset_ns : std::numeric_limits<std::int64_t>::max();
}

void replicate(const LoadOptions& options, Trace& trace, LoadFigures& figures) {
    const std::size_t rows = trace.rows.size();
    const std::size_t dependencies = trace.dependencies.size();
    trace.rows.reserve(rows * figures.copies);
    trace.dependencies.reserve(dependencies * figures.copies);
    trace.sessions.reserve(trace.sessions.size() * figures.copies);
    Copy copy{0, 0, figures.rows_read, trace.name_spaces,
              static_cast<std::uint32_t>(trace.sessions.size())};
    for (copy.number = 1; copy.number < figures.copies; ++copy.number) {
        Random random(draw(options.seed, offset_stream, copy.number));
        copy.offset_ns = options.copies.rows > 0
                             ? turn_offset(trace, rows, copy.number)
                             : static_cast<std::int64_t>(
                                   random.below(static_cast<std::uint64_t>(figures.within_ns) + 1));
        add_copy(copy, rows, dependencies, trace);
    }
    trace.copy_rows = figures.rows_read;
    trace.name_spaces *= figures.copies;
    std::sort(trace.rows.begin(), trace.rows.end(), [](const TraceRow& a, const TraceRow& b) {
        return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.index < b.index;
    });
}

/// Rows without ids get some: block k of a row is block k of what it shares, so that the ids of all
/// rows are one list from 0 on.
Result<void> share(Sharing sharing, Trace& trace, LoadFigures& figures) {
    if (!trace.ids.empty()) {
        return Error{ErrorCode::exists, 0, "share where block ids say what is shared"};
    }
    if (sharing == Sharing::session && trace.sessions.empty()) {
        return Error{ErrorCode::missing, 0, "share inside sessions"};
    }
    trace.block_size = trace.block_size == 0 ? shared_block_size : trace.block_size;
    std::uint32_t blocks_max = 0;
    for (TraceRow& row : trace.rows) {
        const bool alone = sharing == Sharing::session && row.session == no_session;
        if (alone || !trace.body_of(row).empty()) {
            continue;
        }
        row.ids_begin = 0;
        row.ids_count = (row.input_length - 1) / trace.block_size + 1;
        row.name_space = trace.name_spaces + (sharing == Sharing::session ? row.session : 0);
        blocks_max = std::max(blocks_max, row.ids_count);
        ++figures.rows_sharing;
    }
    trace.name_spaces +=
        sharing == Sharing::session ? static_cast<std::uint32_t>(trace.sessions.size()) : 1;
    trace.tail_rule = TailRule::ceil;
    for (std::uint32_t block = 0; block < blocks_max; ++block) {
        trace.ids.push_back(block);
    }
    figures.share = sharing;
    return {};
}

std::int64_t default_within(const Trace& trace) {
    const std::int64_t span_ns =
        trace.rows.empty() ? 0 : trace.rows.back().at_ns - trace.rows.front().at_ns;
    return std::min(replicate_within_ns, span_ns / 10);
}

}  // namespace

Result<Share> parse_share(std::string_view text) {
    const bool percent = text.ends_with('%');
    const auto decimal = scan_decimal(percent ? text.substr(0, text.size() - 1) : text);
    if (!decimal || decimal->negative) {
        return Error{ErrorCode::invalid, 0, "read a share, as in 0.25 or 25%"};
    }
    const Result<Scaled> scaled = scale(*decimal, percent ? 7 : 9);
    if (!scaled || !scaled.value().exact || scaled.value().value == 0 ||
        scaled.value().value > whole_share) {
        return Error{ErrorCode::out_of_range, 0, "read a share above 0 and up to 1"};
    }
    return Share{scaled.value().value};
}

Result<LoadedTrace> apply_load(const LoadOptions& options, Trace trace) {
    CHECK(options.copies.count >= 1);
    LoadFigures figures;
    figures.rows_read = static_cast<std::uint32_t>(trace.rows.size());
    figures.admission = admit(options.admission, trace);
    if (trace.rows.empty() && figures.rows_read > 0) {
        return Error{ErrorCode::not_found, 0, "admit any session"};
    }
    if (options.share != Sharing::none) {
        const Result<void> shared = share(options.share, trace, figures);
        if (!shared) {
            return shared.error();
        }
    }
    if (options.sample) {
        sample(*options.sample, options.seed, trace, figures);
    }
    figures.rows_sampled = static_cast<std::uint32_t>(trace.rows.size());
    const std::uint32_t rows = std::max(figures.rows_sampled, 1U);
    figures.copies = options.copies.rows == 0 ? options.copies.count
                                              : std::max((options.copies.rows - 1) / rows + 1, 1U);
    if (!fits(figures.copies, trace, figures.rows_read)) {
        return Error{ErrorCode::out_of_range, 0, "number the rows of all copies within 32 bits"};
    }
    figures.in_turn = figures.copies > 1 && options.copies.rows > 0;
    if (figures.copies > 1) {
        figures.within_ns =
            options.copies.rows > 0 ? 0 : options.within_ns.value_or(default_within(trace));
        replicate(options, trace, figures);
    }
    return LoadedTrace{std::move(trace), figures};
}

}  // namespace driftless
