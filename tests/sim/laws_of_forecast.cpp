#include "tests/sim/laws_of_forecast.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "tests/sim/breaches.hpp"
#include "tests/sim/laws.hpp"

namespace driftless::sim {

namespace {

/// Tokens that the prompts have in common at their beginnings.
std::uint32_t shared(const SimPrompt& a, const SimPrompt& b, const SimPrompts& prompts) {
    if (a.name_space != b.name_space || a.ids.empty() || b.ids.empty()) {
        return 0;
    }
    std::size_t same = 0;
    while (same < std::min(a.ids.size(), b.ids.size()) && a.ids[same] == b.ids[same]) {
        ++same;
    }
    const auto words = [&prompts](const SimPrompt& one) {
        const std::uint32_t least = prompts.pre + 1 + prompts.post;
        return std::max(one.input_length, least) - prompts.post;
    };
    const std::uint64_t named = same * std::uint64_t{prompts.block_size};
    if (words(a) == words(b) && named >= words(a)) {
        return words(a) + prompts.post;  // all of it, with what stands behind
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>({named, words(a), words(b)}));
}

std::int64_t expected_of(const SimPrompt& own, std::uint32_t most, const SimPrompts& prompts) {
    const std::uint32_t size = prompts.block_size;
    const auto ids = static_cast<std::uint32_t>(own.ids.size());
    return std::int64_t{std::min({most / size, ids, (own.input_length - 1) / size})} * size;
}

/// Those that left, in that order, with their records.
std::vector<const Record*> in_order(const SimResult& result) {
    std::map<std::string, const Record*, std::less<>> by_line;
    for (const Record& record : result.records) {
        by_line[fired_line(record)] = &record;
    }
    std::vector<const Record*> order;
    for (std::string_view left = result.fired_jsonl; !left.empty();) {
        const std::size_t end = left.find('\n');
        const auto record = by_line.find(left.substr(0, end));
        if (record != by_line.end()) {
            order.push_back(record->second);
        }
        left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    }
    return order;
}

}  // namespace

std::string hits_go_by_the_run(const SimResult& result) {
    const SimPrompts& prompts = result.prompts;
    if (prompts.of_row.empty() || result.disk_failed || result.live) {  // words have no blocks
        return "";
    }
    Breaches breaches;
    std::map<std::uint32_t, std::vector<const SimPrompt*>> sent;  // [pass]
    for (const std::uint32_t row : prompts.sent_before) {
        sent[0].push_back(&prompts.of_row.at(row));
    }
    for (const Record& record : result.records) {
        breaches.unless(record.fired_ns || !record.expected_cached_tokens, record,
                        "did not leave, and expects hits");
    }
    for (const Record* const record : in_order(result)) {
        const SimPrompt& own = prompts.of_row.at(record->row);
        std::uint32_t most = 0;
        for (const SimPrompt* const before : sent[record->pass]) {
            most = std::max(most, shared(own, *before, prompts));
        }
        const std::int64_t wanted = expected_of(own, most, prompts);
        const std::int64_t got = record->expected_cached_tokens.value_or(-1);
        breaches.unless(got == wanted, *record,
                        "expects " + std::to_string(got) + " cached tokens instead of " +
                            std::to_string(wanted));
        sent[record->pass].push_back(&own);
    }
    return breaches.text();
}

}  // namespace driftless::sim
