/// FiredMarks: which rows may have left, in memory that outlives the process: a bit per row of the
/// trace (two under dual fire), set before the first byte of the row is handed to the kernel.
/// Whoever resumes a run that was killed reads it, and needs no guess about what its files had not
/// been told yet.
///
/// Users send a row once in each pass, and again where it has failed. So requests are counted, too:
/// `report` then knows how many of them left and have no record.
///
/// The memory is a POSIX shared one (/dev/shm) with the name of the run: it survives SIGKILL, not
/// the end of the host or its container. A mapped file in the run's folder would survive those too,
/// but each time the kernel has written such a page back, the next store to it waits for the file
/// system: 16 us at p99 where it is synced every 20 ms, and without bound on a disk that hangs.
///
/// Written by the engine thread without a system call; owned by the run, and removed with it
/// (`remove`), not by the destructor. Of several engines each has marks of its own, so that none
/// waits for another's cache line; `open` gives them as one. Move-only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/base/fd.hpp"
#include "proto/core/errors.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// The mark of a row (its position in the trace) that is sent to that side.
constexpr std::uint32_t mark_of(std::uint32_t row, Side side) {
    return side == Side::none ? row : 2 * row + (side == Side::b ? 1 : 0);
}
/// How many marks a trace of so many rows needs; `dual`: each is sent to two sides.
constexpr std::size_t marks_for(std::size_t rows, bool dual) {
    return dual ? 2 * rows : rows;
}

class FiredMarks {
  public:
    /// Marks nothing.
    FiredMarks() = default;
    /// New marks of one engine of the run's `engines`, none of them set, for rows 0 to `rows` - 1;
    /// every page of them is there. Errors: exists, denied, exhausted, io_failed.
    static Result<FiredMarks> create(const std::string& run_id, std::size_t rows,
                                     std::uint32_t engine = 0, std::uint32_t engines = 1);
    /// Those of a run that is over: what any of its engines had marked. A copy: what is marked in
    /// it nobody else sees. Errors: not_found, also where those of one engine are not there;
    /// invalid, where they are of another number of rows; denied, also where they are another
    /// user's, or others may write to them; io_failed.
    static Result<FiredMarks> open(const std::string& run_id, std::size_t rows);
    /// Takes the names of all of its engines' marks away, where there are any; who has them open
    /// keeps them.
    static void remove(const std::string& run_id);

    ~FiredMarks();
    FiredMarks(FiredMarks&& other) noexcept;
    FiredMarks& operator=(FiredMarks&& other) noexcept;
    FiredMarks(const FiredMarks&) = delete;
    FiredMarks& operator=(const FiredMarks&) = delete;

    /// From one thread only, which needs no atomic addition therefore.
    void mark(std::uint32_t row) {
        if (row / bits_of_word < words_) {
            std::atomic<std::uint64_t>& word = bits_[row / bits_of_word];
            const std::uint64_t bit = std::uint64_t{1} << row % bits_of_word;
            word.store(word.load(std::memory_order_relaxed) | bit, std::memory_order_relaxed);
        }
    }
    bool marked(std::uint32_t row) const {
        return row / bits_of_word < words_ &&
               (bits_[row / bits_of_word].load(std::memory_order_relaxed) >> row % bits_of_word &
                1) != 0;
    }
    /// A request may leave, of whatever row. Once for each, and from that thread.
    void count_request() {
        if (words_ > 0) {
            std::atomic<std::uint64_t>& requests = bits_[words_ + 1];
            requests.store(requests.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }
    }
    /// How many rows are marked.
    std::uint64_t count() const;
    /// How many requests may have left.
    std::uint64_t requests() const {
        return words_ > 0 ? bits_[words_ + 1].load(std::memory_order_relaxed) : 0;
    }

  private:
    using Word = std::atomic<std::uint64_t>;
    static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(std::uint64_t));
    static constexpr std::size_t bits_of_word = 64;

    static constexpr std::size_t words_for(std::size_t rows) {
        return (rows + bits_of_word - 1) / bits_of_word;
    }
    /// Of the bits, and behind them the numbers of rows, of requests and of engines.
    static constexpr std::size_t bytes_for(std::size_t words) { return (words + 3) * sizeof(Word); }
    static Result<FiredMarks> map(const Fd& file, std::size_t rows, int sharing);
    static Result<FiredMarks> open_one(const std::string& name, std::size_t rows);
    void add(const FiredMarks& other);

    Word* bits_ = nullptr;  ///< [words_] and three more (`bytes_for`)
    std::size_t words_ = 0;
};

}  // namespace driftless
