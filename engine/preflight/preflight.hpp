/// Preflight: what is asked of the server before time 0, and what it answered.
///
/// In this order: `GET /v1/models`; `/tokenize` twice; one request of one word; one of all words.
/// It learns the model, the overhead H of template and BOS and its split, and that every word (or
/// token id) counts as one token. Its requests are named `<run>-preflight-N` and never recorded as
/// rows. Nothing is sent after it without the user having seen what it found.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/loop.hpp"
#include "engine/preflight/inquiry.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/vocab.hpp"
#include "proto/api/dialect.hpp"
#include "proto/http/request.hpp"

namespace driftless {

struct PreflightPlan {
    Address address;
    std::string host;       ///< value of the Host header
    std::string api_path;   ///< request target of the rows
    std::string root_path;  ///< what stands before "/v1"
    std::vector<Header> headers;
    const Dialect* dialect = nullptr;
    BodySpec body;  ///< `model` may be empty: the first of /v1/models
    const WordTable* words = nullptr;
    std::optional<Overhead> overhead;  ///< `--overhead`: goes before what is measured
    std::string run_id;
    Duration timeout = seconds(60);                   ///< of each request
    std::optional<Duration> wait_ready;               ///< keep asking for the models this long
    const std::atomic<int>* stop_requests = nullptr;  ///< the user\'s; more than 0 ends it
};

/// What was found. Unknown numbers are -1.
struct PreflightFindings {
    std::string model;
    std::vector<std::string> models;
    std::int64_t max_model_len = -1;
    Overhead overhead;
    std::string overhead_source;  ///< "tokenize", "usage", "flag", "none"
    bool has_tokenize = false;
    bool has_usage = false;
    bool has_cached_tokens = false;
    bool ignore_eos = true;             ///< false: the server refused it, rows go without
    bool headers_before_token = false;  ///< the head came in an earlier read than the first event
    std::int64_t words_asked = -1;      ///< of the request of all words
    std::int64_t words_counted = -1;    ///< prompt_tokens - H
    bool words_exact = false;
    std::int64_t probe_ns = -1;      ///< request of one word: sent to answer complete
    std::string server;              ///< Server header
    std::vector<std::string> notes;  ///< one line each, for people
};

/// Why a preflight failed, in one line for people: what was asked, what came back, the remedy.
struct PreflightFailure {
    Error error;     ///< of the transport; `doing` empty where the server answered
    int status = 0;  ///< of the answer; 0: none
    std::string text;
};

class Preflight {
  public:
    Preflight(Loop& loop, const PreflightPlan& plan);

    /// Turns the loop until all is asked. False: `failure` says why; `cancelled` where the user
    /// stopped it.
    bool run();

    const PreflightFindings& findings() const { return findings_; }
    const PreflightFailure& failure() const { return failure_; }

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return loop_.frames(); }
    ReadyList& ready() { return loop_.ready(); }

  private:
    /// What the stream of a probe said.
    struct Probe {
        bool ok = false;
        int status = 0;
        std::string message;
        Usage usage;
    };

    Task<void> all();
    Task<bool> ask_models();
    Task<void> ask_tokenize();
    Task<bool> probe_one_word();
    Task<bool> probe_all_words();
    Task<Probe> probe(const std::string& prompt);
    Task<bool> fetch(const std::string& method, const std::string& path, const std::string& body);
    Task<std::vector<std::int64_t>> tokenize(const std::string& word);

    std::string request_bytes(const std::string& method, const std::string& path,
                              const std::string& body);
    std::string all_words(std::uint64_t seed) const;
    void read_models();
    Probe read_probe() const;
    bool stopped() const;
    bool fail(const std::string& what);
    bool fail_answer(const std::string& what, const Probe& probe);

    Loop& loop_;
    PreflightPlan plan_;
    Inquiry inquiry_;
    PreflightFindings findings_;
    PreflightFailure failure_;
    std::uint32_t asked_ = 0;
    std::string request_;
    Reply reply_;
    bool done_ = false;
    bool ok_ = false;
};

}  // namespace driftless
