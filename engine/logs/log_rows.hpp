/// LogRows: calls of a log in, rows of a trace out.
///
/// It counts tokens, makes block ids, leaves out what is no request of its own (failed calls,
/// duplicates), and at the end sorts, numbers sessions and says who waits for whom. Of a call it
/// keeps numbers only, and what `--keep` names: no text, name or id. Owned by read_logs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/logs/block_ids.hpp"
#include "engine/prompt/tokenizer/tokenizer.hpp"
#include "proto/logs/call.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// How the log's usage compares with the tokens that we count in its text.
struct UsageComparison {
    std::uint64_t calls_compared = 0;  ///< calls with text and usage
    std::uint64_t calls_equal = 0;
    std::uint64_t calls_far = 0;  ///< more than a tenth and 16 tokens apart
    std::uint64_t usage_tokens = 0;
    std::uint64_t own_tokens = 0;
    std::uint64_t inputs_counted = 0;   ///< prompts without usage
    std::uint64_t outputs_counted = 0;  ///< answers without usage
};

class LogRows {
  public:
    LogRows(Tokenizer& tokenizer, KeyedHash& hash, std::uint32_t block_size, bool lenient)
        : tokenizer_(tokenizer), blocks_(hash, block_size), lenient_(lenient) {}

    /// Calls that follow come from this file.
    void begin_file(std::string_view name);
    /// Takes a call, or lists why it cannot be a row.
    void add(LogCall call, InputErrors& errors);
    /// After the last call: gives rows, ids, sessions, dependencies and counts to `trace`.
    void finish(Trace& trace);

    /// For people, a line each.
    std::vector<std::string> notes() const;

  private:
    struct Row {
        TraceRow row;  ///< `at_ns` since 1970, `index` as added, ids in `ids_`
        std::int64_t end_ns;
        std::uint64_t prompt;  ///< digest of session and prompt
    };

    bool is_duplicate(const LogCall& call);
    bool read_input(const LogCall& call, TraceRow& row, InputErrors& errors);
    bool read_output(const LogCall& call, TraceRow& row, InputErrors& errors);
    void compare(std::uint32_t usage, std::uint64_t own);
    void refuse(const LogCall& call, const char* field, const char* problem, const char* remedy,
                InputErrors& errors) const;
    void number_sessions(Trace& trace, const std::vector<Row>& rows) const;
    void count_retries();

    Tokenizer& tokenizer_;
    PromptBlocks blocks_;
    bool lenient_;
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
    UsageComparison usage_;
    std::uint64_t calls_failed_ = 0;
    std::uint64_t calls_empty_ = 0;  ///< without text and length
    std::uint64_t calls_retried_ = 0;
    std::uint64_t calls_duplicate_ = 0;
    std::uint64_t calls_whole_ = 0;  ///< not streamed
    std::uint64_t rows_unsorted_ = 0;
    std::uint64_t rows_uncovered_ = 0;
    std::uint64_t zero_outputs_ = 0;
    std::uint64_t ends_unknown_ = 0;
};

}  // namespace driftless
