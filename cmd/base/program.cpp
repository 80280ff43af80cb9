#include "cmd/base/program.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "engine/io/tls.hpp"
#include "proto/core/text.hpp"

namespace driftless {

const char* version() {
    return DRIFTLESS_VERSION;
}

const ShippedFile* find_shipped_file(std::string_view name) {
    const std::span<const ShippedFile> all = shipped_files();
    const auto found = std::ranges::find(all, name, &ShippedFile::name);
    return found == all.end() ? nullptr : &*found;
}

/// Nothing can be freed for others here. What a run has written is whole, and can be resumed.
static void end_without_memory() {
    constexpr std::string_view said =
        "driftless: out of memory; raise the limit (ulimit -v, ulimit -d, or the container's), or "
        "use a part of the trace\n";
    (void)!::write(STDERR_FILENO, said.data(), said.size());
    ::_exit(exit_host);
}

/// fprintf needs 8 KiB of stack, which may be more than there is.
static void say_stack_is_small(rlim_t bytes) {
    char digits[24];
    const char* const end = std::to_chars(digits, digits + sizeof digits, bytes / 1024).ptr;
    static_assert(stack_bytes_min == 1024 * 1024);
    for (const std::string_view part :
         {std::string_view("driftless: the stack is limited to "), std::string_view(digits, end),
          std::string_view(" KiB; raise the limit to 1024 KiB or more (ulimit -s 8192)\n")}) {
        (void)!::write(STDERR_FILENO, part.data(), part.size());
    }
}

/// As many bytes as are common; the hard limit of the user, where that is less.
static bool settle_stack() {
    constexpr rlim_t stack_bytes = 8 << 20;
    rlimit limit{};
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= stack_bytes_min) {
        return true;  // RLIM_INFINITY is the largest of all
    }
    const rlim_t was = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < stack_bytes ? limit.rlim_max : stack_bytes;
    if (limit.rlim_cur < stack_bytes_min || ::setrlimit(RLIMIT_STACK, &limit) != 0) {
        say_stack_is_small(was);
        return false;
    }
    // Threads get what the limit was when the process began.
    pthread_attr_t attributes;
    const bool set = ::pthread_attr_init(&attributes) == 0 &&
                     ::pthread_attr_setstacksize(&attributes, limit.rlim_cur) == 0 &&
                     ::pthread_setattr_default_np(&attributes) == 0;
    (void)::pthread_attr_destroy(&attributes);
    return set;
}

static bool output_was_closed = false;  // set once, before any thread

/// No file of ours gets the number of one that is closed. Devices are opened for those alone: a
/// root may have none.
static bool hold_standard_files() {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) {
            continue;  // it is open, or a filter forbids to ask
        }
        const bool is_output = number == STDOUT_FILENO;
        output_was_closed = output_was_closed || is_output;
        // open takes the lowest that is free
        const int opened = is_output ? ::open("/dev/full", O_RDWR) : -1;
        if (opened != number && ::open("/dev/null", O_RDWR) != number) {
            return false;
        }
    }
    return true;
}

bool stdout_was_closed() {
    return output_was_closed;
}

bool settle_process() {
    if (!settle_stack()) {
        return false;
    }
    (void)::signal(SIGXFSZ, SIG_IGN);
    std::set_new_handler(&end_without_memory);
    end_tls_without_memory();
    return hold_standard_files();
}

void wipe_variable(const std::string& name) {
    const std::string begin = name + "=";
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (std::string_view(*entry).starts_with(begin)) {
            char* const value = *entry + begin.size();
            ::explicit_bzero(value, std::strlen(value));
        }
    }
    (void)::unsetenv(name.c_str());
}

static std::atomic<int> requests{0};
static_assert(std::atomic<int>::is_always_lock_free);

/// The first drains, the second cancels; whoever asks again is held up by something that neither
/// can end, such as a disk that hangs.
static constexpr int looked_at_max = 2;
static std::atomic<int> let_be{
    0};  ///< requests that somebody looks at; the next one ends the process

static void count_request(int) {
    if (requests.fetch_add(1, std::memory_order_relaxed) >= let_be.load()) {
        ::_exit(exit_interrupted);
    }
}

void catch_stop_signals() {
    struct sigaction action{};
    action.sa_handler = count_request;
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, nullptr);
    (void)sigaction(SIGTERM, &action, nullptr);
    // A terminal that closes; under nohup it is ignored already, and stays so.
    struct sigaction hangup{};
    (void)sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) {
        (void)sigaction(SIGHUP, &action, nullptr);
    }
    // A reader of our output that went away is an error of the write.
    (void)::signal(SIGPIPE, SIG_IGN);
}

void count_stop_requests() {
    let_be.store(looked_at_max);
}

const std::atomic<int>& stop_requests() {
    return requests;
}

Quiet::Quiet(bool quiet) {
    if (!quiet) {
        return;
    }
    std::fflush(stdout);
    const Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    kept_ = Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (nowhere.is_open() && kept_.is_open()) {
        (void)::dup2(nowhere.number(), STDOUT_FILENO);
    }
}

void Quiet::end() {
    if (kept_.is_open()) {
        std::fflush(stdout);
        (void)::dup2(kept_.number(), STDOUT_FILENO);
        kept_.close();
    }
}

namespace {

/// A descriptor, and the head of a character that one write ended in.
struct Screen {
    int fd;
    std::string begun;
    bool coloured = false;
};

}  // namespace

/// no-color.org, and terminals that cannot.
static bool wants_colour(int fd) {
    const char* const refused = std::getenv("NO_COLOR");
    return can_redraw(fd) && (refused == nullptr || *refused == '\0');
}

static constexpr const char* red = "31";
static constexpr const char* green = "32";
static constexpr const char* yellow = "33";

namespace {

/// Words that decide, and their colours: where a line begins with them, or anywhere in it.
struct PaintedWord {
    std::string_view word;
    const char* colour;
    bool begins;
};

}  // namespace

static constexpr PaintedWord painted_words[] = {
    {"warning:", yellow, true},
    {"driftless: warning:", yellow, true},
    {"Fails", red, true},
    {"Violated", red, true},
    {"Within", green, true},
    {"Unsure", yellow, true},
    {"NOT THE SAME", yellow, true},
    {"  better", green, false},  // the last column of compare
    {"  worse", red, false},
    {"the server kept up", green, false},
    {"the server did not keep up", yellow, false},
};

static std::string coloured(std::string_view line, std::size_t begin, std::size_t end,
                            const char* colour) {
    return std::string(line.substr(0, begin)) + "\x1b[" + colour + "m" +
           std::string(line.substr(begin, end - begin)) + "\x1b[0m" + std::string(line.substr(end));
}

/// The line with the first such word, or the verdict's, in its colour.
static std::string painted_line(std::string_view line) {
    constexpr std::string_view verdict = "Verdict";
    if (line.starts_with(verdict)) {
        const std::size_t begin =
            std::min(line.find_first_not_of(": ", verdict.size()), line.size());
        const std::size_t end = std::min(line.find_first_of(": \n", begin), line.size());
        const bool good = line.substr(begin, end - begin) == "certified";
        return coloured(line, begin, end, good ? green : yellow);
    }
    for (const PaintedWord& one : painted_words) {
        const std::size_t at = line.find(one.word);
        if (at == 0 || (at != line.npos && !one.begins)) {
            return coloured(line, at, at + one.word.size(), one.colour);
        }
    }
    return std::string(line);
}

static std::string painted(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        out += painted_line(text.substr(0, end));
        text.remove_prefix(end);
    }
    return out;
}

/// Bytes at the end of `text` that may begin a character: at most 3.
static std::size_t begun_bytes(std::string_view text) {
    for (std::size_t bytes = 1; bytes <= 3 && bytes <= text.size(); ++bytes) {
        const auto lead = static_cast<std::uint8_t>(text[text.size() - bytes]);
        if (lead < 0x80) {
            return 0;
        }
        if (lead >= 0xC0) {
            const std::size_t whole = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
            return bytes < whole ? bytes : 0;
        }
    }
    return 0;
}

static ssize_t write_clean(void* cookie, const char* bytes, std::size_t size) {
    Screen& screen = *static_cast<Screen*>(cookie);
    std::string text = std::move(screen.begun);
    text.append(bytes, size);
    const std::size_t begun = begun_bytes(text);
    screen.begun = text.substr(text.size() - begun);
    text.resize(text.size() - begun);
    const std::string clean = printable_lines(text);
    return write_all(screen.fd, screen.coloured ? painted(clean) : clean)
               ? static_cast<ssize_t>(size)
               : 0;
}

static std::FILE* open_clean(Screen& screen, int buffering) {
    std::FILE* const stream =
        ::fopencookie(&screen, "w", {nullptr, &write_clean, nullptr, nullptr});
    if (stream != nullptr) {
        (void)std::setvbuf(stream, nullptr, buffering, BUFSIZ);
    }
    return stream;
}

static std::string write_line(std::FILE* stream, const char* format, std::va_list values) {
    std::va_list again;
    va_copy(again, values);
    const int bytes = std::vsnprintf(nullptr, 0, format, values);
    std::string text(bytes > 0 ? static_cast<std::size_t>(bytes) : 0, '\0');
    (void)std::vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    text = printable(text);
    (void)std::fputs((text + "\n").c_str(), stream);
    return text;
}

static std::mutex complaint_lock;
static std::string complaint;  // the last one

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(fd, text.data(), text.size());
        if (count <= 0 && errno != EINTR) {
            return false;
        }
        text.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    return true;
}

void print_line(const char* format, ...) {
    std::va_list values;
    va_start(values, format);
    (void)write_line(stdout, format, values);
    va_end(values);
}

void complain(const char* format, ...) {
    std::va_list values;
    va_start(values, format);
    std::string text = write_line(stderr, format, values);
    va_end(values);
    if (text.find("warning: ") == text.npos) {
        const std::lock_guard lock(complaint_lock);
        complaint = std::move(text);
    }
}

std::string last_complaint() {
    const std::lock_guard lock(complaint_lock);
    return complaint;
}

bool can_redraw(int fd) {
    const char* const kind = std::getenv("TERM");
    return ::isatty(fd) == 1 && kind != nullptr && *kind != '\0' &&
           std::string_view(kind) != "dumb";
}

std::string last_lines(std::string text) {
    constexpr int lines_max = 10;
    text.erase(text.find_last_not_of(" \r\n") + 1);
    std::string lines;
    for (int left = lines_max; left > 0 && !text.empty(); --left) {
        const std::size_t end = text.rfind('\n');
        lines.insert(0, "  | " + text.substr(end + 1) + "\n");  // npos + 1 is 0
        text.resize(end == text.npos ? 0 : end);
    }
    return lines;
}

void CommandLine::refuse(const std::string& command, const std::string& why) {
    kind = Kind::refused;
    text = "driftless " + command.substr(0, command.find(' ')) + ": " + why + " (see driftless " +
           command + " --help)";
}

std::optional<int> CommandLine::finish() const {
    if (kind == Kind::help) {
        (void)std::fputs(text.c_str(), stdout);
        return exit_done;
    }
    if (kind == Kind::refused) {
        complain("%s", text.c_str());
        return exit_usage;
    }
    return std::nullopt;
}

void guard_screens() {
    // Never destroyed: the streams are flushed at exit, behind the destructors of static objects.
    static Screen& error = *new Screen{STDERR_FILENO, {}, wants_colour(STDERR_FILENO)};
    static Screen& out = *new Screen{STDOUT_FILENO, {}, wants_colour(STDOUT_FILENO)};
    if (std::FILE* const stream = open_clean(error, _IONBF); stream != nullptr) {
        stderr = stream;
    }
    if (::isatty(STDOUT_FILENO) == 1) {
        if (std::FILE* const stream = open_clean(out, _IOLBF); stream != nullptr) {
            stdout = stream;
        }
    }
}

}  // namespace driftless
