#include "proto/trace/write.hpp"

#include <algorithm>

#include "proto/core/counted.hpp"
#include "proto/trace/row.hpp"

namespace driftless {
namespace {

constexpr const TraceTarget* targets[] = {&canonical_target, &mooncake_target};

}  // namespace

const TraceTarget* find_trace_target(std::string_view name) {
    for (const TraceTarget* target : targets) {
        if (name == target->name) {
            return target;
        }
    }
    return nullptr;
}

TraceWriter::TraceWriter(const Trace& trace, const TraceTarget& target,
                         std::vector<WrittenRow> rows)
    : trace_(trace), target_(target), rows_(std::move(rows)) {
    const auto index_of = [&](const WrittenRow& row) { return trace.rows[row.position].index; };
    if (!target.by_time) {
        std::sort(rows_.begin(), rows_.end(), [&](const WrittenRow& a, const WrittenRow& b) {
            return index_of(a) < index_of(b);
        });
    }
    std::uint32_t indices = 0;
    std::uint64_t references = 0;
    for (const TraceRow& row : trace.rows) {
        indices = std::max(indices, row.index + 1);
        references += row.ids_count;
    }
    const std::uint64_t names = std::uint64_t{trace.name_spaces} * trace.ids.numbers_end();
    if (names <= BlockIds::direct_min + 4 * references) {
        ids_.assign(names, 0);
    }
    numbers_.assign(indices, no_row);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        numbers_[index_of(rows_[i])] = static_cast<std::uint32_t>(i);
    }
    for (const std::string& name : trace.sessions) {
        ++namesakes_[name];
    }
    last_rows_.assign(trace.sessions.size(), no_row);
}

void TraceWriter::begin(std::string& out) {
    if (!begun_ && target_.begin != nullptr) {
        target_.begin(*this, out);
        out += '\n';
    }
    begun_ = true;
}

bool TraceWriter::next(std::string& out, std::string_view body) {
    const std::size_t before = out.size();
    begin(out);
    if (out.size() > before) {
        return true;
    }
    if (next_ == rows_.size()) {
        return false;
    }
    new_body_ = body;
    target_.write(*this, rows_[next_++], out);
    out += '\n';
    return true;
}

std::uint64_t TraceWriter::dense_id(const TraceRow& row, std::size_t block) {
    const std::uint64_t name =
        std::uint64_t{row.name_space} * trace_.ids.numbers_end() + trace_.ids_of(row).number(block);
    std::uint64_t& written = ids_.empty() ? ids_by_name_[name] : ids_[name];
    written = written == 0 ? ++next_id_ : written;
    return written - 1;
}

std::uint32_t TraceWriter::namesakes(std::uint32_t session) const {
    return namesakes_.at(trace_.sessions[session]);
}

std::uint32_t TraceWriter::follow(std::uint32_t session, std::uint32_t number) {
    const std::uint32_t before = last_rows_[session];
    last_rows_[session] = number;
    return before;
}

void TraceWriter::write_kept(JsonWriter& json, const TraceRow& row,
                             std::span<const std::string_view> own) {
    const std::string_view kept = trace_.kept_of(row);
    if (kept.empty()) {
        return;
    }
    const Result<JsonValue> columns = document_.parse(kept);
    CHECK(columns);
    for (JsonValue one = columns.value().first(); one.present(); one = one.next()) {
        if (one.is(JsonType::null)) {
            continue;
        }
        if (std::find(own.begin(), own.end(), one.key()) == own.end()) {
            json.key(one.key()).raw(one.raw());
            continue;
        }
        lose("kept column with a name that the format uses itself",
             "kept columns with names that the format uses itself");
    }
}

void TraceWriter::write_extra(JsonWriter& json, const TraceRow& row) {
    if (const std::string_view extra = trace_.extra_of(row); !extra.empty()) {
        json.key("extra").raw(extra);
    }
}

void TraceWriter::write_members(JsonWriter& json, std::string_view object) {
    const Result<JsonValue> members = document_.parse(object);
    CHECK(members);
    for (JsonValue one = members.value().first(); one.present(); one = one.next()) {
        json.key(one.key()).raw(one.raw());
    }
}

void TraceWriter::lose(const char* one, const char* many, std::uint64_t count) {
    for (Remark& known : counts_) {
        if (known.many == many) {
            known.count += count;
            return;
        }
    }
    if (count > 0) {
        counts_.push_back({one, many, count});
    }
}

std::vector<std::string> TraceWriter::losses() const {
    std::vector<std::string> all = lines_;
    for (const Remark& one : counts_) {
        all.push_back(counted(one.count, one.one, one.many));
    }
    return all;
}

}  // namespace driftless
