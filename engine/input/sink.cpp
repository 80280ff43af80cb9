#include "engine/input/sink.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "proto/core/check.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {
namespace {

/// The filter that the name asks for. gzip's own time is left out: same bytes in, same file out.
int add_filter(struct archive* archive, const std::string& path) {
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

}  // namespace

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
