/// The way in: bytes of a descriptor, what decodes them, lines. Then the way out.

#include "engine/plan/compressed_files.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proto/core/errors.hpp"

namespace driftless {

/// Bytes that are read or decoded at a time: large beside the cost of a system call, small beside a
/// cache.
static constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

static constexpr int window_bits =
    15 + 16;  ///< the largest window; 16 asks for gzip's header and trailer
static constexpr std::string_view gzip_magic = "\x1F\x8B";

/// RawBytes: the bytes of a descriptor as they stand, in pieces, with a look ahead.
///
/// Owns the descriptor and one buffer. Reads forward only, so that pipes do; never decodes.
class RawBytes {
  public:
    /// Takes the descriptor; standard input is left open at the end.
    explicit RawBytes(int fd) : fd_(fd) {}
    RawBytes(const RawBytes&) = delete;
    RawBytes& operator=(const RawBytes&) = delete;
    ~RawBytes() {
        if (fd_ > STDIN_FILENO) {
            ::close(fd_);
        }
    }

    /// What lies ahead: at least `least` bytes, fewer only at the end of the input, in one piece
    /// that is valid until the next call. `least` is at most `ahead_max`. Error: io_failed.
    Result<std::string_view> ahead(std::size_t least = 1);
    static constexpr std::size_t ahead_max = 64;  ///< headers of compressed files are shorter

    /// Moves on over bytes that were seen ahead.
    void take(std::size_t bytes) {
        CHECK(bytes <= end_ - begin_);
        begin_ += bytes;
    }

    /// Why a read failed, if one did.
    const std::optional<Error>& failure() const { return failure_; }

  private:
    int fd_;
    std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(buffer_bytes);
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    bool ended_ = false;
    std::optional<Error> failure_;
};

Result<std::string_view> RawBytes::ahead(std::size_t least) {
    CHECK(least <= ahead_max);
    if (end_ - begin_ < least) {
        std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    while (end_ - begin_ < least && !ended_) {  // ends: every turn reads something or nothing more
        const ssize_t got = ::read(fd_, buffer_.get() + end_, buffer_bytes - end_);
        if (got < 0 && errno != EINTR) {
            failure_ = Error{ErrorCode::io_failed, errno, "read the trace"};
            return *failure_;
        }
        ended_ = got == 0;
        end_ += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    return std::string_view(buffer_.get() + begin_, end_ - begin_);
}

/// GzipDecoder: gzip members, one behind the other, decoded to the last byte that is there.
///
/// By zlib itself: libarchive gives a broken member's bytes back only in whole blocks of 64 KiB,
/// and logs that are still being written (Dynamo's jsonl_gz) end in a broken member, whose last
/// rows are wanted. What is behind the last member and is none (padding) is ignored, as gzip
/// does. Owns zlib's state and one buffer; reads from the RawBytes that it is given.
class GzipDecoder {
  public:
    GzipDecoder() { CHECK(inflateInit2(&stream_, window_bits) == Z_OK); }
    GzipDecoder(const GzipDecoder&) = delete;
    GzipDecoder& operator=(const GzipDecoder&) = delete;
    ~GzipDecoder() { (void)inflateEnd(&stream_); }

    /// The next piece, valid until the next read; empty at the end. Errors: truncated (the member
    /// ends early or is damaged; everything before was given), io_failed.
    Result<std::string_view> read(RawBytes& raw);

    /// Why the last read failed: "truncated gzip input".
    const std::string& error_text() const { return error_text_; }

  private:
    Result<void> decode_some(RawBytes& raw);
    void break_off(std::string why) {
        error_text_ = std::move(why);
        broken_ = true;
    }

    z_stream stream_ = {};
    bool ended_ = false;  ///< behind the last member
    bool broken_ = false;
    std::unique_ptr<char[]> piece_ = std::make_unique_for_overwrite<char[]>(buffer_bytes);
    std::string error_text_;
};

Result<std::string_view> GzipDecoder::read(RawBytes& raw) {
    stream_.next_out = reinterpret_cast<Bytef*>(piece_.get());
    stream_.avail_out = buffer_bytes;
    while (stream_.avail_out > 0 && !ended_ && !broken_) {
        if (const Result<void> decoded = decode_some(raw); !decoded) {
            return decoded.error();
        }
    }
    const std::size_t bytes = buffer_bytes - stream_.avail_out;
    if (bytes == 0 && broken_) {
        return Error{ErrorCode::truncated, 0, "read the trace"};
    }
    return std::string_view(piece_.get(), bytes);
}

/// Decodes what lies ahead, as far as there is room.
Result<void> GzipDecoder::decode_some(RawBytes& raw) {
    const Result<std::string_view> ahead = raw.ahead();
    if (!ahead) {
        return ahead.error();
    }
    if (ahead.value().empty()) {
        break_off("truncated gzip input");
        return {};
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(ahead.value().data()));
    stream_.avail_in = static_cast<uInt>(ahead.value().size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    raw.take(ahead.value().size() - stream_.avail_in);
    if (result == Z_STREAM_END) {
        const Result<std::string_view> next = raw.ahead(gzip_magic.size());
        if (!next) {
            return next.error();
        }
        ended_ = !next.value().starts_with(gzip_magic);
        CHECK(inflateReset(&stream_) == Z_OK);
    } else if (result != Z_OK) {  // Z_BUF_ERROR cannot be: there are bytes, and there is room
        break_off("damaged gzip input" +
                  (stream_.msg == nullptr ? "" : " (" + std::string(stream_.msg) + ")"));
    }
    return {};
}

namespace {

/// The name of a compression, and the bytes that such a file begins with.
struct Magic {
    std::string_view name;
    std::string_view bytes;
};

}  // namespace

static constexpr Magic magics[] = {
    {"gzip", gzip_magic},
    {"bzip2", "BZh"},
    {"xz", {"\xFD\x37zXZ\0", 6}},
    {"zstd", "\x28\xB5\x2F\xFD"},
};

/// zstd's frames of other people's data: "P*M\x18" to "_*M\x18", four bytes of length, the data.
static constexpr std::size_t skippable_header_bytes = 8;

static bool is_skippable(std::string_view header) {
    return header.size() >= skippable_header_bytes &&
           (static_cast<unsigned char>(header[0]) & 0xF0U) == 0x50U &&
           header.substr(1, 3) == "\x2A\x4D\x18";
}

/// Passes over the bytes of a skippable frame. Ends with it, or with the input.
static Result<void> skip(RawBytes& raw, std::uint64_t bytes) {
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
    std::string_view compression = "none";
    std::optional<GzipDecoder> gzip;
    struct archive* archive = archive_read_new();
    bool empty = false;
};

Error opening_error(int sys_errno) {
    const bool missing = sys_errno == ENOENT || sys_errno == ENOTDIR;
    const bool denied = sys_errno == EACCES || sys_errno == EPERM;
    return {missing  ? ErrorCode::not_found
            : denied ? ErrorCode::denied
                     : ErrorCode::io_failed,
            sys_errno, "open the trace"};
}

InputSource::InputSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
InputSource::InputSource(InputSource&&) noexcept = default;
InputSource::~InputSource() = default;

Result<InputSource> InputSource::open(const std::string& path) {
    const int fd = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return opening_error(errno);
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
        compression = head.value().starts_with(one.bytes) ? one.name : compression;
    }
    if (compression == "gzip") {
        gzip.emplace();
    }
    return gzip || compression == "none" ? Result<void>() : start_archive();
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
    return compression() == "none" ? state_->read_plain() : state_->read_archive();
}

std::string_view InputSource::compression() const {
    return state_->compression;
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

void LineSplitter::feed(std::string_view piece) {
    CHECK(piece_.empty() && !finished_);
    piece_ = piece;
}

std::optional<std::string_view> LineSplitter::next() {
    if (carry_given_) {
        carry_.clear();
        carry_given_ = false;
    }
    const std::size_t end = piece_.find('\n');
    const std::string_view line = piece_.substr(0, end);
    too_long_ = too_long_ || carry_.size() + line.size() > line_bytes_max;
    if (too_long_) {
        return std::nullopt;
    }
    if (end != std::string_view::npos) {
        piece_.remove_prefix(end + 1);
        if (carry_.empty()) {
            return give(line);
        }
        carry_ += line;
        carry_given_ = true;
        return give(carry_);
    }
    carry_ += line;
    piece_ = {};
    if (finished_ && !carry_.empty()) {
        carry_given_ = true;
        return give(carry_);
    }
    return std::nullopt;
}

std::optional<std::string_view> LineSplitter::give(std::string_view line) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    ++number_;
    if (number_ == 1 && line.starts_with(byte_order_mark)) {
        line.remove_prefix(byte_order_mark.size());
    }
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

Result<FileLines> FileLines::open(const std::string& path) {
    Result<InputSource> source = InputSource::open(path);
    if (!source) {
        return source.error();
    }
    return FileLines(std::move(source).value());
}

/// Reads on. False where nothing more comes.
bool FileLines::feed() {
    const Result<std::string_view> piece = source_.read();
    if (!piece) {
        broke_off_ = piece.error().code == ErrorCode::truncated;
        trouble_ = source_.reason_of(piece.error());
        return false;
    }
    if (piece.value().empty()) {
        lines_.finish();
        finished_ = true;
        return true;
    }
    bytes_ += piece.value().size();
    lines_.feed(piece.value());
    return true;
}

std::optional<std::string_view> FileLines::next() {
    while (!ended_) {  // ends with the file
        if (const auto line = lines_.next()) {
            return line;
        }
        if (lines_.too_long()) {
            trouble_ = "line " + std::to_string(lines_.number() + 1) + " is longer than 64 MiB";
        }
        ended_ = finished_ || lines_.too_long() || !feed();
    }
    return std::nullopt;
}

/// The filter that the name asks for. gzip's own time is left out: same bytes in, same file out.
static int add_filter(struct archive* archive, const std::string& path) {
    if (path.ends_with(".gz")) {
        const int added = archive_write_add_filter_gzip(archive);
        return added != ARCHIVE_OK
                   ? added
                   : archive_write_set_filter_option(archive, "gzip", "timestamp", nullptr);
    }
    if (path.ends_with(".bz2")) {
        return archive_write_add_filter_bzip2(archive);
    }
    if (path.ends_with(".xz")) {
        return archive_write_add_filter_xz(archive);
    }
    return path.ends_with(".zst") ? archive_write_add_filter_zstd(archive)
                                  : archive_write_add_filter_none(archive);
}

struct OutputSink::State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        archive_write_free(archive);
        if (fd > STDOUT_FILENO) {
            ::close(fd);
            if (!finished) {
                (void)::unlink(path.c_str());
            }
        }
    }

    /// One entry without a frame around it: bytes that only the filter changes.
    bool start() {
        if (archive_write_set_format_raw(archive) != ARCHIVE_OK ||
            add_filter(archive, path) != ARCHIVE_OK ||
            archive_write_set_bytes_in_last_block(archive, 1) != ARCHIVE_OK ||
            archive_write_open_fd(archive, fd) != ARCHIVE_OK) {
            return false;
        }
        struct archive_entry* entry = archive_entry_new();
        archive_entry_set_filetype(entry, AE_IFREG);
        const int wrote = archive_write_header(archive, entry);
        archive_entry_free(entry);
        return wrote == ARCHIVE_OK;
    }

    std::string path;
    int fd = -1;
    bool finished = false;
    struct archive* archive = archive_write_new();
};

OutputSink::OutputSink(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputSink::OutputSink(OutputSink&&) noexcept = default;
OutputSink::~OutputSink() = default;

Result<OutputSink> OutputSink::create(const std::string& path) {
    auto state = std::make_unique<State>();
    state->path = path;
    state->fd = path == "-" ? STDOUT_FILENO
                            : ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (state->fd < 0) {
        return error_from_errno(errno, "create the file");
    }
    if (!state->start()) {
        return error_from_errno(archive_errno(state->archive), "begin the file");
    }
    return OutputSink(std::move(state));
}

Result<void> OutputSink::write(std::string_view bytes) {
    CHECK(state_ != nullptr && !state_->finished);
    while (!bytes.empty()) {  // ends: every turn takes bytes or fails
        const la_ssize_t taken = archive_write_data(state_->archive, bytes.data(), bytes.size());
        if (taken <= 0) {
            return error_from_errno(archive_errno(state_->archive), "write the file");
        }
        bytes.remove_prefix(static_cast<std::size_t>(taken));
    }
    return {};
}

Result<void> OutputSink::finish() {
    CHECK(state_ != nullptr && !state_->finished);
    if (archive_write_close(state_->archive) != ARCHIVE_OK) {
        return error_from_errno(archive_errno(state_->archive), "finish the file");
    }
    state_->finished = true;
    return {};
}

}  // namespace driftless
