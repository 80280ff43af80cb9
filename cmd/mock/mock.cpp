#include "cmd/mock/mock.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/this_host.hpp"
#include "engine/host/host.hpp"
#include "engine/io/driver.hpp"
#include "engine/prompt/tokenizer.hpp"

namespace driftless {

namespace {

using namespace mock;

}  // namespace

/// Descriptors to make room for at once.
static constexpr std::uint64_t files_reserved_most = 65'536;

static volatile std::sig_atomic_t stop_asked = 0;

static void on_signal(int) {
    stop_asked = 1;
}

/// SIGINT and SIGTERM end the serving; without SA_RESTART, so that a sleeping turn returns.
static void catch_signals() {
    struct sigaction action{};
    action.sa_handler = &on_signal;
    (void)::sigaction(SIGINT, &action, nullptr);
    (void)::sigaction(SIGTERM, &action, nullptr);
    (void)::signal(SIGPIPE, SIG_IGN);
}

static int fail(const Error& error) {
    complain("driftless mock: cannot %s: %s", error.doing, reason_of(error).c_str());
    return exit_host;
}

static const char* listen_remedy(int sys_errno) {
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

static std::int64_t utc_offset_ns() {
    timespec utc{};
    timespec monotonic{};
    (void)::clock_gettime(CLOCK_REALTIME, &utc);
    (void)::clock_gettime(CLOCK_MONOTONIC, &monotonic);
    return (utc.tv_sec - monotonic.tv_sec) * 1'000'000'000 + utc.tv_nsec - monotonic.tv_nsec;
}

static Result<Address> address_of(const MockOptions& options) {
    if (!options.listen.unix_path.empty()) {
        return unix_address(options.listen.unix_path);
    }
    const Result<std::vector<Address>> found = resolve(options.listen.host, options.listen.port);
    if (!found) {
        return found.error();
    }
    return found.value().front();
}

/// The line that scripts wait for. Flushed, because they read it through a pipe.
static void print_address(const Address& address, bool tls) {
    const std::string text = address.to_text();
    const char* scheme = text.starts_with("unix:") ? "" : tls ? "https://" : "http://";
    print_line("listening on %s%s", scheme, text.c_str());
    (void)std::fflush(stdout);
}

static void print_end(const MockCore& core, const MockServer& server) {
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

static int serve(const MockOptions& options, LogWriter* log) {
    DriverOptions ring;
    ring.ops_max = server_ops_max;
    ring.buffers = 1024;
    ring.buffer_bytes = 16 * 1024;
    const Result<std::unique_ptr<Driver>> driver = make_driver(ring);
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
    if (!options.listen.unix_path.empty() && !options.listen.unix_path.starts_with('@')) {
        (void)::unlink(options.listen.unix_path.c_str());
    }
    const int log_errno = log ? log->finish() : 0;
    return log_errno != 0 ? fail({ErrorCode::io_failed, log_errno, "write the log"}) : code;
}

}  // namespace driftless
