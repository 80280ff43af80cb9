#include "engine/input/source.hpp"

#include <archive.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/input/gzip.hpp"
#include "engine/input/raw_bytes.hpp"
#include "proto/core/check.hpp"

namespace driftless {
namespace {

enum class Compression : std::uint8_t { none, gzip, bzip2, xz, zstd };

struct Magic {
    Compression compression;
    std::string_view name;
    std::string_view bytes;
};
constexpr Magic magics[] = {
    {Compression::gzip, "gzip", "\x1F\x8B"},
    {Compression::bzip2, "bzip2", "BZh"},
    {Compression::xz, "xz",
     std::string_view("\xFD"
                      "7zXZ\0",
                      6)},
    {Compression::zstd, "zstd", "\x28\xB5\x2F\xFD"},
};

/// zstd's frames of other people's data: "P*M\x18" to "_*M\x18", four bytes of length, the data.
constexpr std::size_t skippable_header_bytes = 8;

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

bool is_skippable(std::string_view header) {
    return header.size() >= skippable_header_bytes &&
           (static_cast<unsigned char>(header[0]) & 0xF0U) == 0x50U &&
           header.substr(1, 3) == "\x2A\x4D\x18";
}

/// Passes over the bytes of a skippable frame. Ends with it, or with the input.
Result<void> skip(RawBytes& raw, std::uint64_t bytes) {
    while (bytes > 0) {
        const Result<std::string_view> ahead = raw.ahead();
        if (!ahead) {
            return ahead.error();
        }
        if (ahead.value().empty()) {
            return {};
        }
        const auto taken =
            static_cast<std::size_t>(std::min<std::uint64_t>(bytes, ahead.value().size()));
        raw.take(taken);
        bytes -= taken;
    }
    return {};
}

}  // namespace

struct InputSource::State {
    explicit State(int fd) : raw(fd) { CHECK(archive != nullptr); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { archive_read_free(archive); }

    Result<void> start();
    Result<void> start_archive();
    Result<std::string_view> read_plain();
    Result<std::string_view> read_archive();
    Result<std::string_view> fail();

    RawBytes raw;
    bool started = false;
    Compression compression = Compression::none;
    std::optional<GzipDecoder> gzip;
    struct archive* archive = archive_read_new();
    bool empty = false;
};

InputSource::InputSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
InputSource::InputSource(InputSource&&) noexcept = default;
InputSource::~InputSource() = default;

Result<InputSource> InputSource::open(const std::string& path) {
    const int fd = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        const int sys_errno = errno;
        return Error{code_of(sys_errno), sys_errno, "open the trace"};
    }
    auto state = std::make_unique<State>(fd);
    struct stat status = {};
    if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        return Error{ErrorCode::invalid, EISDIR, "open the trace"};
    }
    return InputSource(std::move(state));
}

Result<std::string_view> InputSource::State::fail() {
    if (raw.failure()) {
        return *raw.failure();
    }
    // A damaged stream leaves no errno, or EILSEQ.
    const int sys_errno = archive_errno(archive);
    const bool damaged = sys_errno <= 0 || sys_errno == EILSEQ;
    return Error{damaged ? ErrorCode::truncated : ErrorCode::io_failed, damaged ? 0 : sys_errno,
                 "read the trace"};
}

/// The first read happens here, not in `open`, so that a pipe may be opened before it is filled.
Result<void> InputSource::State::start() {
    started = true;
    Result<std::string_view> head = raw.ahead(skippable_header_bytes);
    while (head && is_skippable(head.value())) {  // ends: every turn takes a frame off
        std::uint32_t bytes = 0;
        std::memcpy(&bytes, head.value().data() + 4, sizeof bytes);  // little-endian, as we are
        const Result<void> skipped = skip(raw, skippable_header_bytes + std::uint64_t{bytes});
        if (!skipped) {
            return skipped.error();
        }
        head = raw.ahead(skippable_header_bytes);
    }
    if (!head) {
        return head.error();
    }
    for (const Magic& one : magics) {
        compression = head.value().starts_with(one.bytes) ? one.compression : compression;
    }
    if (compression == Compression::gzip) {
        gzip.emplace();
    } else if (compression != Compression::none) {
        return start_archive();
    }
    return {};
}

/// What libarchive calls for more bytes: those ahead, which it uses up before it calls again.
la_ssize_t read_raw(struct archive* archive, void* bytes_of, const void** out) {
    RawBytes& raw = *static_cast<RawBytes*>(bytes_of);
    const Result<std::string_view> ahead = raw.ahead();
    if (!ahead) {
        archive_set_error(archive, ahead.error().sys_errno, "read failed");
        return -1;
    }
    *out = ahead.value().data();
    raw.take(ahead.value().size());
    return static_cast<la_ssize_t>(ahead.value().size());
}

Result<void> InputSource::State::start_archive() {
    // Only these three: the library's other filters start programs or guess at plain text.
    archive_read_support_filter_bzip2(archive);
    archive_read_support_filter_xz(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_format_raw(archive);
    archive_read_support_format_empty(archive);
    if (archive_read_open(archive, &raw, nullptr, read_raw, nullptr) != ARCHIVE_OK) {
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

Result<std::string_view> InputSource::State::read_plain() {
    const Result<std::string_view> ahead = raw.ahead();
    if (ahead) {
        raw.take(ahead.value().size());
    }
    return ahead;
}

Result<std::string_view> InputSource::State::read_archive() {
    const void* bytes = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int result =
        empty ? ARCHIVE_EOF : archive_read_data_block(archive, &bytes, &size, &offset);
    // The library may take a read that fails for the end of the file.
    if (raw.failure() ||
        (result != ARCHIVE_OK && result != ARCHIVE_WARN && result != ARCHIVE_EOF)) {
        return fail();
    }
    if (result == ARCHIVE_EOF) {
        return std::string_view{};
    }
    return std::string_view(static_cast<const char*>(bytes), size);
}

Result<std::string_view> InputSource::read() {
    if (!state_->started) {
        const Result<void> started = state_->start();
        if (!started) {
            return started.error();
        }
    }
    if (state_->gzip) {
        return state_->gzip->read(state_->raw);
    }
    return state_->compression == Compression::none ? state_->read_plain() : state_->read_archive();
}

std::string_view InputSource::compression() const {
    for (const Magic& one : magics) {
        if (one.compression == state_->compression) {
            return one.name;
        }
    }
    return "none";
}

std::string InputSource::reason_of(const Error& error) const {
    return error.sys_errno != 0 ? std::strerror(error.sys_errno) : std::string(error_text());
}

std::string_view InputSource::error_text() const {
    if (state_->gzip) {
        return state_->gzip->error_text();
    }
    const char* const text = archive_error_string(state_->archive);
    return text == nullptr ? std::string_view{} : std::string_view{text};
}

}  // namespace driftless
