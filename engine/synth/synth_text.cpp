#include "engine/synth/synth_text.hpp"

#include "proto/core/counted.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/canonical.hpp"
#include "proto/trace/decimal_time.hpp"
#include "proto/trace/fields.hpp"
#include "proto/trace/mooncake.hpp"

namespace driftless {
SynthText::SynthText(const SynthSpec& spec, std::string_view name, const TraceTarget& target)
    : rows_(spec),
      name_(name),
      block_size_(spec.kind.index() == 0 ? 0 : spec.block_size),
      mooncake_(&target == &mooncake_target) {}

void SynthText::write_header(std::string& out) {
    JsonWriter json(out);
    json.begin_object();
    write_canonical_header(json, {block_size_, TailRule::floor, name_, "synth"});
    json.end_object();
    out += '\n';
}

void SynthText::write_canonical(std::string& out) {
    JsonWriter json(out);
    json.begin_object();
    CanonicalRow line;
    line.at_ns = row_.at_ns;
    line.input_length = row_.input_length;
    line.output_length = row_.output_length;
    line.turn = row_.turn;
    if (!row_.session.empty()) {
        line.session = row_.session;
    }
    write_canonical_row(json, line, row_.ids);
    if (!row_.waits.empty()) {
        json.key("after").begin_array();
        for (const SynthWait& wait : row_.waits) {
            write_canonical_wait(json, wait.row, Trigger::completion, wait.delay_ns);
        }
        json.end_array();
    }
    json.end_object();
}

/// The format has an id for each block, and for the partial one, too: ids of rows are even numbers
/// then, and those of partial blocks odd ones, so that both stay small.
void SynthText::write_mooncake_ids(JsonWriter& json) {
    json.key("hash_ids").begin_array();
    for (const std::uint64_t id : row_.ids) {
        json.unsigned_integer(2 * id);
    }
    for (std::uint64_t i = row_.ids.size(); i < blocks_of(row_.input_length, block_size_); ++i) {
        json.unsigned_integer(2 * private_ids_++ + 1);
    }
    json.end_array();
}

void SynthText::write_mooncake(std::string& out) {
    const std::int64_t at_ns = whole_ms(row_.at_ns);
    times_rounded_ += at_ns != row_.at_ns ? 1 : 0;
    JsonWriter json(out);
    json.begin_object();
    json.key("timestamp").raw(time_text(at_ns, TimeUnit::ms));
    json.key("input_length").unsigned_integer(row_.input_length);
    json.key("output_length").unsigned_integer(row_.output_length);
    if (block_size_ != 0) {
        write_mooncake_ids(json);
    }
    if (!row_.session.empty()) {
        json.key("session_id").string(row_.session);
        const bool plain = row_.waits.size() == 1 && row_.waits[0].row == row_.turn_before;
        if (plain && row_.waits[0].delay_ns > 0) {
            json.key("delay").raw(time_text(row_.waits[0].delay_ns, TimeUnit::ms));
        }
        waits_lost_ += plain || row_.waits.empty() ? 0 : 1;
    }
    json.end_object();
}

bool SynthText::next(std::string& out) {
    if (!begun_ && !mooncake_) {
        write_header(out);
        begun_ = true;
        return true;
    }
    if (!rows_.next(row_)) {
        return false;
    }
    too_many_ = sums_.rows == synth_rows_max;
    if (too_many_) {
        return false;
    }
    mooncake_ ? write_mooncake(out) : write_canonical(out);
    out += '\n';
    ++sums_.rows;
    sums_.input_tokens += row_.input_length;
    sums_.output_tokens += row_.output_length;
    sums_.last_ns = row_.at_ns;
    return true;
}

std::vector<std::string> SynthText::losses() const {
    std::vector<std::string> lines;
    if (mooncake_ && block_size_ != 0 && block_size_ != mooncake_block_size) {
        const std::string size = std::to_string(block_size_);
        lines.push_back("blocks of " + size + " tokens, which readers must be told (--block-size " +
                        size + "): the format has 512");
    }
    if (waits_lost_ > 0) {
        lines.push_back(counted(waits_lost_,
                                "row waits for something other than its session's previous turn, "
                                "which the format cannot express",
                                "rows wait for something other than their session's previous turn, "
                                "which the format cannot express"));
    }
    if (times_rounded_ > 0) {
        lines.push_back(counted(times_rounded_,
                                "time with a fraction of a ms, rounded: the format has whole ms",
                                "times with fractions of a ms, rounded: the format has whole ms"));
    }
    return lines;
}

}  // namespace driftless
