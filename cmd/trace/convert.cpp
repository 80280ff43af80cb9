#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/replay_options.hpp"
#include "cmd/flags/synth_values.hpp"
#include "cmd/trace/read_logs.hpp"
#include "cmd/trace/trace.hpp"
#include "engine/base/keyed_hash.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/history/run_lines.hpp"
#include "engine/plan/load.hpp"
#include "engine/plan/trace_file.hpp"
#include "engine/prompt/tokenizer.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

static constexpr const char* remedy = "make one with: openssl rand -hex 32";

static std::string read_file(const std::string& path, std::string& salt) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               &std::fclose);
    if (file == nullptr) {
        return "--salt-file " + path + ": " + std::strerror(errno) + "; " + remedy;
    }
    salt.resize(salt_bytes_max + 1);
    salt.resize(std::fread(salt.data(), 1, salt.size(), file.get()));
    return std::ferror(file.get()) != 0 ? "--salt-file " + path + ": cannot be read" : "";
}

std::string read_salt(const std::string& file, const std::string& variable, std::string& salt) {
    const std::string source = file.empty() ? "--salt-env " + variable : "--salt-file " + file;
    if (!file.empty()) {
        const std::string why = read_file(file, salt);
        if (!why.empty()) {
            return why;
        }
    } else if (const char* const value = std::getenv(variable.c_str()); value != nullptr) {
        salt = value;
        wipe_variable(variable);
    } else {
        return source + ": is not set; " + remedy;
    }
    salt.resize(salt.find_last_not_of(" \t\r\n") + 1);
    if (salt.size() < salt_bytes_min || salt.size() > salt_bytes_max) {
        return source + ": holds " + std::to_string(salt.size()) + " bytes; a salt has " +
               std::to_string(salt_bytes_min) + " to " + std::to_string(salt_bytes_max) + "; " +
               remedy;
    }
    return "";
}

static int refuse(const std::string& why, int code) {
    complain("driftless: %s", why.c_str());
    return code;
}

/// Tokenizer, salt, logs; a trace without their text. Returns the exit code. What is wrong with the
/// logs goes into `errors`.
static int read_from_logs(const ConvertOptions& options, Trace& trace, InputErrors& errors,
                          std::vector<std::string>& notes) {
    std::string salt;
    const std::string why_no_salt = read_salt(options.logs.salt_file, options.logs.salt_env, salt);
    if (!why_no_salt.empty()) {
        return refuse(why_no_salt, exit_usage);
    }
    Result<KeyedHash> hash = KeyedHash::create(salt);
    wipe(salt);
    if (!hash) {
        return refuse(
            "this host's OpenSSL has no HMAC-SHA-256, which block ids need; install a full OpenSSL "
            "3",
            exit_host);
    }
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(options.logs.tokenizer, why);
    if (!tokenizer) {
        return refuse("--tokenizer " + why, exit_input);
    }
    TraceFiles files = options.files;
    files.format = options.logs.format;
    return read_logs(files, tokenizer.value(), hash.value(), trace, errors, notes) ? exit_done
                                                                                   : exit_input;
}

namespace {

// A run as a trace: what was really sent and got.

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

}  // namespace

static std::string kept_of(const Record& record) {
    std::string kept = record.kept.size() > 2 ? record.kept.substr(0, record.kept.size() - 1) : "";
    kept += kept.empty() ? "{" : ",";
    kept += "\"cached_tokens\":" +
            (record.cached_tokens ? std::to_string(*record.cached_tokens) : "null");
    return kept + ",\"outcome\":\"" + name_of(record.outcome) + "\"}";
}

static SentRow sent_row(const Record& record) {
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
static std::string read_sent(const std::string& path, std::vector<SentRow>& out,
                             std::uint64_t& unsent) {
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

namespace {

using SessionNumbers = std::unordered_map<std::string, std::uint32_t>;

}  // namespace

/// The number of a session by its name; a new one is added to the trace.
static std::uint32_t number_of(const std::string& name, SessionNumbers& known, Trace& trace) {
    const auto [found, fresh] =
        known.try_emplace(name, static_cast<std::uint32_t>(trace.sessions.size()));
    if (fresh) {
        trace.sessions.push_back(name);
    }
    return found->second;
}

/// Lengths and sessions alone, as the records have them.
static Trace bare_trace(const std::vector<SentRow>& sent, const std::string& name) {
    Trace trace;
    trace.name = name;
    trace.format = "canonical";
    trace.time_unit = "ns";
    trace.name_spaces = 1;
    SessionNumbers sessions;
    std::set<std::uint32_t> seen;
    for (const SentRow& one : sent) {
        if (!seen.insert(one.row).second) {
            continue;
        }
        TraceRow row;
        row.index = one.row;
        row.input_length = std::max<std::uint32_t>(one.input, 1);
        row.output_length = std::max<std::uint32_t>(one.output, 1);
        row.turn = one.turn;
        if (!one.session.empty()) {
            row.session = number_of(one.session, sessions, trace);
        }
        trace.rows.push_back(row);
    }
    return trace;
}

namespace {

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
        std::stable_sort(trace_.rows.begin(), trace_.rows.end(), comes_before);
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
        return number_of(name, sessions_, trace_);
    }

    Trace& trace_;
    std::vector<std::string>& notes_;
    std::uint32_t indices_ = 0;
    std::set<std::uint32_t> used_;
    SessionNumbers sessions_;
    std::uint64_t left_out_ = 0;
};

}  // namespace

/// Why the trace of a run is not that of its run.json, or the empty text.
static std::string read_planned(const RunFacts& facts, Trace& out) {
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
    if (!apply_load(flags.load, out)) {
        return "the load of the run can no longer be made";
    }
    return out.digest == facts.trace_digest ? "" : "the trace of the run has changed";
}

static bool is_run_folder(const std::string& path) {
    struct stat facts{};
    return ::stat((path + "/run.json").c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

/// The rows that the run sent, at the instants at which they left, with the lengths of prompts and
/// answers as the server counted them. Kept columns tell what the server took from its cache, and
/// how each row ended. Block ids, sessions and waits come from the run's own trace; if that cannot
/// be read any more or is another one, rows have only lengths and sessions, and a note says so.
/// Rows that users sent several times become a session of their own for each pass. Returns the exit
/// code; errors are printed.
static int read_run_trace(const std::string& given, Trace& out, std::vector<std::string>& notes) {
    const std::string folder = without_slashes(given);
    RunFacts facts;
    if (const std::string why = read_run(folder, facts); !why.empty()) {
        complain("driftless convert: %s", why.c_str());
        return exit_input;
    }
    std::vector<SentRow> sent;
    std::uint64_t unsent = 0;
    std::string why = read_sent(facts.records_in(folder), sent, unsent);
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

namespace {

/// One conversion. What a person should know goes to standard output, or to standard error where
/// the trace goes there.
class Conversion {
  public:
    explicit Conversion(const ConvertOptions& options)
        : options_(options), say_(options.out == "-" ? stderr : stdout) {}

    int run() {
        int code = refuse_existing_file("--out", options_.out);
        code = code == exit_done ? read() : code;
        code = code == exit_done ? select() : code;
        return code == exit_done
                   ? write_trace(trace_, *options_.target, std::move(rows_), options_.out, say_)
                   : code;
    }

  private:
    int read();
    int select();
    void say(const char* topic, const std::vector<std::string>& lines) const;

    const ConvertOptions& options_;
    std::FILE* say_;
    Trace trace_;
    std::vector<WrittenRow> rows_;
};

}  // namespace

void Conversion::say(const char* topic, const std::vector<std::string>& lines) const {
    for (const std::string& line : lines) {
        std::fprintf(say_, "%s: %s\n", topic, line.c_str());
    }
}

int Conversion::read() {
    InputErrors errors;
    std::vector<std::string> notes;
    if (options_.logs.wanted) {
        const int code = read_from_logs(options_, trace_, errors, notes);
        say("logs", notes);
        print_errors(errors);
        return code;
    }
    if (options_.files.paths.size() == 1 && is_run_folder(options_.files.paths[0])) {
        const int code = read_run_trace(options_.files.paths[0], trace_, notes);
        say("run", notes);
        return code;
    }
    const bool usable = read_trace(options_.files, trace_, errors, notes);
    say("trace", notes);
    print_errors(errors);
    return usable ? exit_done : exit_input;
}

int Conversion::select() {
    const Result<LoadFigures> load = apply_load(options_.load, trace_);
    if (!load) {
        complain("driftless: %s", load_refusal(load.error()));
        return exit_input;
    }
    say("load", load_notes(load.value()));
    const Result<Plan> plan = make_plan(trace_, options_.plan);
    if (!plan) {
        complain("driftless: %s or --limit", nothing_selected(trace_).c_str());
        return exit_input;
    }
    for (const Planned& one : plan.value().rows) {
        rows_.push_back({one.row, one.due_ns});
    }
    for (Dependency& one : trace_.dependencies) {
        one.delay_ns = due_of(one.delay_ns, options_.plan.speed);
    }
    return exit_done;
}

int run_convert(int argc, char** argv) {
    const ConvertCommandLine line = parse_convert_options({argv + 1, argv + argc});
    if (const std::optional<int> code = line.finish()) {
        return *code;
    }
    return Conversion(line.options).run();
}

}  // namespace driftless
