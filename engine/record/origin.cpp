#include "engine/record/origin.hpp"

#include <optional>

#include "proto/record/masked.hpp"

namespace driftless {

namespace {

/// A length of the trace; 0 is unknown.
std::optional<std::uint32_t> length_of(std::uint32_t tokens) {
    return tokens == 0 ? std::nullopt : std::optional(tokens);
}

}  // namespace

std::string waited_in_vain(std::uint32_t row, const char* why) {
    return "row " + std::to_string(row) + ", which it waited for, " + why;
}

void fill_origin(Record& record, const Due& due, std::uint32_t number,
                 const AssemblerConfig& config) {
    const TraceRow& row = config.trace->rows[due.row];
    record.row = row.index;
    record.request = number;
    record.pass = due.pass;
    record.phase = due.phase;
    record.attempt = due.attempt;
    record.side = due.side;
    if (due.user != Due::no_user) {
        record.user = config.place.number_of(due.user);
    }
    if (row.session != no_session && row.session < config.trace->sessions.size()) {
        record.session = config.trace->sessions[row.session];
        const std::uint32_t root = config.trees.empty() ? row.session : config.trees[row.session];
        record.tree = config.trace->sessions[root];
    }
    if (row.turn != 0) {
        record.turn = row.turn;
    }
    record.kept = config.trace->kept_of(row);
    record.segment = config.segment;
    record.api = config.dialect->name;
    if (config.row_models != nullptr) {
        record.model = masked(config.row_models->name_of(due.row), config.secrets, id_bytes_max);
    } else if (const std::string& model = due.side == Side::b ? config.against_model : config.model;
               !model.empty()) {
        record.model = model;
    }
    record.due_ns = due.due_ns;
    if (due.parent_end_ns != Due::no_parent) {
        record.parent_end_ns = due.parent_end_ns;
    }
    if (due.failed_row != Due::none_failed) {
        const char* const why =
            config.histories == nullptr ? nullptr : config.histories->why_ended(due.failed_row);
        record.error = waited_in_vain(config.trace->rows[due.failed_row].index,
                                      why == nullptr ? "failed" : why);
    }
    record.input_length = length_of(row.input_length);
    record.output_length = length_of(asked_tokens(due, row));
    if (config.trace->foretells_hits(row) && !config.forecast.in_run_order) {
        record.expected_cached_tokens =
            config.plan->rows[due.request % config.plan->rows.size()].expected_cached_tokens;
        const std::vector<std::uint32_t>& by_server =
            due.side == Side::b ? config.plan->against_cached : config.plan->server_cached;
        if (due.row < by_server.size()) {
            record.expected_cached_server = by_server[due.row];
        }
    }
    if (config.urls.size() == 1) {
        record.url = config.urls[0];
    } else if (due.side != Side::none) {
        record.url = config.urls[due.side == Side::b ? 1 : 0];
    }
    for (const std::string& name : config.record_headers) {
        record.headers.push_back({name, {}});
    }
}

}  // namespace driftless
