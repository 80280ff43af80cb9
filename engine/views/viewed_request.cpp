#include "engine/views/viewed_request.hpp"

#include <algorithm>
#include <charconv>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// The next run of "r2c40"; nothing at its end, or where it is not of that form.
std::optional<std::pair<char, std::size_t>> take_run(std::string_view& runs) {
    if (runs.size() < 2) {
        return std::nullopt;
    }
    const char kind = runs.front();
    std::size_t chunks = 0;
    const auto [end, error] = std::from_chars(runs.data() + 1, runs.data() + runs.size(), chunks);
    if (error != std::errc()) {
        return std::nullopt;
    }
    runs.remove_prefix(static_cast<std::size_t>(end - runs.data()));
    return std::pair{kind, chunks};
}

void fill_chunks(ViewedRequest& request, const Record& record) {
    CHECK(record.fired_ns.has_value());
    request.chunks.resize(record.chunk_ns.size());
    std::string_view runs = record.chunk_kinds;
    std::size_t at = 0;
    while (const auto run = take_run(runs)) {  // bounded by the text
        for (std::size_t i = 0; i < run->second && at < request.chunks.size(); ++i, ++at) {
            request.chunks[at].kind = run->first;
        }
    }
    const bool known = record.chunk_tokens.size() == record.chunk_ns.size();
    for (std::size_t i = 0; i < request.chunks.size(); ++i) {
        request.chunks[i].at_ns = *record.fired_ns + record.chunk_ns[i];
        request.chunks[i].tokens = known ? record.chunk_tokens[i] : -1;
    }
}

bool is_of(const ViewedChunk& chunk, std::string_view kinds) {
    return kinds.find(chunk.kind) != kinds.npos;
}

}  // namespace

bool ViewedRequest::stream_read() const {
    const bool readable =
        is_whole(outcome) || outcome == Outcome::stream_error || outcome == Outcome::no_tokens;
    return status == 200 && done_ns.has_value() && readable;
}

std::vector<std::int64_t> ViewedRequest::choice_events() const {
    std::vector<std::int64_t> stamps;
    stamps.reserve(chunks.size() + 2);
    if (first_event_ns && (chunks.empty() || *first_event_ns < chunks.front().at_ns)) {
        stamps.push_back(*first_event_ns);
    }
    for (const ViewedChunk& chunk : chunks) {
        stamps.push_back(chunk.at_ns);
    }
    if (finish_ns && (stamps.empty() || *finish_ns > stamps.back())) {
        stamps.push_back(*finish_ns);
    }
    return stamps;
}

std::vector<std::int64_t> ViewedRequest::stamps_of(std::string_view kinds) const {
    std::vector<std::int64_t> stamps;
    for (const ViewedChunk& chunk : chunks) {
        if (is_of(chunk, kinds)) {
            stamps.push_back(chunk.at_ns);
        }
    }
    return stamps;
}

std::optional<std::int64_t> ViewedRequest::tokens_of(std::string_view kinds) const {
    std::int64_t tokens = 0;
    std::int64_t wanted = 0;
    for (const ViewedChunk& chunk : chunks) {
        if (is_of(chunk, kinds)) {
            ++wanted;
            tokens += chunk.tokens;
        }
    }
    if (chunks.empty() || chunks.front().tokens >= 0) {
        return chunks.empty() ? output_usage.value_or(0) : tokens;
    }
    if (output_usage && wanted == static_cast<std::int64_t>(chunks.size())) {
        return output_usage;
    }
    return output_usage && wanted > 0 ? std::nullopt : std::optional(wanted);
}

bool ViewedRequest::tokens_are_chunks() const {
    return !chunks.empty() && chunks.front().tokens < 0 && !output_usage;
}

std::int64_t ViewedRequest::last_line_ns() const {
    std::int64_t last = chunks.empty() ? fired_ns : chunks.back().at_ns;
    for (const OptionalNs& stamp : {first_event_ns, finish_ns, usage_ns, error_ns, marker_ns}) {
        last = std::max(last, stamp.value_or(last));
    }
    return last;
}

std::optional<ViewedRequest> viewed_request(const Record& record) {
    if (!record.fired_ns || !record.ended_ns) {
        return std::nullopt;
    }
    ViewedRequest request;
    request.row = record.row;
    request.due_ns = record.due_ns;
    request.fired_ns = *record.fired_ns;
    request.headers_ns = record.headers_ns;
    request.first_event_ns = record.first_event_ns;
    request.finish_ns = record.finish_event_ns;
    request.usage_ns = record.usage_event_ns;
    request.error_ns = record.error_event_ns;
    request.marker_ns = record.end_marker_ns;
    request.done_ns = record.done_ns;
    request.ended_ns = *record.ended_ns;
    fill_chunks(request, record);
    request.prompt_recorded = record.input_length.value_or(0);
    request.output_recorded = record.output_length.value_or(0);
    request.prompt_usage = record.prompt_tokens;
    request.cached_usage = record.cached_tokens;
    const bool counted = record.tokens_source == TokensSource::usage ||
                         record.tokens_source == TokensSource::continuous;
    request.output_usage = counted ? record.output_tokens : std::nullopt;
    request.status = record.status.value_or(0);
    request.outcome = record.outcome;
    request.error = record.error.value_or("");
    request.session = record.session.value_or("");
    return request;
}

}  // namespace driftless
