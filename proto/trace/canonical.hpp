/// The canonical format: our own JSONL, which holds everything that a Trace holds.
///
/// The first line is a header: `{"schema":"driftless.trace","version":1,"block_size":512,
/// "tail_rule":"ceil"}`. Each further line is a row, in file order: `at_ns` from the trace's start,
/// `input_length`, `output_length`; where there are any, `hash_ids` (64 bits), `name_space`
/// (0 where absent), `session` with `session_number` where several sessions have one name, `turn`,
/// and `after`, the rows that it waits for: `[{"row":3,"trigger":"completion","delay_ns":0}]`,
/// where `row` counts the file's rows from 0. `replay --save-prompts` writes the same with a `body`
/// in each row, the request body that is sent as it stands, and `body_api` in the header, the
/// dialect that the bodies were made for (for `--api template` with the file's digest:
/// "template:0123456789abcdef"). If recorded requests hold only new messages, the header has
/// `"deltas":true`. Other columns are carried along for `--keep`. A row without `hash_ids` has a
/// private prompt; a row with fewer ids than its length needs is accepted only if the header has
/// `"uncovered":true`.
#pragma once

#include <optional>
#include <string_view>

#include "proto/json/write.hpp"
#include "proto/trace/format.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

extern const TraceFormat canonical_format;

inline constexpr std::string_view canonical_schema = "driftless.trace";
inline constexpr std::uint64_t canonical_version = 1;
/// Keys of a header and of a row.
std::span<const std::string_view> canonical_columns();

// Lines of the format, for whoever writes them: a trace (write_canonical.cpp) or rows that are made
// one by one (engine/synth).

struct CanonicalHeader {
    std::uint32_t block_size = 0;
    TailRule tail_rule = TailRule::ceil;
    std::string_view source;  ///< name of the trace
    std::string_view format;  ///< that it was read as
};
/// Writes the members that every header has. The caller opens and closes the object.
void write_canonical_header(JsonWriter& json, const CanonicalHeader& header);

/// What a line says of a row beside its ids and waits. Lengths, namespace and turn of 0 are left
/// out.
struct CanonicalRow {
    std::int64_t at_ns = 0;
    std::uint32_t input_length = 0;
    std::uint32_t output_length = 0;
    std::uint32_t name_space = 0;
    std::optional<std::string_view> session;
    std::optional<std::uint32_t> session_number;
    std::uint32_t turn = 0;
};
/// Writes the members in their order. `ids`: any range of numbers with `empty`. The caller opens
/// and closes the object; waits come next.
template <typename Ids>
void write_canonical_row(JsonWriter& json, const CanonicalRow& row, const Ids& ids) {
    json.key("at_ns").integer(row.at_ns);
    if (row.input_length > 0) {
        json.key("input_length").unsigned_integer(row.input_length);
    }
    if (row.output_length > 0) {
        json.key("output_length").unsigned_integer(row.output_length);
    }
    if (!ids.empty()) {
        json.key("hash_ids").begin_array();
        for (const std::uint64_t id : ids) {
            json.unsigned_integer(id);
        }
        json.end_array();
    }
    if (row.name_space != 0) {
        json.key("name_space").unsigned_integer(row.name_space);
    }
    if (row.session) {
        json.key("session").string(*row.session);
    }
    if (row.session_number) {
        json.key("session_number").unsigned_integer(*row.session_number);
    }
    if (row.turn != 0) {
        json.key("turn").unsigned_integer(row.turn);
    }
}
/// Writes one element of `after`: a row that this one waits for, by its number in the file.
void write_canonical_wait(JsonWriter& json, std::uint32_t on, Trigger trigger,
                          std::int64_t delay_ns);

}  // namespace driftless
