/// The command `driftless mock`: an inference server to rehearse against.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/mock/behaviour.hpp"
#include "cmd/mock/core.hpp"
#include "cmd/mock/pages.hpp"
#include "cmd/mock/prompt_count.hpp"
#include "cmd/mock/server.hpp"
#include "engine/base/time.hpp"
#include "engine/io/tls.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// Serves until SIGINT or SIGTERM, or `--max-requests`. `argv[0]` is the command's name. Returns
/// the exit code: 0 done, 2 usage, 7 the host lacks or fails.
int run_mock(int argc, char** argv);

}  // namespace driftless

namespace driftless::mock {

// The command line of `driftless mock`, as plain values.

struct MockOptions {
    std::string host = "127.0.0.1";  ///< never a public address unless asked for
    std::uint16_t port = 8000;       ///< 0: any that is free
    std::string unix_path;           ///< instead of host and port, where not empty
    CoreOptions core;
    ServerOptions server;
    std::string log_path;   ///< empty: no log
    TlsServerOptions tls;   ///< `cert_file` empty: plain HTTP
    std::string tokenizer;  ///< file; empty: words are tokens
    std::optional<std::uint32_t> cpu;
};

/// What a command line came to: options to run with, or an exit code after help or a refusal was
/// printed.
struct ParsedMock {
    std::optional<int> exit_code;
    MockOptions options;
};

ParsedMock parse_mock_options(int argc, char** argv);

// Values of the mock's flags that no other command has. Pure; the `doing` of an Error is a clause
// for the message: what is wrong, and the remedy.

/// Where to listen: an address and a port, or the path of a Unix socket.
struct ListenAt {
    std::string host;
    std::uint16_t port = 0;
    std::string unix_path;
};
/// "127.0.0.1:8000", "[::1]:0", "unix:/path".
Result<ListenAt> parse_listen(std::string_view text);

Result<Duration> parse_delay(std::string_view text);
/// A share of one, 0 to 1: "0.25".
Result<double> parse_share(std::string_view text);
/// "reset:0.05"
Result<FaultRule> parse_fault(std::string_view text);
/// "reset:17"
Result<FaultRule> parse_fault_row(std::string_view text);
/// "3,5": tokens before and behind every text.
Result<TemplateTokens> parse_template(std::string_view text);
/// "the,cat": words that cost two tokens; "*": all.
Result<WordRules> parse_split_words(std::string_view text);
/// "the,cat": words that cost two tokens at the beginning of a prompt.
Result<std::vector<std::string>> parse_split_first(std::string_view text);
/// "the+cat,new+one": pairs that are one token side by side.
using JoinedWords = std::vector<std::pair<std::string, std::string>>;
Result<JoinedWords> parse_join_words(std::string_view text);
/// "vllm", "sglang", "llama.cpp", "none"
Result<MetricNames> parse_metric_names(std::string_view text);
Result<TokenizeForm> parse_tokenize_form(std::string_view text);
Result<WaitMode> parse_wait(std::string_view text);
/// "always", "hits", "never"
Result<CachedReported> parse_cached_reported(std::string_view text);
/// "both", "vllm", "sglang", "none", "pretended"
Result<CacheReset> parse_cache_reset(std::string_view text);
/// "early" (true) or "late".
Result<bool> parse_headers(std::string_view text);
/// "X-Session-ID,X-Tree": names of header fields.
Result<std::vector<std::string>> parse_header_names(std::string_view text);
Result<std::string> parse_name(std::string_view text);
/// Text that can be the value of a header field.
Result<std::string> parse_header_text(std::string_view text);
Result<std::uint16_t> parse_port(std::string_view text);
Result<std::uint32_t> parse_number(std::string_view text);
Result<std::uint32_t> parse_positive_number(std::string_view text);

}  // namespace driftless::mock
