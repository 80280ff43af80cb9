/// NameSpaces: the namespace of a row's block ids.
///
/// Equal ids mean equal blocks inside one namespace only. A format says where one begins, or names
/// it; the user's `--hash-scope` goes before that. A namespace gets its number with its first row,
/// or with its name. Part of a TraceDraft.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "proto/trace/numbers_by_name.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Where equal block ids mean equal blocks, `--hash-scope`: as the format says, inside a file,
/// across all files, or inside a session (rows without one: inside their file).
enum class IdScope : std::uint8_t { format, file, all, session };

class NameSpaces {
  public:
    /// `trace` counts the namespaces, and outlives this.
    explicit NameSpaces(Trace& trace) : trace_(trace) {}

    /// What the user chose. Before the first file.
    void set_scope(IdScope scope) { scope_ = scope; }
    /// Rows that follow come from another file. `one_log`: the format's files share one namespace.
    void begin_file(bool one_log);
    /// Block ids that follow share nothing with those before.
    void begin();
    /// Block ids that follow share with those of the namespace of that name in this file.
    void enter(std::string_view name);

    /// The namespace of a row that is added now.
    std::uint32_t of(const TraceRow& row);

  private:
    Trace& trace_;
    IdScope scope_ = IdScope::format;
    std::optional<std::uint32_t> current_;
    NumbersByName named_;                                   ///< of this file
    std::vector<std::optional<std::uint32_t>> of_session_;  ///< [Trace::sessions], IdScope::session
};

}  // namespace driftless
