#include "cmd/reading/hit_loss.hpp"

#include <algorithm>
#include <cstdio>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// The url, and what names a pod or worker behind it.
std::string server_of(const Record& record) {
    std::string server = record.url;
    for (const RecordedHeader& header : record.headers) {
        if (header.name == "target-pod" || header.name == "target-pod-ip") {
            server += '\n' + header.value.value_or("");
        }
    }
    return server;
}

std::uint32_t number_of(std::unordered_map<std::string, std::uint32_t>& numbers,
                        const std::string& name) {
    return numbers.try_emplace(name, static_cast<std::uint32_t>(numbers.size())).first->second;
}

/// Instants from which prompts were in the cache, sorted, beside all fires: how many were without a
/// first token at an instant is the difference of two ranks.
struct Prefills {
    std::vector<std::int64_t> begun;
    std::vector<std::int64_t> done;

    /// Rows that had left before and had no token yet.
    bool any_at(std::int64_t at_ns) const {
        const auto left = std::lower_bound(begun.begin(), begun.end(), at_ns) - begun.begin();
        const auto told = std::lower_bound(done.begin(), done.end(), at_ns) - done.begin();
        return left > told;
    }
};

}  // namespace

std::string hit_loss_text(const HitLossTokens& loss) {
    if (loss.rows == 0) {
        return "unknown: no server reported its hits, or none is foretold";
    }
    if (loss.lost == 0) {
        return "none of " + std::to_string(loss.expected) + " expected tokens";
    }
    const auto share = [](std::uint64_t part, std::uint64_t whole, const char* form) {
        char text[32];
        (void)std::snprintf(text, sizeof text, form,
                            100.0 * static_cast<double>(part) / static_cast<double>(whole));
        return std::string(text);
    };
    std::string text = std::to_string(loss.lost) + " of " + std::to_string(loss.expected) +
                       " expected tokens (" +
                       share(loss.lost, std::max<std::uint64_t>(loss.expected, 1), "%.2f %%") + ")";
    for (const HitLossCause& cause : hit_loss_causes) {
        if (loss.*cause.tokens > 0) {
            text += "; " + share(loss.*cause.tokens, loss.lost, "%.1f %% ") + cause.words;
        }
    }
    if (loss.gained > 0) {
        text += "; " + std::to_string(loss.gained) +
                " tokens more were hit than expected: rows of a burst arrived in another order, or "
                "the cache was warm";
    }
    return text;
}

void HitLoss::add(const Record& record) {
    const std::uint32_t place = added_++;
    if (!record.fired_ns || !record.ended_ns) {
        return;
    }
    Row row;
    row.place = place;
    row.fired_ns = *record.fired_ns;
    row.first_token_ns = record.first_token_ns;
    row.ended_ns = *record.ended_ns;
    row.server = number_of(servers_, server_of(record));
    const auto& family = record.tree ? record.tree : record.session;
    row.family = family ? number_of(families_, *family + '\n' + std::to_string(record.pass) + '\n' +
                                                   name_of(record.side))
                        : no_family;
    row.counts =
        record.phase == Phase::profile && record.cached_tokens && record.expected_cached_tokens;
    if (row.counts) {
        const std::int64_t in_server = record.expected_cached_server.value_or(
            *record.expected_cached_tokens);  // smaller blocks hold more of a prompt
        row.expected = std::max(*record.expected_cached_tokens, in_server);
        row.cached = *record.cached_tokens;
        row.blocks = row.expected - in_server;
    }
    rows_.push_back(row);
}

HitLossTokens HitLoss::tokens() const {
    HitLossTokens sums;
    sums.servers = servers_.size();
    sums.rows_lost.resize(added_, nullptr);
    std::vector<const Row*> order;
    Prefills prefills;
    for (const Row& row : rows_) {
        order.push_back(&row);
        prefills.begun.push_back(row.fired_ns);
        prefills.done.push_back(row.first_token_ns.value_or(row.ended_ns));
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Row* a, const Row* b) { return a->fired_ns < b->fired_ns; });
    std::sort(prefills.begun.begin(), prefills.begun.end());
    std::sort(prefills.done.begin(), prefills.done.end());
    std::vector<const Row*> before(families_.size(), nullptr);
    for (const Row* row : order) {
        const Row* turn = row->family == no_family ? nullptr : before[row->family];
        if (row->family != no_family) {
            before[row->family] = row;
        }
        if (!row->counts) {
            continue;
        }
        ++sums.rows;
        sums.expected += static_cast<std::uint64_t>(row->expected);
        const std::int64_t lost = std::max<std::int64_t>(row->expected - row->cached, 0);
        const std::int64_t blocks = std::clamp<std::int64_t>(row->blocks, 0, lost);
        const auto left = static_cast<std::uint64_t>(lost - blocks);
        sums.lost += static_cast<std::uint64_t>(lost);
        sums.gained +=
            static_cast<std::uint64_t>(std::max<std::int64_t>(row->cached - row->expected, 0));
        sums.blocks += static_cast<std::uint64_t>(blocks);
        const HitLossCause*& most = sums.rows_lost[row->place];
        most = lost == 0 ? nullptr : hit_loss_causes.data();
        const bool alone = sums.servers == 1 && !prefills.any_at(row->fired_ns);
        const bool in_flight =
            turn != nullptr && turn->first_token_ns.value_or(turn->ended_ns) > row->fired_ns;
        const auto cause = turn == nullptr
                               ? (alone ? &HitLossTokens::capacity : &HitLossTokens::unknown)
                           : in_flight                   ? &HitLossTokens::in_flight
                           : turn->server != row->server ? &HitLossTokens::routing
                                                         : &HitLossTokens::capacity;
        sums.*cause += left;
        if (left > static_cast<std::uint64_t>(blocks)) {
            most = std::find_if(hit_loss_causes.begin(), hit_loss_causes.end(),
                                [cause](const HitLossCause& one) { return one.tokens == cause; });
        }
    }
    CHECK(sums.lost == sums.blocks + sums.in_flight + sums.routing + sums.capacity + sums.unknown);
    return sums;
}

}  // namespace driftless
