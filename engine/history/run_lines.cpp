#include "engine/history/run_lines.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/host/host.hpp"
#include "engine/host/threads.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/json/document.hpp"
#include "proto/run/record.hpp"
#include "proto/run/record_lines.hpp"

namespace driftless {

static constexpr const char* restore_or_remove = "; restore the line or remove it";

std::string describe_line(const std::string& path, std::uint64_t line, const Error& error) {
    const std::string place = path + ":" + std::to_string(line) + ": ";
    switch (error.code) {
        case ErrorCode::exists:
            return place + error.doing;
        case ErrorCode::missing:
        case ErrorCode::out_of_range:
            return place + error.doing + " is " + reason_of(error) + restore_or_remove;
        case ErrorCode::invalid:
            return place + error.doing + " contradicts the rest of its line" + restore_or_remove;
        case ErrorCode::bad_json: {
            const std::string doing = error.doing;  // a key, or "read a record"
            return doing.find(' ') == doing.npos
                       ? place + doing + " has a value of another kind than it should" +
                             restore_or_remove
                       : place + "cannot " + doing +
                             ": the line is not a JSON object; restore it or remove it";
        }
        default:
            return place + failed_text(error);
    }
}

Result<RunLines> RunLines::open(const std::string& path, std::string& why) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
        why = path + ": is not a regular file, so it cannot be read again";
        return Error{ErrorCode::invalid, 0, "open a file"};
    }
    RunLines lines(path);
    Result<InputSource> source = InputSource::open(path);
    if (source) {
        lines.source_.emplace(std::move(source).value());
    } else if (source.error().code != ErrorCode::not_found) {
        why = path + ": cannot be read (" + std::strerror(source.error().sys_errno) + ")";
        return source.error();
    }
    return lines;
}

bool RunLines::feed() {
    if (!source_) {
        return false;
    }
    const Result<std::string_view> piece = source_->read();
    if (!piece) {
        why_ = path_ + ": cannot be read (" + source_->reason_of(piece.error()) + ")";
        error_ = piece.error();
        return false;
    }
    bytes_ += piece.value().size();
    if (!piece.value().empty()) {
        lines_.feed(piece.value());
    }
    return !piece.value().empty();
}

std::optional<std::string_view> RunLines::next() {
    while (!error_) {  // until the file ends
        if (const auto line = lines_.next()) {
            return line;
        }
        if (lines_.too_long()) {
            why_ = path_ + ": a line is longer than any line of a run";
            error_ = Error{ErrorCode::too_large, 0, "read a line"};
        } else if (!feed()) {
            break;
        }
    }
    return std::nullopt;
}

/// Work for about a millisecond: a hundred records of some tokens each.
static constexpr std::size_t batch_bytes = std::size_t{256} << 10;
/// So many that no thread waits while the caller takes one; a few MB.
static constexpr std::size_t batches_max = 12;
/// More threads than this parse faster than one caller sums up.
static constexpr std::size_t threads_max = 3;

namespace {

struct Parsed {
    std::string_view line;
    Record record;
};

struct Batch {
    enum class Stage : std::uint8_t { waits, is_parsed, done };
    Stage stage = Stage::waits;
    std::string text;            ///< whole lines, each with its newline
    std::vector<Parsed> parsed;  ///< their memory is used again and again
    std::size_t records = 0;     ///< of those: up to the first that cannot be read
    std::optional<Error> error;  ///< of the line behind those
};

}  // namespace

static void parse(JsonDocument& document, Batch& batch) {
    std::string_view text = batch.text;
    while (!text.empty() && !batch.error) {
        const std::size_t end = text.find('\n');
        CHECK(end != text.npos);
        if (batch.records == batch.parsed.size()) {
            batch.parsed.emplace_back();
        }
        Parsed& one = batch.parsed[batch.records];
        one.line = text.substr(0, end);
        if (const Result<void> read = read_record_into(document, one.line, one.record); read) {
            ++batch.records;
        } else {
            batch.error = read.error();
        }
        text.remove_prefix(end + 1);
    }
}

static std::size_t threads_beside() {
    return std::min(threads_max, std::max<std::size_t>(allowed_cpus().size(), 1) - 1);
}

struct RecordFeed::State {
    explicit State(RunLines source) : lines(std::move(source)) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    void start_threads();
    void thread_loop();
    void fill();
    bool take_batch();
    void parse_one(std::unique_lock<std::mutex>& lock, std::size_t number, JsonDocument& with);
    std::optional<std::size_t> waiting() const;
    Batch& batch(std::size_t number) { return batches[number % batches_max]; }

    // The caller's.
    RunLines lines;
    JsonDocument document;
    std::array<SideThread, threads_max> threads;
    bool is_read = false;     ///< no line follows those in the batches
    bool has_batch = false;   ///< `first` is done, and its records are given out
    std::size_t place = 0;    ///< in it
    std::uint64_t given = 0;  ///< lines, with the one that cannot be read
    std::optional<Error> error;
    std::string why;

    // Shared, but for the batches: one that is parsed is its parser's, one that is done the
    // caller's.
    std::mutex mutex;
    std::condition_variable changed;
    std::array<Batch, batches_max> batches;
    std::size_t first = 0;  ///< those from here to `last` are in use
    std::size_t last = 0;
    bool ends = false;
};

RecordFeed::State::~State() {
    {
        const std::lock_guard lock(mutex);
        ends = true;
    }
    changed.notify_all();
    for (SideThread& thread : threads) {
        thread.join();
    }
}

/// Where no thread can be had the caller parses all.
void RecordFeed::State::start_threads() {
    for (std::size_t i = 0; i < threads_beside(); ++i) {
        if (!threads[i].start<&State::thread_loop>("records", nullptr, *this)) {
            return;
        }
    }
}

std::optional<std::size_t> RecordFeed::State::waiting() const {
    for (std::size_t number = first; number < last; ++number) {
        if (batches[number % batches_max].stage == Batch::Stage::waits) {
            return number;
        }
    }
    return std::nullopt;
}

void RecordFeed::State::parse_one(std::unique_lock<std::mutex>& lock, std::size_t number,
                                  JsonDocument& with) {
    Batch& one = batch(number);
    one.stage = Batch::Stage::is_parsed;
    lock.unlock();
    parse(with, one);
    lock.lock();
    one.stage = Batch::Stage::done;
    changed.notify_all();
}

void RecordFeed::State::thread_loop() {
    JsonDocument own;
    std::unique_lock lock(mutex);
    while (!ends) {  // until the feed is given up
        if (const std::optional<std::size_t> number = waiting()) {
            parse_one(lock, *number, own);
        } else {
            changed.wait(lock);
        }
    }
}

/// Puts lines into all batches that are free.
void RecordFeed::State::fill() {
    while (!is_read && last - first < batches_max) {
        Batch& one = batch(last);
        one.text.clear();
        one.records = 0;
        one.error.reset();
        one.stage = Batch::Stage::waits;
        while (one.text.size() < batch_bytes && !is_read) {
            const std::optional<std::string_view> line = lines.next();
            is_read = !line;
            if (line) {
                one.text.append(*line).push_back('\n');
            }
        }
        if (one.text.empty()) {
            return;
        }
        {
            const std::lock_guard lock(mutex);
            ++last;
        }
        changed.notify_all();
    }
}

/// Makes the next batch the one that is given out; false: there is none.
bool RecordFeed::State::take_batch() {
    if (has_batch) {
        const std::lock_guard lock(mutex);
        ++first;
    }
    has_batch = false;
    place = 0;
    fill();
    std::unique_lock lock(mutex);
    while (first < last && batch(first).stage != Batch::Stage::done) {  // each turn parses or waits
        if (const std::optional<std::size_t> number = waiting()) {
            parse_one(lock, *number, document);
        } else {
            changed.wait(lock);
        }
    }
    has_batch = first < last;
    return has_batch;
}

RecordFeed::RecordFeed(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecordFeed::RecordFeed(RecordFeed&&) noexcept = default;
RecordFeed::~RecordFeed() = default;

Result<RecordFeed> RecordFeed::open(const std::string& path, std::string& why) {
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return lines.error();
    }
    auto state = std::make_unique<State>(std::move(lines).value());
    state->start_threads();
    return RecordFeed(std::move(state));
}

const Record* RecordFeed::next() {
    State& state = *state_;
    while (!state.error) {  // until the file ends
        Batch& batch = state.batch(state.first);
        if (state.has_batch && state.place < batch.records) {
            ++state.given;
            return &batch.parsed[state.place++].record;
        }
        if (state.has_batch && batch.error) {
            ++state.given;
            state.error = batch.error;
        } else if (!state.take_batch()) {
            state.error = state.lines.error();
            state.why = state.lines.why();
            return nullptr;
        }
    }
    return nullptr;
}

std::string_view RecordFeed::line() const {
    return state_->batch(state_->first).parsed[state_->place - 1].line;
}
std::uint64_t RecordFeed::number() const {
    return state_->given;
}
const std::optional<Error>& RecordFeed::error() const {
    return state_->error;
}
const std::string& RecordFeed::why() const {
    return state_->why;
}
LineBytes RecordFeed::bytes() const {
    return state_->lines.bytes();
}

std::optional<std::uint64_t> count_finished_trees(const std::string& records_path) {
    std::string why;
    Result<RecordFeed> records = RecordFeed::open(records_path, why);
    if (!records) {
        return std::nullopt;
    }
    TreeFigures trees;
    while (const Record* const record = records.value().next()) {
        trees.add(*record);
    }
    return records.value().error() ? std::nullopt : std::optional(trees.totals(0).finished);
}

}  // namespace driftless
