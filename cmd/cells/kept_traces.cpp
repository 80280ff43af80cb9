#include "cmd/cells/kept_traces.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cmd/cells/json_texts.hpp"
#include "engine/input/paths.hpp"
#include "proto/core/hex.hpp"
#include "proto/core/sys_error.hpp"
#include "proto/core/xxh64.hpp"

namespace driftless {

namespace {

/// Whatever is no regular file would be used up by reading it; it adds nothing.
Result<void> add_file(const std::string& path, Xxh64& digest) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) {
        return error_from_errno(errno, "open the trace");
    }
    if (!S_ISREG(facts.st_mode)) {
        return {};
    }
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return error_from_errno(errno, "open the trace");
    }
    std::string bytes(1 << 20, '\0');
    ssize_t count = 0;
    while ((count = ::read(fd, bytes.data(), bytes.size())) > 0 || (count < 0 && errno == EINTR)) {
        digest.add(
            std::string_view(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
    }
    const int why = errno;
    ::close(fd);
    return count < 0 ? Result<void>(error_from_errno(why, "read the trace")) : Result<void>();
}

Result<KeptTrace> keep_trace(const std::string& path) {
    const Result<std::vector<std::string>> files = expand_path(path);
    if (!files) {
        return files.error();
    }
    Xxh64 digest;
    for (const std::string& file : files.value()) {
        digest.add(file == path ? "" : file);
        if (const Result<void> added = add_file(file, digest); !added) {
            return added.error();
        }
    }
    return KeptTrace{path, hex_text(digest.value())};
}

}  // namespace

Result<std::vector<KeptTrace>> keep_traces(const std::vector<std::string>& paths,
                                           std::string& path) {
    std::vector<KeptTrace> kept;
    for (const std::string& one : paths) {
        const auto is_one = [&one](const KeptTrace& known) { return known.path == one; };
        if (std::any_of(kept.begin(), kept.end(), is_one)) {
            continue;
        }
        Result<KeptTrace> trace = keep_trace(one);
        if (!trace) {
            path = one;
            return trace.error();
        }
        kept.push_back(std::move(trace).value());
    }
    return kept;
}

std::string changed_trace(const std::vector<KeptTrace>& kept) {
    for (const KeptTrace& one : kept) {
        const Result<KeptTrace> now = keep_trace(one.path);
        if (!now || now.value().digest != one.digest) {
            return one.path;
        }
    }
    return "";
}

void write_kept_traces(JsonWriter& json, const std::vector<KeptTrace>& kept) {
    json.key("traces").begin_array();
    for (const KeptTrace& one : kept) {
        json.begin_object();
        json.key("path").string(one.path);
        json.key("digest").string(one.digest);
        json.end_object();
    }
    json.end_array();
}

std::vector<KeptTrace> read_kept_traces(JsonValue array) {
    std::vector<KeptTrace> kept;
    for (JsonValue one = array.first(); one.present(); one = one.next()) {
        kept.push_back({text_of(one.find("path")), text_of(one.find("digest"))});
    }
    return kept;
}

}  // namespace driftless
