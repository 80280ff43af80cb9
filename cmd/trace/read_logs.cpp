#include "cmd/trace/read_logs.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/plan/compressed_files.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/trace/logs.hpp"

namespace driftless {

/// Sets these chains apart from all else that may be hashed under the same secret.
static constexpr std::string_view chain_name = "driftless prompt blocks 1";

/// What stands for a token that is not known: no tokenizer has it.
static constexpr std::uint32_t unknown_token = 0xFFFFFFFF;

PromptBlocks::PromptBlocks(KeyedHash& hash, std::uint32_t block_size)
    : hash_(hash), block_size_(block_size) {
    CHECK(block_size > 0);
    bytes_.assign(chain_name.begin(), chain_name.end());
    add_u32(block_size);
    first_ = hash_.of(bytes_);
}

/// Little-endian, on every machine.
void PromptBlocks::add_u32(std::uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
        bytes_.push_back(static_cast<unsigned char>(value >> shift));
    }
}

void PromptBlocks::append(std::span<const TokenId> tokens, std::uint32_t length,
                          std::vector<std::uint64_t>& ids) {
    const std::uint64_t known = std::min<std::uint64_t>(tokens.size(), length);
    KeyedHash::Value value = first_;
    for (std::uint64_t begin = 0; begin < length; begin += block_size_) {
        const std::uint64_t end = std::min<std::uint64_t>(begin + block_size_, length);
        bytes_.assign(value.begin(), value.end());
        for (std::uint64_t i = begin; i < end; ++i) {
            add_u32(i < known ? static_cast<std::uint32_t>(tokens[i]) : unknown_token);
        }
        if (end > known) {
            add_u32(length);
        }
        value = hash_.of(bytes_);
        std::uint64_t id = 0;
        for (unsigned i = 0; i < 8; ++i) {
            id |= std::uint64_t{value[i]} << (8 * i);
        }
        ids.push_back(id);
    }
}

void render(std::span<const LogMessage> prompt, Tokenizer& tokenizer,
            std::vector<TokenId>& tokens) {
    tokens.clear();
    bool has_roles = false;
    std::string text;
    for (const LogMessage& message : prompt) {
        if (message.role.empty()) {
            tokenizer.encode(message.text, tokens);
            continue;
        }
        has_roles = true;
        tokenizer.encode(text.assign(message.role) += '\n', tokens);
        tokenizer.encode(text.assign(message.text) += '\n', tokens);
    }
    if (has_roles) {
        tokenizer.encode("assistant\n", tokens);
    }
}

static constexpr std::int64_t unknown_ns = -1;

/// Blocks that most servers use; a trace of larger ones says less about what they share.
static constexpr std::uint32_t usual_block_size = 16;

/// Of session and prompt: a call that is tried again has the same. Stays in memory.
static std::uint64_t prompt_digest(const LogCall& call) {
    Xxh64 digest;
    digest.add(call.session);
    for (const LogMessage& message : call.prompt) {
        digest.add(std::string_view("\0", 1));
        digest.add(message.role);
        digest.add(std::string_view("\0", 1));
        digest.add(message.text);
    }
    return digest.value();
}

namespace {

// LogRows: calls of a log in, rows of a trace out.
//
// It counts tokens, makes block ids, leaves out what is no request of its own (failed calls,
// duplicates), and at the end sorts, numbers sessions and says who waits for whom. Of a call it
// keeps numbers only, and what `--keep` names: no text, name or id.

class LogRows {
  public:
    LogRows(Tokenizer& tokenizer, KeyedHash& hash, std::uint32_t block_size, bool lenient,
            InputErrors& errors)
        : tokenizer_(tokenizer), blocks_(hash, block_size), lenient_(lenient), errors_(errors) {}

    /// Calls that follow come from this file.
    void begin_file(std::string_view name) {
        file_ = name;
        previous_ns_ = 0;
    }

    /// Takes a call, or lists why it cannot be a row.
    void add(LogCall call) {
        if (is_duplicate(call)) {
            return;
        }
        const std::uint64_t prompt = prompt_digest(call);
        if (call.failed) {
            ++calls_failed_;
            const auto [known, is_new] = failed_ns_.try_emplace(prompt, call.start_ns);
            known->second = std::min(known->second, call.start_ns);
            return;
        }
        TraceRow row;
        if (!read_input(call, row) || !read_output(call, row)) {
            return;
        }
        row.at_ns = call.start_ns;
        row.index = static_cast<std::uint32_t>(rows_.size());
        if (!call.session.empty()) {
            const auto number = static_cast<std::uint32_t>(sessions_.size());
            row.session = sessions_.try_emplace(std::move(call.session), number).first->second;
        }
        if (!call.model.empty()) {
            ++models_[std::move(call.model)];
        }
        if (!call.kept.empty()) {
            kept_.push_back(std::move(call.kept));
        }
        calls_whole_ += call.streamed == false ? 1 : 0;
        rows_unsorted_ += call.start_ns < previous_ns_ ? 1 : 0;
        previous_ns_ = call.start_ns;
        rows_.push_back({row, call.end_ns.value_or(unknown_ns), prompt});
    }

    /// After the last call: gives rows, ids, sessions, dependencies and counts to `trace`.
    void finish(Trace& trace) {
        count_retries();
        std::ranges::sort(rows_, comes_before, &Row::row);
        const std::int64_t first_ns = rows_.empty() ? 0 : rows_.front().row.at_ns;
        for (const Row& one : rows_) {
            ends_unknown_ += one.end_ns == unknown_ns ? 1 : 0;
            if (!kept_.empty()) {
                trace.kept.push_back(std::move(kept_[one.row.index]));
            }
            TraceRow& row = trace.rows.emplace_back(one.row);
            row.index = static_cast<std::uint32_t>(trace.rows.size() - 1);
            row.at_ns -= first_ns;
        }
        number_sessions(trace);
        trace.ids.append(ids_);
        trace.ids.settle();
        trace.name_spaces = 1;
        trace.rows_unsorted = rows_unsorted_;
        trace.zero_outputs = zero_outputs_;
        trace.rows_uncovered = trace.ids.empty() ? 0 : rows_uncovered_;
    }

    /// For people, a line each.
    std::vector<std::string> notes() const {
        std::vector<std::string> notes;
        count_note(notes, calls_failed_, "failed call left out", "failed calls left out");
        count_note(notes, calls_empty_, "call without text and length left out",
                   "calls without text and length left out");
        count_note(notes, calls_retried_, "row retries a failed call: it stays a separate row",
                   "rows retry failed calls: they stay separate rows");
        count_note(notes, calls_duplicate_, "call that the log holds twice left out",
                   "calls that the log holds again left out");
        count_note(notes, calls_whole_, "call was not streamed: replay streams every call",
                   "calls were not streamed: replay streams every call");
        count_note(notes, ends_unknown_,
                   "call has no end: the next one waits only until it is sent",
                   "calls have no end: the next ones wait only until they are sent");
        count_note(notes, models_.size() > 1 ? models_.size() : 0, "",
                   "models: prompts of different models share ids if their texts are equal");
        count_note(notes, inputs_counted_, "prompt without usage: its length is our count",
                   "prompts without usage: their lengths are our counts");
        count_note(notes, outputs_counted_, "answer without usage: its length is our count",
                   "answers without usage: their lengths are our counts");
        if (calls_compared_ > 0) {
            notes.push_back(
                "lengths are the server's, from usage: in " + std::to_string(calls_equal_) +
                " of " + std::to_string(calls_compared_) + " calls our own count is " +
                "the same, in " + std::to_string(calls_far_) +
                " it is more than a tenth off; tokens from usage " + std::to_string(usage_tokens_) +
                ", from our count " + std::to_string(own_tokens_));
        }
        if (calls_far_ * 2 > calls_compared_) {
            notes.push_back(
                "warning: most counts are far off; check that --tokenizer is the model's");
        }
        return notes;
    }

  private:
    struct Row {
        TraceRow row;  ///< `at_ns` since 1970, `index` as added, ids in `ids_`
        std::int64_t end_ns;
        std::uint64_t prompt;  ///< digest of session and prompt
    };

    /// The same id at the same time: exports overlap, and some write a call twice.
    bool is_duplicate(const LogCall& call) {
        if (call.id.empty()) {
            return false;
        }
        Xxh64 digest;
        digest.add(call.id);
        digest.add("/" + std::to_string(call.start_ns));
        const bool is_new = seen_.insert(digest.value()).second;
        calls_duplicate_ += is_new ? 0 : 1;
        return !is_new;
    }

    /// The server's count is the length: it is what the server had to read. The ids are those of
    /// the text.
    bool read_input(const LogCall& call, TraceRow& row) {
        render(call.prompt, tokenizer_, tokens_);
        const std::uint32_t usage = call.input_tokens.value_or(0);
        if (tokens_.empty() && usage == 0 && lenient_) {
            ++calls_empty_;
            return false;
        }
        if (tokens_.empty() && !lenient_) {
            refuse(call, "messages",
                   "hold no text: the prompt is not in the log, or in a shape that is not read",
                   usage == 0 ? "--lenient leaves the call out, whose length is not known either"
                              : "--lenient keeps its length and fills it with private tokens");
            return false;
        }
        row.input_length = usage > 0 ? usage : static_cast<std::uint32_t>(tokens_.size());
        row.ids_begin = ids_.size();
        if (tokens_.empty()) {
            ++rows_uncovered_;
            return true;
        }
        blocks_.append(tokens_, row.input_length, ids_);
        row.ids_count = static_cast<std::uint32_t>(ids_.size() - row.ids_begin);
        if (usage > 0) {
            compare(usage, tokens_.size());
        }
        inputs_counted_ += usage > 0 ? 0 : 1;
        return true;
    }

    bool read_output(const LogCall& call, TraceRow& row) {
        if (!call.output_tokens && !call.answer && !lenient_) {
            refuse(call, "usage", "is missing, and so is the answer: its length is not known",
                   "--lenient takes 1 token");
            return false;
        }
        row.output_length = call.output_tokens.value_or(0);
        if (!call.output_tokens && call.answer) {
            tokens_.clear();
            tokenizer_.encode(*call.answer, tokens_);
            row.output_length = static_cast<std::uint32_t>(tokens_.size());
            ++outputs_counted_;
        }
        zero_outputs_ += row.output_length == 0 ? 1 : 0;
        row.output_length = std::max(row.output_length, 1U);
        return true;
    }

    void compare(std::uint32_t usage, std::uint64_t own) {
        const std::uint64_t apart = usage > own ? usage - own : own - usage;
        calls_compared_ += 1;
        calls_equal_ += apart == 0 ? 1 : 0;
        calls_far_ += apart > usage / 10 + 16 ? 1 : 0;
        usage_tokens_ += usage;
        own_tokens_ += own;
    }

    void refuse(const LogCall& call, const char* field, const char* problem,
                const char* remedy) const {
        errors_.add({file_, call.line, call.place + field, "", problem, remedy});
    }

    /// Sessions by their first rows; a row waits for the one before it: for its answer, or, where
    /// it came before that had ended, for its sending.
    void number_sessions(Trace& trace) const {
        struct Last {
            std::uint32_t session = no_session;
            std::uint32_t row = 0;
            std::uint32_t turns = 0;
        };
        std::vector<Last> lasts(sessions_.size());
        for (TraceRow& row : trace.rows) {
            if (row.session == no_session) {
                continue;
            }
            Last& last = lasts[row.session];
            if (last.turns == 0) {
                last.session = static_cast<std::uint32_t>(trace.sessions.size());
                trace.sessions.push_back(std::to_string(last.session));
            } else {
                const Row& before = rows_[last.row];
                const std::int64_t start_ns = rows_[row.index].row.at_ns;
                const bool ended = before.end_ns != unknown_ns && before.end_ns <= start_ns;
                trace.dependencies.push_back(
                    {row.index, last.row, ended ? Trigger::completion : Trigger::dispatch,
                     start_ns - (ended ? before.end_ns : before.row.at_ns)});
            }
            row.session = last.session;
            row.turn = ++last.turns;
            last.row = row.index;
        }
    }

    void count_retries() {
        for (const Row& one : rows_) {
            const auto failed = failed_ns_.find(one.prompt);
            calls_retried_ += failed != failed_ns_.end() && failed->second < one.row.at_ns ? 1 : 0;
        }
    }

    Tokenizer& tokenizer_;
    PromptBlocks blocks_;
    bool lenient_;
    InputErrors& errors_;
    std::string file_;
    std::int64_t previous_ns_ = 0;

    std::vector<Row> rows_;
    std::vector<std::uint64_t> ids_;
    std::vector<std::string> kept_;
    std::vector<TokenId> tokens_;
    std::unordered_map<std::string, std::uint32_t> sessions_;
    std::unordered_map<std::string, std::uint32_t> models_;
    std::unordered_set<std::uint64_t> seen_;                     ///< ids and times of calls
    std::unordered_map<std::uint64_t, std::int64_t> failed_ns_;  ///< [prompt] first failure
    std::uint64_t calls_failed_ = 0;
    std::uint64_t calls_empty_ = 0;  ///< without text and length
    std::uint64_t calls_retried_ = 0;
    std::uint64_t calls_duplicate_ = 0;
    std::uint64_t calls_whole_ = 0;  ///< not streamed
    std::uint64_t rows_unsorted_ = 0;
    std::uint64_t rows_uncovered_ = 0;
    std::uint64_t zero_outputs_ = 0;
    std::uint64_t ends_unknown_ = 0;
    // How the log's usage compares with the tokens that we count in its text:
    std::uint64_t calls_compared_ = 0;  ///< calls with text and usage
    std::uint64_t calls_equal_ = 0;
    std::uint64_t calls_far_ = 0;  ///< more than a tenth and 16 tokens apart
    std::uint64_t usage_tokens_ = 0;
    std::uint64_t own_tokens_ = 0;
    std::uint64_t inputs_counted_ = 0;   ///< prompts without usage
    std::uint64_t outputs_counted_ = 0;  ///< answers without usage
};

/// One reading of all files.
struct Reading {
    LogReader reader;
    LogRows rows;
    InputErrors& errors;
    std::vector<std::string>& notes;
    std::uint64_t bytes = 0;

    void refuse_file(const std::string& path, const Error& error) const {
        errors.add({path, 0, "", "",
                    error.sys_errno != 0 ? std::strerror(error.sys_errno) : "has no log",
                    "name a file of JSON lines, a folder of such files, or -"});
    }

    void take_calls() {
        for (LogCall& call : reader.calls()) {
            rows.add(std::move(call));
        }
    }

    void read_file(const std::string& path) {
        Result<FileLines> opened = FileLines::open(path);
        if (!opened) {
            refuse_file(path, opened.error());
            return;
        }
        FileLines& lines = opened.value();
        const std::string name = path == "-" ? "standard input" : path;
        reader.begin_file(name);
        rows.begin_file(name);
        bool wanted = true;
        while (wanted) {  // ends with the file
            const auto line = lines.next();
            if (!line) {
                break;
            }
            wanted = reader.add_line(lines.number(), *line);
            take_calls();
        }
        bytes += lines.bytes();
        if (lines.broke_off() && lines.number() > 0) {
            notes.push_back("warning: " + name + ": " + lines.trouble() + ": read up to line " +
                            std::to_string(lines.number()));
        } else if (!lines.trouble().empty()) {
            errors.add({name, 0, "", "", "cannot be read: " + lines.trouble(), "repair the file"});
        }
        reader.end_file();
        take_calls();
    }
};

}  // namespace

static void describe_logs(Trace& trace, const Reading& reading, std::vector<std::string>& notes) {
    trace.remarks = reading.reader.remarks();
    describe(trace, 1, {}, notes);
    const std::vector<std::string> own = reading.rows.notes();
    notes.insert(notes.end(), own.begin(), own.end());
    if (!trace.ids.empty()) {
        notes.push_back(
            "prompts consist of role, newline, text and newline per message, in place of the "
            "server's chat template");
    }
}

bool read_logs(const TraceFiles& files, Tokenizer& tokenizer, KeyedHash& hash, Trace& out,
               InputErrors& errors, std::vector<std::string>& notes) {
    out = Trace();
    const std::uint32_t block_size = files.block_size > 0 ? files.block_size : usual_block_size;
    Reading reading{LogReader(files.format, files.keep, errors),
                    LogRows(tokenizer, hash, block_size, files.lenient, errors), errors, notes};
    for (const std::string& path : files.paths) {
        const Result<std::vector<std::string>> expanded = expand_path(path);
        if (!expanded) {
            reading.refuse_file(path, expanded.error());
            continue;
        }
        for (const std::string& file : expanded.value()) {
            reading.read_file(file);
        }
    }
    reading.reader.finish();
    reading.rows.finish(out);
    // A name of the log would tell whose it is.
    out.name = "logs";
    out.format = reading.reader.format() == nullptr ? "" : reading.reader.format()->name;
    out.time_unit = "iso";
    out.block_size = out.ids.empty() ? 0 : block_size;
    out.bytes = reading.bytes;
    out.files = {{out.name, 0}};
    if (errors.empty() && out.rows.empty()) {
        errors.add({files.paths.empty() ? "" : files.paths.front(), 0, "", "",
                    "has no answered request", "a trace needs at least one"});
    }
    if (errors.empty()) {
        describe_logs(out, reading, notes);
    }
    return errors.empty();
}

}  // namespace driftless
