#include "engine/input/source.hpp"

#include <archive.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "proto/core/check.hpp"

namespace driftless {
namespace {

/// Bytes that libarchive reads at a time.
constexpr std::size_t read_bytes = std::size_t{256} << 10;

ErrorCode code_of(int sys_errno) {
    switch (sys_errno) {
        case ENOENT:
        case ENOTDIR:
            return ErrorCode::not_found;
        case EACCES:
        case EPERM:
            return ErrorCode::denied;
        default:
            return ErrorCode::io_failed;
    }
}

}  // namespace

struct InputSource::State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        archive_read_free(archive);
        if (fd > STDIN_FILENO) {
            ::close(fd);
        }
    }

    Result<std::string_view> fail();
    Result<void> start();

    int fd = -1;
    bool started = false;
    struct archive* archive = archive_read_new();
    bool empty = false;
};

InputSource::InputSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
InputSource::InputSource(InputSource&&) noexcept = default;
InputSource& InputSource::operator=(InputSource&&) noexcept = default;
InputSource::~InputSource() = default;

Result<InputSource> InputSource::open(const std::string& path) {
    auto state = std::make_unique<State>();
    CHECK(state->archive != nullptr);
    state->fd = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (state->fd < 0) {
        const int sys_errno = errno;
        return Error{code_of(sys_errno), sys_errno, "open the trace"};
    }
    struct stat status = {};
    if (::fstat(state->fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        return Error{ErrorCode::invalid, EISDIR, "open the trace"};
    }
    // Only these four: the library's other filters start programs or guess at plain text.
    struct archive* const archive = state->archive;
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_bzip2(archive);
    archive_read_support_filter_xz(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_format_raw(archive);
    archive_read_support_format_empty(archive);
    return InputSource(std::move(state));
}

Result<std::string_view> InputSource::State::fail() {
    // A failing read of the descriptor leaves the system's errno; a damaged stream leaves none, or
    // EILSEQ.
    const int sys_errno = archive_errno(archive);
    const bool damaged = sys_errno <= 0 || sys_errno == EILSEQ;
    return Error{damaged ? ErrorCode::truncated : ErrorCode::io_failed, damaged ? 0 : sys_errno,
                 "read the trace"};
}

/// The first read happens here, not in `open`, so that a pipe may be opened before it is filled.
Result<void> InputSource::State::start() {
    started = true;
    if (archive_read_open_fd(archive, fd, read_bytes) != ARCHIVE_OK) {
        return fail().error();
    }
    struct archive_entry* entry = nullptr;  // the archive's
    const int result = archive_read_next_header(archive, &entry);
    empty = result == ARCHIVE_EOF;
    if (result != ARCHIVE_OK && !empty) {
        return fail().error();
    }
    return {};
}

Result<std::string_view> InputSource::read() {
    if (!state_->started) {
        const Result<void> started = state_->start();
        if (!started) {
            return started.error();
        }
    }
    if (state_->empty) {
        return std::string_view{};
    }
    const void* bytes = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(state_->archive, &bytes, &size, &offset);
    if (result == ARCHIVE_EOF) {
        return std::string_view{};
    }
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
        return state_->fail();
    }
    return std::string_view(static_cast<const char*>(bytes), size);
}

std::string_view InputSource::compression() const {
    const char* const name = archive_filter_name(state_->archive, 0);
    return name == nullptr ? std::string_view{"none"} : std::string_view{name};
}

std::string_view InputSource::error_text() const {
    const char* const text = archive_error_string(state_->archive);
    return text == nullptr ? std::string_view{} : std::string_view{text};
}

}  // namespace driftless
