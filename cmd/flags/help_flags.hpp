/// The flags of a command as help, man pages and completions see them: FlagTable, plain values that
/// are read from the parser's own help, so that a flag which the parser has cannot be missing.
/// Knows no parser: options_parser fills the tables. New flags are added in the options files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/secrets.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

/// What a flag of replay is beside its value. All that walks the flags goes by it (settings.hpp).
struct FlagTraits {
    unsigned set = 0;                    ///< of those below
    Mask mask = nullptr;                 ///< of its value
    const char* not_in_probe = nullptr;  ///< why it is no flag of a probe of `find`

    constexpr bool has(FlagTraits one_of) const { return (set & one_of.set) != 0; }
    constexpr FlagTraits operator|(FlagTraits other) const {
        return {set | other.set, mask == nullptr ? other.mask : mask,
                not_in_probe == nullptr ? other.not_in_probe : not_in_probe};
    }
};
/// Holds for one run alone: never kept, so never compared.
inline constexpr FlagTraits of_one_run{1};
/// Of files that a run writes at its end: kept for `--resume` alone, and may be given with it.
inline constexpr FlagTraits of_its_end{2};
/// May be given with `--resume`.
inline constexpr FlagTraits resumable{4};
/// Says, with its like, where the server is.
inline constexpr FlagTraits names_server{8};
/// Compared elsewhere (compare_runs.cpp: server, model, work), or of no meaning for a comparison
/// (the client's host, shards).
inline constexpr FlagTraits not_setting{16};
/// How the client watches and uses its host: shards may differ in it, and runs of one line of a
/// table, which is told.
inline constexpr FlagTraits watching{32};
/// A sweep gives it to its cells, or none may have it.
inline constexpr FlagTraits of_sweep{64};
/// Takes up the flags of a run or a file, or belongs to one that does.
inline constexpr FlagTraits of_again{128};
/// What rows are made of: equal among runs of the same work, unless digests show that they played
/// the same whatever this flag says.
inline constexpr FlagTraits of_corpus{256};
/// Decides rows and instants: where digests are equal, runs do not differ in it.
inline constexpr FlagTraits of_load{512};
/// Does something to the server: though shards may differ in it, runs of one line of a table
/// cannot.
inline constexpr FlagTraits acts{2048};
/// Asks the server something, beside the rows: a dry run cannot.
inline constexpr FlagTraits asks_server{1024};
constexpr FlagTraits hides(Mask mask) {
    return {0, mask};
}
/// `why` follows "cannot be used in a probe". The value "none" can.
constexpr FlagTraits no_probe(const char* why) {
    return {0, nullptr, why};
}

/// A flag, or an argument without a flag.
struct Flag {
    std::vector<std::string> names;    ///< "-o", "--out"; of an argument its name alone, "TRACE"
    std::string unit;                  ///< of its value, "URL"; empty: it has none
    std::string help;                  ///< without its default; lines may be broken
    std::string standard;              ///< its default, as the help tells it; empty: none is told
    std::string group;                 ///< heading in the help
    std::vector<std::string> choices;  ///< words that it takes, where it does not take any word
    FlagTraits traits;
    /// Whether two of its values mean the same; empty: if their texts are equal.
    std::function<bool(std::string_view, std::string_view)> same{};
    std::string unset{};  ///< the value that means as much as no flag; empty: none that is known

    /// Its unit says that the value is a path, or one of a few words.
    bool takes_file() const;
    bool is_repeatable() const { return help.ends_with("; repeatable"); }
};

/// A command, or one of its kinds that has flags of its own.
struct FlagTable {
    std::string command;  ///< as it is typed, without the program: "replay", "synth stress reuse"
    std::string description;
    std::vector<Flag> arguments;
    std::vector<Flag> flags;
    std::string footer;          ///< what the help says behind the flags
    std::vector<Flag> hidden{};  ///< they work, and no help shows them

    /// The flag of that name; nothing holds for one that is not here.
    const Flag& named(std::string_view name) const;
};

/// All names of all flags.
std::vector<std::string> names_of(const std::vector<Flag>& flags);

/// A flag with the texts of its parser: the default is split off the help.
Flag make_flag(std::vector<std::string> names, std::string unit, std::string help,
               std::string group);

/// No list of values has it: a flag that takes it takes any word.
inline constexpr const char* unlisted_word = "such-a-word-is-in-no-list";

/// The words among the parts of a unit: "auto" of "auto|FILE".
std::vector<std::string> unit_words(std::string_view unit);

/// The words of a refusal that could be values of a flag: lower case, once each.
std::vector<std::string> possible_values(std::string_view refusal);

/// AskedTables: while one lives, a command that is asked for its help gives its flag table instead.
///
/// Every parser builds its flags and its help in one function of its own; this is how the flags
/// come out of all of them without a second list anywhere. One at a time, on the main thread,
/// before anything else has begun.
class AskedTables {
  public:
    AskedTables() {
        CHECK(living_ == nullptr);
        living_ = this;
    }
    ~AskedTables() { living_ = nullptr; }
    AskedTables(const AskedTables&) = delete;
    AskedTables& operator=(const AskedTables&) = delete;

    const std::vector<FlagTable>& tables() const { return tables_; }

    /// The one that lives; nullptr: help is text.
    static AskedTables* current() { return living_; }
    void add(FlagTable table) { tables_.push_back(std::move(table)); }

  private:
    static inline AskedTables* living_ = nullptr;
    std::vector<FlagTable> tables_;
};

}  // namespace driftless
