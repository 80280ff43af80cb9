#include "cmd/convert/run_trace.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/run_folder.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/synth/made_trace.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/history/run_lines.hpp"
#include "engine/input/trace_file.hpp"
#include "engine/plan/load.hpp"
#include "proto/core/counted.hpp"
#include "proto/json/write.hpp"
#include "proto/record/record.hpp"

namespace driftless {

namespace {

/// What a record leaves in a trace.
struct SentRow {
    std::uint32_t row = 0;
    std::uint32_t pass = 0;
    std::optional<std::uint32_t> user;
    std::int64_t fired_ns = 0;
    std::int64_t answer_ns = 0;  ///< 0: not known
    std::uint32_t input = 0;     ///< 0: not known
    std::uint32_t output = 0;
    std::string session;
    std::uint32_t turn = 0;
    std::string kept;  ///< JSON object
};

std::string kept_of(const Record& record) {
    std::string kept = record.kept.size() > 2 ? record.kept.substr(0, record.kept.size() - 1) : "";
    kept += kept.empty() ? "{" : ",";
    kept += "\"cached_tokens\":" +
            (record.cached_tokens ? std::to_string(*record.cached_tokens) : "null");
    return kept + ",\"outcome\":\"" + name_of(record.outcome) + "\"}";
}

SentRow sent_row(const Record& record) {
    SentRow sent;
    sent.row = record.row;
    sent.pass = record.pass;
    sent.user = record.user;
    sent.fired_ns = *record.fired_ns;
    sent.answer_ns =
        is_whole(record.outcome) && record.ended_ns ? *record.ended_ns - *record.fired_ns : 0;
    const auto length = [](std::optional<std::int64_t> got, std::optional<std::uint32_t> recorded) {
        const std::int64_t tokens = got.value_or(recorded.value_or(0));
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(tokens, 0, UINT32_MAX));
    };
    // A prompt keeps its recorded length where blocks go with it; the server counts its template.
    sent.input = record.input_length ? *record.input_length : length(record.prompt_tokens, {});
    const bool is_counted = counts_output(record) && *record.output_tokens > 0;
    sent.output = length(is_counted ? record.output_tokens : std::nullopt, record.output_length);
    sent.session = record.session.value_or("");
    sent.turn = record.turn.value_or(0);
    sent.kept = kept_of(record);
    return sent;
}

/// The last try of each row in each pass.
std::string read_sent(const std::string& path, std::vector<SentRow>& out, std::uint64_t& unsent) {
    std::string why;
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return why;
    }
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> place;
    JsonDocument document;
    while (const auto line = lines.value().next()) {
        const Result<Record> record = read_record(document, *line);
        if (!record) {
            return describe_line(path, lines.value().number(), record.error());
        }
        const bool is_copy = record.value().side == Side::b;  // of what side a was sent
        if (record.value().phase != Phase::profile || is_copy) {
            continue;
        }
        if (!record.value().fired_ns) {
            ++unsent;
            continue;
        }
        SentRow sent = sent_row(record.value());
        const auto key = std::tuple(sent.row, sent.pass, sent.user.value_or(0));
        const auto [found, fresh] = place.try_emplace(key, out.size());
        if (fresh) {
            out.push_back(std::move(sent));
        } else {
            out[found->second] = std::move(sent);
        }
    }
    return lines.value().why();
}

/// Lengths and sessions alone, as the records have them.
Trace bare_trace(const std::vector<SentRow>& sent, const std::string& name) {
    Trace trace;
    trace.name = name;
    trace.format = "canonical";
    trace.time_unit = "ns";
    trace.name_spaces = 1;
    std::unordered_map<std::string, std::uint32_t> sessions;
    std::uint32_t rows = 0;
    for (const SentRow& one : sent) {
        rows = std::max(rows, one.row + 1);
    }
    std::vector<char> seen(rows, 0);
    for (const SentRow& one : sent) {
        if (seen[one.row] != 0) {
            continue;
        }
        seen[one.row] = 1;
        TraceRow row;
        row.index = one.row;
        row.input_length = std::max<std::uint32_t>(one.input, 1);
        row.output_length = std::max<std::uint32_t>(one.output, 1);
        row.turn = one.turn;
        if (!one.session.empty()) {
            const auto [found, fresh] = sessions.try_emplace(
                one.session, static_cast<std::uint32_t>(trace.sessions.size()));
            if (fresh) {
                trace.sessions.push_back(one.session);
            }
            row.session = found->second;
        }
        trace.rows.push_back(row);
    }
    return trace;
}

/// Replaces the rows of a trace by what was sent.
class SentTrace {
  public:
    SentTrace(Trace& trace, std::vector<std::string>& notes) : trace_(trace), notes_(notes) {}

    void fill(const std::vector<SentRow>& sent) {
        std::unordered_map<std::uint32_t, TraceRow> planned;
        for (const TraceRow& row : trace_.rows) {
            planned.emplace(row.index, row);
            indices_ = std::max(indices_, row.index + 1);
        }
        unfold_copies();
        trace_.rows.clear();
        std::int64_t first = INT64_MAX;
        for (const SentRow& one : sent) {
            first = std::min(first, one.fired_ns);
        }
        for (const SentRow& one : sent) {
            if (const auto found = planned.find(one.row); found != planned.end()) {
                add(one, found->second, one.fired_ns - first);
            }
        }
        std::stable_sort(trace_.rows.begin(), trace_.rows.end(),
                         [](const TraceRow& a, const TraceRow& b) {
                             return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.index < b.index;
                         });
        if (left_out_ > 0) {
            notes_.push_back(counted(left_out_, "request", "requests") +
                             " of later passes left out: they send recorded bodies");
        }
    }

  private:
    /// Copies share what is kept by the index of their row; here each has its own.
    void unfold_copies() {
        if (!trace_.body_ends.empty()) {
            return;
        }
        trace_.kept.clear();
        trace_.kept.resize(indices_);
        std::vector<std::int64_t>(indices_, 0).swap(trace_.answers_ns);
        trace_.copy_rows = 0;
    }

    void add(const SentRow& one, TraceRow row, std::int64_t at_ns) {
        const bool again = !used_.insert(one.row).second;
        if (again && !trace_.body_ends.empty()) {
            ++left_out_;
            return;
        }
        if (again) {
            row.index = indices_++;
            trace_.kept.emplace_back();
            trace_.answers_ns.push_back(0);
            row.name_space += one.pass * trace_.name_spaces;
            if (row.session != no_session) {
                row.session = session_again(row.session, one);
            }
        }
        row.at_ns = at_ns;
        row.input_length = one.input > 0 ? one.input : row.input_length;
        row.output_length = one.output > 0 ? one.output : row.output_length;
        if (trace_.body_ends.empty()) {
            trace_.kept[row.index] = one.kept;
            trace_.answers_ns[row.index] = one.answer_ns;
        }
        trace_.rows.push_back(row);
    }

    std::uint32_t session_again(std::uint32_t session, const SentRow& one) {
        const std::string name = trace_.sessions[session] + "#" + std::to_string(one.pass) +
                                 (one.user ? "." + std::to_string(*one.user) : "");
        const auto [found, fresh] =
            sessions_.try_emplace(name, static_cast<std::uint32_t>(trace_.sessions.size()));
        if (fresh) {
            trace_.sessions.push_back(name);
        }
        return found->second;
    }

    Trace& trace_;
    std::vector<std::string>& notes_;
    std::uint32_t indices_ = 0;
    std::set<std::uint32_t> used_;
    std::unordered_map<std::string, std::uint32_t> sessions_;
    std::uint64_t left_out_ = 0;
};

/// Why the trace of a run is not that of its run.json, or the empty text.
std::string read_planned(const RunFacts& facts, Trace& out) {
    ReplayCommandLine line = parse_replay_options(facts.arguments, "-");
    if (line.kind != ReplayCommandLine::Kind::run) {
        return "the flags of the run cannot be read";
    }
    const WorkloadFlags& flags = line.options.workload;
    InputErrors errors;
    std::vector<std::string> notes;
    const bool read = names_made_trace(flags.files.paths)
                          ? read_made_trace(flags.files, out, errors, notes) == exit_done
                          : read_trace(flags.files, out, errors, notes);
    if (!read) {
        return "the trace of the run can no longer be read";
    }
    Result<LoadedTrace> load = apply_load(flags.load, std::move(out));
    if (!load) {
        return "the load of the run can no longer be made";
    }
    out = std::move(load.value().trace);
    return out.digest == facts.trace_digest ? "" : "the trace of the run has changed";
}

}  // namespace

bool is_run_folder(const std::string& path) {
    struct stat facts{};
    return ::stat((path + "/run.json").c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

bool read_planned_trace(const std::string& folder, Trace& out, std::string& why) {
    RunFacts facts;
    why = read_run(folder, facts);
    why = why.empty() ? read_planned(facts, out) : why;
    return why.empty();
}

int read_run_trace(std::string folder, Trace& out, std::vector<std::string>& notes) {
    while (folder.size() > 1 && folder.back() == '/') {
        folder.pop_back();
    }
    RunFacts facts;
    if (const std::string why = read_run(folder, facts); !why.empty()) {
        complain("driftless convert: %s", why.c_str());
        return exit_input;
    }
    std::vector<SentRow> sent;
    std::uint64_t unsent = 0;
    const std::string path =
        facts.records_path.empty() ? folder + "/requests.jsonl" : facts.records_path;
    std::string why = read_sent(path, sent, unsent);
    if (why.empty() && sent.empty()) {
        why = folder + ": this run sent no request, so there is nothing to write; name another run";
    }
    if (!why.empty()) {
        complain("driftless convert: %s", why.c_str());
        return exit_input;
    }
    if (const std::string other = read_planned(facts, out); !other.empty()) {
        notes.push_back(other + ": rows keep lengths and sessions, but share no prefixes");
        out = bare_trace(sent, facts.info.trace);
    }
    SentTrace(out, notes).fill(sent);
    notes.push_back(counted(out.rows.size(), "request", "requests") +
                    " at the instants when they were sent, with the answers that they got");
    if (unsent > 0) {
        notes.push_back(counted(unsent, "row", "rows") + " never sent: left out");
    }
    if (!out.dependencies.empty()) {
        notes.emplace_back("which rows wait for which, and how long, is as recorded");
    }
    return exit_done;
}

}  // namespace driftless
