#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/runs/merge.hpp"
#include "engine/history/run_lines.hpp"
#include "engine/plan/compressed_files.hpp"
#include "engine/plan/plan.hpp"
#include "engine/record/line_sink.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/run/period.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// Mapped pages are given back after so many bytes.
static constexpr std::size_t mapped_bytes = std::size_t{64} << 20;

static auto sending_of(const RecordLine& line) {
    const RecordOrder& order = line.order;
    return std::tuple(order.row, order.pass, order.side, order.attempt);
}

RecordLines::~RecordLines() {
    for (const File& file : files_) {
        if (file.text != nullptr) {
            ::munmap(const_cast<char*>(file.text), file.bytes);
        }
    }
}

std::string RecordLines::map(const std::string& path) {
    File& file = files_.emplace_back();
    const Fd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!opened.is_open()) {
        return path + ": cannot be read (" + std::strerror(errno) + ")";
    }
    struct stat facts{};
    std::string why;
    if (::fstat(opened.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
        why = path + ": is not a regular file, so what a run wrote there cannot be read again";
    } else if (facts.st_size > 0) {
        file.bytes = static_cast<std::size_t>(facts.st_size);
        void* const memory =
            ::mmap(nullptr, file.bytes, PROT_READ, MAP_PRIVATE, opened.number(), 0);
        if (memory == MAP_FAILED) {
            why = path + ": cannot be mapped (" + std::strerror(errno) + ")";
        } else {
            file.text = static_cast<const char*>(memory);
        }
    }
    return why;
}

std::string RecordLines::find_in(const ShardRun& shard, std::size_t place) {
    const std::string path = shard.records_path();
    if (std::string why = map(path); !why.empty()) {
        return why;
    }
    File& file = files_.back();
    RecordOrders orders;
    std::uint64_t number = 0;
    std::size_t kept = 0;
    for (std::size_t at = 0; at < file.bytes;) {
        const auto* const end =
            static_cast<const char*>(std::memchr(file.text + at, '\n', file.bytes - at));
        if (end == nullptr) {
            file.torn = file.bytes - at;
            break;
        }
        const std::string_view line(file.text + at, static_cast<std::size_t>(end - file.text) - at);
        ++number;
        const Result<RecordOrder> order = orders.read(line);
        if (!order || !line.ends_with('}') || line.size() > line_bytes_max) {
            return describe_line(
                path, number,
                order ? Error{ErrorCode::bad_json, 0, "read a record"} : order.error());
        }
        const std::uint64_t rows = shard.facts.info.run.trace_rows;
        const bool is_row = rows == 0 || order.value().row < rows;
        if (!is_row || order.value().due_ns < 0) {
            return describe_line(path, number,
                                 Error{ErrorCode::out_of_range, 0, is_row ? "due_ns" : "row"});
        }
        lines_.push_back({order.value(), at, static_cast<std::uint32_t>(line.size()),
                          static_cast<std::uint32_t>(place)});
        at += line.size() + 1;
        if (at - kept > mapped_bytes) {
            kept = at;
            give_back();
        }
    }
    give_back();
    return "";
}

/// Counts the rows of each shard as well.
std::string RecordLines::check_twice(const std::vector<ShardRun>& shards) {
    std::ranges::sort(lines_, [](const RecordLine& a, const RecordLine& b) {
        return sending_of(a) != sending_of(b) ? sending_of(a) < sending_of(b) : a.place < b.place;
    });
    rows_.assign(shards.size(), 0);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        const RecordLine& line = lines_[i];
        const RecordLine* const before = i > 0 ? &lines_[i - 1] : nullptr;
        const RecordOrder& order = line.order;
        const bool same_row = before != nullptr && before->order.row == order.row &&
                              before->order.pass == order.pass && before->order.side == order.side;
        rows_[line.place] += same_row ? 0 : 1;
        // A row is one shard's, with all of its tries.
        if (!same_row || (before->place == line.place && before->order.attempt != order.attempt)) {
            continue;
        }
        const std::string& first = shards[before->place].folder;
        const std::string& second = shards[line.place].folder;
        std::string text = "row " + std::to_string(order.row);
        text += order.pass > 0 ? " of pass " + std::to_string(order.pass) : "";
        text += order.side != Side::none ? std::string(" to side ") + name_of(order.side) : "";
        return text +
               (first == second ? " has two records in " + first
                                : " has a record in " + first + " and in " + second) +
               ": a row is one shard's; leave out the run that does not belong here";
    }
    return "";
}

std::string RecordLines::find(const std::vector<ShardRun>& shards) {
    for (std::size_t place = 0; place < shards.size(); ++place) {
        if (std::string why = find_in(shards[place], place); !why.empty()) {
            return why;
        }
    }
    if (std::string why = check_twice(shards); !why.empty()) {
        return why;
    }
    std::ranges::sort(lines_, [](const RecordLine& a, const RecordLine& b) {
        return a.order.due_ns != b.order.due_ns ? a.order.due_ns < b.order.due_ns
                                                : sending_of(a) < sending_of(b);
    });
    return "";
}

std::string RecordLines::first_unreadable(const std::vector<ShardRun>& shards) const {
    JsonDocument document;
    for (const RecordLine& line : lines_) {
        const Result<Record> record = read_record(document, text(line));
        if (record) {
            continue;
        }
        const char* const file = files_[line.place].text;
        const auto number =
            static_cast<std::uint64_t>(std::count(file, file + line.offset, '\n')) + 1;
        return describe_line(shards[line.place].records_path(), number, record.error());
    }
    return "";
}

void RecordLines::give_back() const {
    for (const File& file : files_) {
        if (file.text != nullptr) {
            (void)::madvise(const_cast<char*>(file.text), file.bytes, MADV_DONTNEED);
        }
    }
}

/// The line with the number of its shard as its last member. It ends with the bracket of an object
/// that is not empty.
static void append_line(std::string& out, std::string_view line, std::uint32_t shard) {
    out.append(line.substr(0, line.size() - 1));
    out.append(",\"shard\":").append(std::to_string(shard)).append("}\n");
}

static MergeRefusal why_unwritten(const std::string& path, const Error& error) {
    return {exit_host, path + ": cannot " + error.doing + ": " + reason_of(error) +
                           host_remedy(error.sys_errno)};
}

namespace {

/// The next line of a shard's file, and what orders it.
struct Head {
    RunLines lines;
    const ShardRun* shard;
    std::string path;
    std::string_view line;  ///< empty: there is none
    std::int64_t instant_ns = 0;

    /// Returns why it cannot be read.
    std::string advance(const char* key, JsonDocument& document) {
        const std::optional<std::string_view> next = lines.next();
        line = next.value_or("");
        if (!next) {
            return lines.why();
        }
        const Result<JsonValue> root = document.parse(line);
        if (!root || root.value().size() == 0 || !line.ends_with('}')) {
            return describe_line(path, lines.number(),
                                 Error{ErrorCode::bad_json, 0, "read a line"});
        }
        instant_ns = key == nullptr ? 0 : root.value().find(key).as_i64().value_or(0);
        return "";
    }
};

}  // namespace

/// Line by line the one with the least instant; of equal ones that of the first shard.
static std::string merge_heads(std::vector<Head>& heads, const char* key, LineSink& sink) {
    JsonDocument document;
    for (Head& head : heads) {
        if (std::string why = head.advance(key, document); !why.empty()) {
            return why;
        }
    }
    while (!sink.error()) {  // until all files have ended
        Head* first = nullptr;
        for (Head& head : heads) {
            const bool is_there = !head.line.empty();
            if (is_there && (first == nullptr || head.instant_ns < first->instant_ns)) {
                first = &head;
            }
        }
        if (first == nullptr) {
            break;
        }
        append_line(sink.buffer(), first->line, first->shard->index());
        sink.commit();
        if (std::string why = first->advance(key, document); !why.empty()) {
            return why;
        }
    }
    return "";
}

/// The shards' files of that name, but for those without a line.
static MergeRefusal open_files(const std::vector<ShardRun>& shards, const char* name,
                               std::vector<Head>& out) {
    for (const ShardRun& shard : shards) {
        const std::string path = shard.path(name);
        MergeRefusal refusal{exit_input, ""};
        Result<RunLines> first = RunLines::open(path, refusal.why);
        Result<RunLines> lines = RunLines::open(path, refusal.why);
        if (!first || !lines) {
            return refusal;
        }
        if (first.value().next()) {
            out.push_back({std::move(lines).value(), &shard, path, {}, 0});
        }
    }
    return {};
}

/// Keeps the lines of rows that are not among those that ended.
static std::string copy_open(const std::string& path, std::uint32_t shard,
                             const std::unordered_set<std::uint64_t>& ended, LineSink& sink) {
    std::string why;
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return why;
    }
    JsonDocument document;
    while (const auto line = lines.value().next()) {
        const auto left = read_json_line<FiredRow>(document, *line, "read a line");
        if (!left || !line->ends_with('}')) {
            return describe_line(path, lines.value().number(),
                                 Error{ErrorCode::bad_json, 0, "read a line"});
        }
        const FiredRow& fired = left.value();
        if (!ended.contains(sending_number(fired.row, fired.pass.value_or(0),
                                           fired.side.value_or(Side::none)))) {
            append_line(sink.buffer(), *line, shard);
            sink.commit();
        }
    }
    return lines.value().why();
}

/// The servers were read until all shards had ended.
static bool saw_all_end(const std::vector<ShardRun>& shards, const ShardRun& reader) {
    return shards.size() == reader.facts.shard->count &&
           std::ranges::all_of(shards, [&reader](const ShardRun& shard) {
               return &shard == &reader || shard.facts.shard->met_after;
           });
}

MergedFolder::~MergedFolder() {
    if (!folder_ || is_kept_) {
        return;
    }
    for (const std::string& name : names_) {
        (void)::unlink(name.c_str());
    }
    if (folder_->made_by_a_run) {
        (void)::rmdir(path_.c_str());
    }
}

int MergedFolder::take() {
    Result<NewFolder> taken = take_new_folder(path_);
    if (!taken) {
        return fail_folder(path_, taken.error());
    }
    folder_.emplace(std::move(taken).value());
    return exit_done;
}

template <typename Fill>
MergeRefusal MergedFolder::write_lines(const char* name, Fill fill) {
    const std::string& path = names_.emplace_back(path_ + "/" + name);
    Result<LineSink> sink = LineSink::create(path);
    if (!sink) {
        return why_unwritten(path, sink.error());
    }
    if (std::string why = fill(sink.value()); !why.empty()) {
        return {exit_input, std::move(why)};
    }
    sink.value().flush();
    return sink.value().error() ? why_unwritten(path, *sink.value().error()) : MergeRefusal();
}

MergeRefusal MergedFolder::write_records(const std::vector<ShardRun>& shards,
                                         const RecordLines& records) {
    return write_lines("requests.jsonl", [&](LineSink& sink) -> std::string {
        std::size_t kept = 0;
        for (auto line = records.lines().begin(); line != records.lines().end() && !sink.error();
             ++line) {
            append_line(sink.buffer(), records.text(*line), shards[line->place].index());
            sink.commit();
            kept += line->bytes;
            if (kept > mapped_bytes) {
                kept = 0;
                records.give_back();
            }
        }
        records.give_back();
        return "";
    });
}

MergeRefusal MergedFolder::write_fired(const std::vector<ShardRun>& shards,
                                       const RecordLines& records) {
    return write_lines("fired.jsonl", [&](LineSink& sink) {
        std::string why;
        for (std::size_t place = 0; place < shards.size() && why.empty(); ++place) {
            const ShardRun& shard = shards[place];
            if (shard.facts.ended && records.rows(place) >= shard.facts.rows) {
                continue;
            }
            std::unordered_set<std::uint64_t> ended;
            for (const RecordLine& line : records.lines()) {
                if (line.place == place) {
                    ended.insert(sending_number(line.order.row, line.order.pass, line.order.side));
                }
            }
            why = copy_open(shard.path("fired.jsonl"), shard.index(), ended, sink);
        }
        return why;
    });
}

MergeRefusal MergedFolder::write_others(const std::vector<ShardRun>& shards) {
    constexpr std::pair<const char*, const char*> by_instant[] = {
        {"client.jsonl", "from_ns"}, {"events.jsonl", "at_ns"}, {"responses.jsonl", nullptr}};
    for (const auto& [name, key] : by_instant) {
        std::vector<Head> heads;
        MergeRefusal refusal = open_files(shards, name, heads);
        if (!refusal && !heads.empty()) {
            refusal = write_lines(
                name, [&, key](LineSink& sink) { return merge_heads(heads, key, sink); });
        }
        if (refusal) {
            return refusal;
        }
    }
    return write_server(shards);
}

MergeRefusal MergedFolder::write_server(const std::vector<ShardRun>& shards) {
    std::vector<Head> files;
    const MergeRefusal refusal = open_files(shards, "server.jsonl", files);
    if (refusal || files.empty()) {
        return refusal;
    }
    const ShardRun& reader = *files.front().shard;
    if (!saw_all_end(shards, reader)) {
        const bool met = reader.facts.shard->clock.has_value();
        complain(
            "merge: %s is left out, because %s", printable(files.front().path).c_str(),
            met ? "shards that are missing or were killed did not tell this one when they ended"
                : "this shard read the servers only until its own end, and other shards may "
                  "have sent longer (with --meet it waits for them)");
        return {};
    }
    RunLines& lines = files.front().lines;
    return write_lines("server.jsonl", [&lines](LineSink& sink) {
        while (const auto line = lines.next()) {
            sink.buffer().append(*line).push_back('\n');
            sink.commit();
        }
        return lines.why();
    });
}

MergeRefusal MergedFolder::write_text(const char* name, const std::string& text) {
    const std::string& path = names_.emplace_back(path_ + "/" + name);
    const Result<void> written = write_whole_file(path, text, Lasting::written);
    return written ? MergeRefusal() : why_unwritten(path, written.error());
}

}  // namespace driftless
