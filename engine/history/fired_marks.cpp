#include "engine/history/fired_marks.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <utility>

#include "proto/core/errors.hpp"

namespace driftless {

static constexpr mode_t others_may = 077;
static constexpr std::uint32_t gaps_max = 8;

static std::string name_for(const std::string& run_id, std::uint32_t engine) {
    return "/driftless-" + run_id + (engine == 0 ? "" : "." + std::to_string(engine));
}

Result<FiredMarks> FiredMarks::map(const Fd& file, std::size_t rows, int sharing) {
    CHECK(file.is_open());
    FiredMarks marks;
    const std::size_t words = words_for(rows);
    void* const memory = ::mmap(nullptr, bytes_for(words), PROT_READ | PROT_WRITE,
                                sharing | MAP_POPULATE, file.number(), 0);
    if (memory == MAP_FAILED) {
        return error_from_errno(errno, "map the marks of a run");
    }
    marks.bits_ = static_cast<Word*>(memory);
    marks.words_ = words;
    return marks;
}

Result<FiredMarks> FiredMarks::create(const std::string& run_id, std::size_t rows,
                                      std::uint32_t engine, std::uint32_t engines) {
    CHECK(!run_id.empty() && run_id.find('/') == std::string::npos);
    CHECK(engine < engines);
    const std::string name = name_for(run_id, engine);
    const Fd file(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
    if (!file.is_open()) {
        return error_from_errno(errno, "create the marks of a run");
    }
    const std::size_t words = words_for(rows);
    // Taken now: a page that the file system has no room for would kill us at the store.
    const int failure = ::posix_fallocate(file.number(), 0, static_cast<off_t>(bytes_for(words)));
    if (failure != 0) {
        (void)::shm_unlink(name.c_str());
        return error_from_errno(failure, "take memory for the marks of a run");
    }
    Result<FiredMarks> marks = map(file, rows, MAP_SHARED);
    if (!marks) {
        (void)::shm_unlink(name.c_str());
        return marks;
    }
    CHECK(marks.value().words_ == words);
    marks.value().bits_[words].store(rows);
    marks.value().bits_[words + 2].store(engines);
    return marks;
}

Result<FiredMarks> FiredMarks::open(const std::string& run_id, std::size_t rows) {
    Result<FiredMarks> all = open_one(name_for(run_id, 0), rows);
    const std::uint64_t engines =
        all ? all.value().bits_[all.value().words_ + 2].load(std::memory_order_relaxed) : 0;
    for (std::uint32_t engine = 1; engine < engines; ++engine) {
        const Result<FiredMarks> more = open_one(name_for(run_id, engine), rows);
        if (!more) {  // without them, rows that have left would seem not to have
            return more.error();
        }
        all.value().add(more.value());
    }
    return all;
}

void FiredMarks::add(const FiredMarks& other) {
    CHECK(words_ == other.words_);
    for (std::size_t word = 0; word < words_; ++word) {
        bits_[word].fetch_or(other.bits_[word].load(std::memory_order_relaxed),
                             std::memory_order_relaxed);
    }
    bits_[words_ + 1].fetch_add(other.requests(), std::memory_order_relaxed);
}

Result<FiredMarks> FiredMarks::open_one(const std::string& name, std::size_t rows) {
    const Fd file(::shm_open(name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0));
    if (!file.is_open()) {
        return error_from_errno(errno, "open the marks of a run");
    }
    const std::size_t words = words_for(rows);
    struct stat facts{};
    if (::fstat(file.number(), &facts) != 0) {
        return error_from_errno(errno, "open the marks of a run");
    }
    // Everybody may write to /dev/shm: what others made, or can change, says nothing of our run.
    const bool ours =
        S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() && (facts.st_mode & others_may) == 0;
    if (!ours) {
        return Error{ErrorCode::denied, 0, "open the marks of a run: others may write them"};
    }
    const Error other{ErrorCode::invalid, 0, "open the marks of a run: they belong to another run"};
    if (facts.st_size != static_cast<off_t>(bytes_for(words))) {
        return other;
    }
    Result<FiredMarks> marks = map(file, rows, MAP_PRIVATE);
    if (marks && marks.value().bits_[words].load() != rows) {
        return other;
    }
    return marks;
}

std::uint64_t FiredMarks::count() const {
    CHECK(words_ == 0 || bits_ != nullptr);
    std::uint64_t marked = 0;
    for (std::size_t word = 0; word < words_; ++word) {
        marked +=
            static_cast<std::uint64_t>(std::popcount(bits_[word].load(std::memory_order_relaxed)));
    }
    return marked;
}

void FiredMarks::remove(const std::string& run_id) {
    std::uint32_t engine = 1;
    std::uint32_t gaps = 0;
    while (gaps < gaps_max) {  // somebody may have removed some
        gaps = ::shm_unlink(name_for(run_id, engine).c_str()) == 0 ? 0 : gaps + 1;
        ++engine;
    }
    (void)::shm_unlink(name_for(run_id, 0).c_str());  // last: by it the others are found
}

FiredMarks::~FiredMarks() {
    if (bits_ != nullptr) {
        (void)::munmap(bits_, bytes_for(words_));
    }
}

FiredMarks::FiredMarks(FiredMarks&& other) noexcept
    : bits_(std::exchange(other.bits_, nullptr)), words_(std::exchange(other.words_, 0)) {}

FiredMarks& FiredMarks::operator=(FiredMarks&& other) noexcept {
    std::swap(bits_, other.bits_);
    std::swap(words_, other.words_);
    return *this;
}

}  // namespace driftless
