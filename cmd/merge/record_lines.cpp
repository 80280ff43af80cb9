#include "cmd/merge/record_lines.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "engine/history/run_lines.hpp"
#include "engine/input/lines.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record.hpp"

namespace driftless {

namespace {

/// Mapped pages are given back after so many bytes.
constexpr std::size_t kept_bytes = std::size_t{64} << 20;

auto sending_of(const RecordLine& line) {
    const RecordOrder& order = line.order;
    return std::tuple(order.row, order.pass, order.side, order.attempt);
}

}  // namespace

RecordLines::~RecordLines() {
    for (const File& file : files_) {
        if (file.text != nullptr) {
            ::munmap(const_cast<char*>(file.text), file.bytes);
        }
    }
}

std::string RecordLines::map(const std::string& path) {
    File& file = files_.emplace_back();
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return path + ": cannot be read (" + std::strerror(errno) + ")";
    }
    struct stat facts{};
    std::string why;
    if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        why = path + ": is not a regular file, so what a run wrote there cannot be read again";
    } else if (facts.st_size > 0) {
        file.bytes = static_cast<std::size_t>(facts.st_size);
        void* const memory = ::mmap(nullptr, file.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (memory == MAP_FAILED) {
            why = path + ": cannot be mapped (" + std::strerror(errno) + ")";
        } else {
            file.text = static_cast<const char*>(memory);
        }
    }
    ::close(fd);
    return why;
}

std::string RecordLines::find_in(const ShardRun& shard, std::size_t place) {
    const std::string path = shard.records_path();
    if (std::string why = map(path); !why.empty()) {
        return why;
    }
    File& file = files_.back();
    RecordOrders orders;
    std::uint64_t number = 0;
    std::size_t kept = 0;
    for (std::size_t at = 0; at < file.bytes;) {
        const auto* const end =
            static_cast<const char*>(std::memchr(file.text + at, '\n', file.bytes - at));
        if (end == nullptr) {
            file.torn = file.bytes - at;
            break;
        }
        const std::string_view line(file.text + at, static_cast<std::size_t>(end - file.text) - at);
        ++number;
        const Result<RecordOrder> order = orders.read(line);
        if (!order || !line.ends_with('}') || line.size() > line_bytes_max) {
            return describe_line(
                path, number,
                order ? Error{ErrorCode::bad_json, 0, "read a record"} : order.error());
        }
        const std::uint64_t rows = shard.facts.info.run.trace_rows;
        const bool is_row = rows == 0 || order.value().row < rows;
        if (!is_row || order.value().due_ns < 0) {
            return describe_line(path, number,
                                 Error{ErrorCode::out_of_range, 0, is_row ? "due_ns" : "row"});
        }
        lines_.push_back({order.value(), at, static_cast<std::uint32_t>(line.size()),
                          static_cast<std::uint32_t>(place)});
        at += line.size() + 1;
        if (at - kept > kept_bytes) {
            kept = at;
            give_back();
        }
    }
    give_back();
    return "";
}

/// Counts the rows of each shard as well.
std::string RecordLines::check_twice(const std::vector<ShardRun>& shards) {
    std::sort(lines_.begin(), lines_.end(), [](const RecordLine& a, const RecordLine& b) {
        return sending_of(a) != sending_of(b) ? sending_of(a) < sending_of(b) : a.place < b.place;
    });
    rows_.assign(shards.size(), 0);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        const RecordLine& line = lines_[i];
        const RecordLine* const before = i > 0 ? &lines_[i - 1] : nullptr;
        const RecordOrder& order = line.order;
        const bool same_row = before != nullptr && before->order.row == order.row &&
                              before->order.pass == order.pass && before->order.side == order.side;
        rows_[line.place] += same_row ? 0 : 1;
        // A row is one shard's, with all of its tries.
        if (!same_row || (before->place == line.place && before->order.attempt != order.attempt)) {
            continue;
        }
        const std::string& first = shards[before->place].folder;
        const std::string& second = shards[line.place].folder;
        std::string text = "row " + std::to_string(order.row);
        text += order.pass > 0 ? " of pass " + std::to_string(order.pass) : "";
        text += order.side != Side::none ? std::string(" to side ") + name_of(order.side) : "";
        return text +
               (first == second ? " has two records in " + first
                                : " has a record in " + first + " and in " + second) +
               ": a row is one shard's; leave out the run that does not belong here";
    }
    return "";
}

std::string RecordLines::find(const std::vector<ShardRun>& shards) {
    for (std::size_t place = 0; place < shards.size(); ++place) {
        if (std::string why = find_in(shards[place], place); !why.empty()) {
            return why;
        }
    }
    if (std::string why = check_twice(shards); !why.empty()) {
        return why;
    }
    std::sort(lines_.begin(), lines_.end(), [](const RecordLine& a, const RecordLine& b) {
        return a.order.due_ns != b.order.due_ns ? a.order.due_ns < b.order.due_ns
                                                : sending_of(a) < sending_of(b);
    });
    return "";
}

std::string RecordLines::first_unreadable(const std::vector<ShardRun>& shards) const {
    JsonDocument document;
    for (const RecordLine& line : lines_) {
        const Result<Record> record = read_record(document, text(line));
        if (record) {
            continue;
        }
        const char* const file = files_[line.place].text;
        const auto number =
            static_cast<std::uint64_t>(std::count(file, file + line.offset, '\n')) + 1;
        return describe_line(shards[line.place].records_path(), number, record.error());
    }
    return "";
}

std::string_view RecordLines::text(const RecordLine& line) const {
    return {files_[line.place].text + line.offset, line.bytes};
}

void RecordLines::give_back() const {
    for (const File& file : files_) {
        if (file.text != nullptr) {
            (void)::madvise(const_cast<char*>(file.text), file.bytes, MADV_DONTNEED);
        }
    }
}

}  // namespace driftless
