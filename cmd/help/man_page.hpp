/// Man pages: driftless(1), and one for each command, driftless-replay(1). Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/help/help.hpp"

namespace driftless {

/// What stands in the head of every page.
struct PageFacts {
    std::string version;
    std::string date;  ///< of the version, "2026-11-25"
};

std::string man_page(const CommandPages& command, const PageFacts& facts);

/// `built_in`: commands that have no page of their own. `shipped`: files that the program prints.
std::string program_man_page(const std::vector<CommandPages>& commands,
                             const std::vector<CommandPages>& built_in,
                             std::span<const ShippedFile> shipped, const PageFacts& facts);

/// Roff: writes the macros of man pages (man(7)). Pure: text in, text out.
///
/// What it is given is plain text: nothing of it can become a macro or an escape. Every line of the
/// result has 80 bytes at most, as mandoc -Tlint asks.
class Roff {
  public:
    /// `date` as "2026-11-25".
    Roff(std::string_view page, std::string_view date, std::string_view version);

    void section(std::string_view title);
    void subsection(std::string_view title);
    /// Filled text; empty lines part paragraphs, and indented lines stay as they are.
    void text(std::string_view text);
    /// A term, and what it means. `term` is roff already: made of `bold`, `italic` and `plain`.
    void definition(std::string_view term, std::string_view meaning);
    void line(std::string_view roff);

    const std::string& page() const { return page_; }

    static std::string plain(std::string_view text);
    static std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
    static std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

  private:
    void filled(std::string_view text);
    void verbatim(std::string_view lines);

    std::string page_;
};

}  // namespace driftless
