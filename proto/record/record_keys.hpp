/// The keys of a record in the order of its line, each with its field: the one list from which
/// lines are read. Internal to proto/record.
///
/// `Fields` is where the values come from: ParsedFields (any JSON object, keys in any order) or
/// WrittenFields (a line just as `append_jsonl` writes it). Both have the same members; of those
/// that end in `_later` the key came with a later schema than 1, and a parsed line may lack it:
/// then the field keeps what it holds.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/record/record.hpp"

namespace driftless {

/// 16 hex digits; nothing where the text is not that.
inline std::optional<std::uint64_t> digest_from_text(std::string_view text) {
    constexpr std::size_t digits = 16;
    std::uint64_t digest = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, digest, 16);
    const bool is_digest = text.size() == digits && error == std::errc() && stop == end;
    return is_digest ? std::optional(digest) : std::nullopt;
}

template <typename Fields>
void read_origin(Fields& fields, Record& record) {
    fields.read("row", record.row);
    fields.read_later("request", record.request);
    fields.read_later("pass", record.pass);
    fields.read_name_later("phase", phase_from_name, record.phase);
    fields.read_later("attempt", record.attempt);
    fields.read_side("side", record.side);
    fields.read_later("user", record.user);
    fields.read("session", record.session);
    fields.read_later("tree", record.tree);
    fields.read("turn", record.turn);
    fields.read_object("kept", record.kept);
    fields.read_later("segment", record.segment);
    fields.read_text_or_empty("url", record.url);
    fields.read("api", record.api);
    fields.read_later("model", record.model);
    fields.read("connection", record.connection);
    fields.read("reused", record.reused);
    fields.read_name_later("connection_state", connection_state_from_name, record.connection_state);
    fields.read_later("connection_age_ns", record.connection_age_ns);
    fields.read("stale_retries", record.stale_retries);
    fields.read("due_ns", record.due_ns);
}

template <typename Fields>
void read_times(Fields& fields, Record& record) {
    fields.read_later("parent_end_ns", record.parent_end_ns);
    fields.read_later("overtaken", record.overtaken);
    fields.read("armed_ns", record.armed_ns);
    fields.read("fired_ns", record.fired_ns);
    fields.read("drift_ns", record.drift_ns);
    fields.read("held_ns", record.held_ns);
    fields.read_name("late_cause", late_cause_from_name, record.late_cause);
    fields.read_array("tainted", record.tainted);
    fields.read("connect_ns", record.connect_ns);
    fields.read_later("submit_ns", record.submit_ns);
    fields.read("wire_ns", record.wire_ns);
    fields.read("sent_ns", record.sent_ns);
    fields.read("headers_ns", record.headers_ns);
    fields.read("first_byte_ns", record.first_byte_ns);
    fields.read("first_token_ns", record.first_token_ns);
    fields.read("first_content_ns", record.first_content_ns);
    fields.read("last_token_ns", record.last_token_ns);
    fields.read_later("first_event_ns", record.first_event_ns);
    fields.read_later("finish_event_ns", record.finish_event_ns);
    fields.read_later("usage_event_ns", record.usage_event_ns);
    fields.read_later("error_event_ns", record.error_event_ns);
    fields.read_later("end_marker_ns", record.end_marker_ns);
    fields.read("done_ns", record.done_ns);
    fields.read_later("ended_ns", record.ended_ns);
    fields.read_later("censored", record.censored);
    fields.read("ttft_ns", record.ttft_ns);
    fields.read("ttft_due_ns", record.ttft_due_ns);
    fields.read("tpot_ns", record.tpot_ns);
    fields.read("e2e_ns", record.e2e_ns);
}

template <typename Fields>
void read_tokens(Fields& fields, Record& record) {
    record.has_chunks = fields.read_array("chunk_ns", record.chunk_ns);
    record.chunk_tokens_known = fields.read_array("chunk_tokens", record.chunk_tokens);
    fields.read_text_or_empty_later("chunk_kinds", record.chunk_kinds);
    fields.read("input_length", record.input_length);
    fields.read("prompt_tokens", record.prompt_tokens);
    fields.read_later("prompt_tokens_off", record.prompt_tokens_off);
    fields.read_later("live_turns", record.live_turns);
    fields.read_later("padded_tokens", record.padded_tokens);
    fields.read("expected_cached_tokens", record.expected_cached_tokens);
    fields.read_later("expected_cached_server", record.expected_cached_server);
    fields.read("cached_tokens", record.cached_tokens);
    fields.read("output_length", record.output_length);
    fields.read("output_tokens", record.output_tokens);
    fields.read_name("tokens_source", tokens_source_from_name, record.tokens_source);
}

template <typename Fields>
void read_end(Fields& fields, Record& record) {
    fields.read_name("outcome", outcome_from_name, record.outcome);
    fields.read("status", record.status);
    fields.read("error", record.error);
    fields.read("finish_reason", record.finish_reason);
    fields.read("response_id", record.response_id);
    fields.read_later("trace_id", record.trace_id);
    fields.read_headers("headers", record.headers);
    fields.read_object_later("worker", record.worker);
    fields.read("inflight", record.inflight);
    fields.read_digest("output_digest", record.output_digest);
    fields.read("bytes_sent", record.bytes_sent);
    fields.read("bytes_received", record.bytes_received);
    fields.read("coalesced_chunks", record.coalesced_chunks);
    fields.read("receive_delay_ns", record.receive_delay_ns);
    fields.read_later("retransmits", record.retransmits);
    fields.read_later("wire_delay_bound_ns", record.wire_delay_bound_ns);
    fields.read_later("request_delay_ns", record.request_delay_ns);
    fields.read_of_merged_run("shard", record.shard);
}

}  // namespace driftless
