#include "cmd/mock/mock.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/this_host.hpp"
#include "cmd/base/values.hpp"
#include "engine/host/host.hpp"
#include "engine/io/uring.hpp"
#include "engine/prompt/tokenizer.hpp"
#include "proto/http/fields.hpp"

namespace driftless::mock {

namespace {

Error invalid(const char* why) {
    return {ErrorCode::invalid, 0, why};
}

/// A whole number that fits T. Errors: those of parse_count, out_of_range.
template <typename T>
Result<T> parse_integer(std::string_view text) {
    const Result<std::uint64_t> value = parse_count(text);
    if (!value) {
        return value.error();
    }
    if (value.value() > std::numeric_limits<T>::max()) {
        return Error{ErrorCode::out_of_range, 0,
                     sizeof(T) == 2 ? "is too large; use at most 65535"
                                    : "is too large; use a smaller number"};
    }
    return static_cast<T>(value.value());
}

/// The parts of "WORD,WORD,.."; none where one is empty.
std::optional<std::vector<std::string>> split_at_commas(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(','));
        if (word.empty()) {
            return std::nullopt;
        }
        words.emplace_back(word);
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return words;
}

/// "KIND:VALUE" in two.
struct FaultText {
    Fault fault;
    std::string_view value;
};
Result<FaultText> split_fault(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::optional<Fault> fault = find_fault(text.substr(0, colon));
    if (colon == std::string_view::npos || !fault) {
        return invalid(
            "is not KIND:VALUE; kinds are refuse, reset, stall, truncate, malformed, error, 429, "
            "500, slow");
    }
    return FaultText{*fault, text.substr(colon + 1)};
}

}  // namespace

Result<ListenAt> parse_listen(std::string_view text) {
    constexpr std::string_view unix_scheme = "unix:";
    if (text.starts_with(unix_scheme) && text.size() > unix_scheme.size()) {
        return ListenAt{{}, 0, std::string(text.substr(unix_scheme.size()))};
    }
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return invalid("is not ADDRESS:PORT, [IPv6]:PORT or unix:PATH");
    }
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    const Result<std::uint16_t> port = parse_port(text.substr(colon + 1));
    if (!port) {
        return port.error();
    }
    return ListenAt{std::string(host), port.value(), {}};
}

Result<Duration> parse_delay(std::string_view text) {
    const Result<std::int64_t> ns = parse_duration_ns(text);
    if (!ns) {
        return ns.error();
    }
    return Duration{ns.value()};
}

Result<double> parse_share(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc() || stop != end || !(value >= 0 && value <= 1)) {
        return invalid("is not a share between 0 and 1");
    }
    return value;
}

Result<FaultRule> parse_fault(std::string_view text) {
    const Result<FaultText> parts = split_fault(text);
    if (!parts) {
        return parts.error();
    }
    const Result<double> probability = parse_share(parts.value().value);
    if (!probability) {
        return probability.error();
    }
    return FaultRule{parts.value().fault, probability.value(), std::nullopt};
}

Result<FaultRule> parse_fault_row(std::string_view text) {
    const Result<FaultText> parts = split_fault(text);
    if (!parts) {
        return parts.error();
    }
    const Result<std::uint64_t> row = parse_count(parts.value().value);
    if (!row) {
        return row.error();
    }
    return FaultRule{parts.value().fault, 0, row.value()};
}

Result<TemplateTokens> parse_template(std::string_view text) {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) {
        return invalid("is not PRE,POST: two numbers of tokens");
    }
    const Result<std::uint32_t> pre = parse_number(text.substr(0, comma));
    const Result<std::uint32_t> post = parse_number(text.substr(comma + 1));
    if (!pre || !post) {
        return invalid("is not PRE,POST: two numbers of tokens");
    }
    return TemplateTokens{pre.value(), post.value()};
}

Result<WordRules> parse_split_words(std::string_view text) {
    WordRules rules;
    if (text == "*") {
        rules.split_all();
        return rules;
    }
    const std::optional<std::vector<std::string>> words = split_at_commas(text);
    if (!words) {
        return invalid("is not WORD,WORD,..; * is all words");
    }
    for (const std::string& word : *words) {
        rules.split(word);
    }
    return rules;
}

Result<std::vector<std::string>> parse_split_first(std::string_view text) {
    std::optional<std::vector<std::string>> words = split_at_commas(text);
    if (!words) {
        return invalid("is not WORD,WORD,..");
    }
    return std::move(*words);
}

Result<JoinedWords> parse_join_words(std::string_view text) {
    JoinedWords pairs;
    while (!text.empty()) {
        const std::string_view pair = text.substr(0, text.find(','));
        const std::size_t plus = pair.find('+');
        if (plus == 0 || plus == std::string_view::npos || plus + 1 == pair.size()) {
            return invalid("is not WORD+WORD,..");
        }
        pairs.emplace_back(pair.substr(0, plus), pair.substr(plus + 1));
        text.remove_prefix(std::min(pair.size() + 1, text.size()));
    }
    return pairs;
}

Result<std::vector<std::string>> parse_header_names(std::string_view text) {
    std::optional<std::vector<std::string>> names = split_at_commas(text);
    if (!names || !std::all_of(names->begin(), names->end(), is_header_name)) {
        return invalid("is not NAME,NAME,.. of header fields");
    }
    return std::move(*names);
}

Result<std::string> parse_name(std::string_view text) {
    if (text.empty()) {
        return invalid("is empty; give a name");
    }
    return std::string(text);
}

Result<std::string> parse_header_text(std::string_view text) {
    if (!is_header_value(text)) {
        return invalid("has a control byte; remove it");
    }
    return parse_name(text);
}

Result<std::uint16_t> parse_port(std::string_view text) {
    return parse_integer<std::uint16_t>(text);
}

Result<std::uint32_t> parse_number(std::string_view text) {
    return parse_integer<std::uint32_t>(text);
}

Result<std::uint32_t> parse_positive_number(std::string_view text) {
    const Result<std::uint64_t> value = parse_positive_count(text);
    return value ? parse_number(text) : Result<std::uint32_t>(value.error());
}

}  // namespace driftless::mock

namespace driftless {

namespace {

using namespace mock;

/// Descriptors to make room for at once.
constexpr std::uint64_t files_reserved_most = 65'536;

volatile std::sig_atomic_t stop_asked = 0;

void on_signal(int) {
    stop_asked = 1;
}

/// SIGINT and SIGTERM end the serving; without SA_RESTART, so that a sleeping turn returns.
void catch_signals() {
    struct sigaction action{};
    action.sa_handler = &on_signal;
    (void)::sigaction(SIGINT, &action, nullptr);
    (void)::sigaction(SIGTERM, &action, nullptr);
    (void)::signal(SIGPIPE, SIG_IGN);
}

int fail(const Error& error) {
    complain("driftless mock: cannot %s: %s", error.doing, reason_of(error).c_str());
    return exit_host;
}

const char* listen_remedy(int sys_errno) {
    switch (sys_errno) {
        case EADDRINUSE:
            return "stop what listens there, or use another port (0 takes a free one)";
        case EADDRNOTAVAIL:
            return "no interface of this host has that address; use 0.0.0.0 or 127.0.0.1";
        case EACCES:
        case EPERM:
            return "this user may not listen there; use a port above 1023, or another path";
        default:
            return "name another place with --listen";
    }
}

std::int64_t utc_offset_ns() {
    timespec utc{};
    timespec monotonic{};
    (void)::clock_gettime(CLOCK_REALTIME, &utc);
    (void)::clock_gettime(CLOCK_MONOTONIC, &monotonic);
    return (utc.tv_sec - monotonic.tv_sec) * 1'000'000'000 + utc.tv_nsec - monotonic.tv_nsec;
}

Result<Address> address_of(const MockOptions& options) {
    if (!options.unix_path.empty()) {
        return unix_address(options.unix_path);
    }
    const Result<std::vector<Address>> found = resolve(options.host, options.port);
    if (!found) {
        return found.error();
    }
    return found.value().front();
}

/// The line that scripts wait for. Flushed, because they read it through a pipe.
void print_address(const Address& address, bool tls) {
    const std::string text = address.to_text();
    const char* scheme = text.starts_with("unix:") ? "" : tls ? "https://" : "http://";
    print_line("listening on %s%s", scheme, text.c_str());
    (void)std::fflush(stdout);
}

void print_end(const MockCore& core, const MockServer& server) {
    const Metrics metrics = core.metrics();
    complain(
        "driftless mock: %llu requests complete, %llu incomplete; %llu prompt tokens, "
        "%llu cached, %llu generated",
        static_cast<unsigned long long>(metrics.requests_ok),
        static_cast<unsigned long long>(metrics.requests_failed),
        static_cast<unsigned long long>(metrics.prompt_tokens),
        static_cast<unsigned long long>(metrics.cache_hits),
        static_cast<unsigned long long>(metrics.generation_tokens));
    if (core.options().check_history != 0) {
        const HistoryCount& history = core.history();
        complain(
            "driftless mock: histories held %llu of its replies to the same session, %llu "
            "to another session, and %llu assistant messages that it had not sent",
            static_cast<unsigned long long>(history.known),
            static_cast<unsigned long long>(history.elsewhere),
            static_cast<unsigned long long>(history.unknown));
    }
    if (server.turned_away() > 0) {
        complain("driftless mock: %llu connections beyond %u were turned away",
                 static_cast<unsigned long long>(server.turned_away()), connections_max);
    }
}

int serve(const MockOptions& options, LogWriter* log) {
    UringOptions ring;
    ring.ops_max = server_ops_max;
    ring.buffers = 1024;
    ring.buffer_bytes = 16 * 1024;
    const Result<std::unique_ptr<UringDriver>> driver = UringDriver::make(ring);
    if (!driver) {
        complain("driftless mock: %s", ring_refusal(driver.error(), read_ring_bars()).c_str());
        return exit_host;
    }
    MockCore core(options.core);
    MockServer server(*driver.value(), core, log, options.server);
    const Result<Address> wanted = address_of(options);
    if (!wanted) {
        return fail(wanted.error());
    }
    const Result<Address> listening = server.listen(wanted.value());
    if (!listening) {
        complain("driftless mock: cannot listen on %s: %s; %s", wanted.value().to_text().c_str(),
                 reason_of(listening.error()).c_str(), listen_remedy(listening.error().sys_errno));
        return exit_host;
    }
    print_address(listening.value(), options.server.tls != nullptr);
    server.run(stop_asked);
    print_end(core, server);
    return exit_done;
}

}  // namespace

int run_mock(int argc, char** argv) {
    MockCommandLine parsed = parse_mock_options({argv + 1, argv + argc});
    if (const std::optional<int> code = parsed.finish()) {
        return *code;
    }
    MockOptions& options = parsed.options;
    std::optional<Tokenizer> tokenizer;
    if (!options.tokenizer.empty()) {
        std::string why;
        Result<Tokenizer> loaded = load_tokenizer(options.tokenizer, why);
        if (!loaded) {
            complain("driftless mock: --tokenizer %s; without it, words are counted", why.c_str());
            return exit_usage;
        }
        options.core.tokenizer = &tokenizer.emplace(std::move(loaded).value());
    }
    std::optional<TlsContext> tls;
    if (!options.tls.cert_file.empty()) {
        std::string why;
        Result<TlsContext> made = TlsContext::server(options.tls, why);
        if (!made) {
            complain("driftless mock: %s", why.c_str());
            return exit_usage;
        }
        options.server.tls = &tls.emplace(std::move(made).value());
    }
    options.core.utc_offset_ns = utc_offset_ns();
    catch_signals();
    reserve_files(std::min(raise_file_limit(), files_reserved_most));
    std::unique_ptr<LogWriter> log;
    if (!options.log_path.empty()) {
        Result<std::unique_ptr<LogWriter>> opened = LogWriter::open(options.log_path);
        if (!opened) {
            return fail(opened.error());
        }
        log = std::move(opened).value();  // its thread keeps every allowed CPU
    }
    if (options.cpu) {
        const Result<void> pinned = pin_this_thread(*options.cpu);
        if (!pinned) {
            complain("driftless mock: %s", pinning_refusal(*options.cpu, pinned.error()).c_str());
            return pinned.error().code == ErrorCode::invalid ? exit_usage : exit_host;
        }
    }
    sharpen_timers();
    const int code = serve(options, log.get());
    if (!options.unix_path.empty() && !options.unix_path.starts_with('@')) {
        (void)::unlink(options.unix_path.c_str());
    }
    const int log_errno = log ? log->finish() : 0;
    return log_errno != 0 ? fail({ErrorCode::io_failed, log_errno, "write the log"}) : code;
}

}  // namespace driftless
