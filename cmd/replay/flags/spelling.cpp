#include "cmd/replay/flags/spelling.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "cmd/replay/flags/foreign.hpp"
#include "cmd/replay/flags/made_rows.hpp"
#include "cmd/replay/flags/program_words.hpp"
#include "cmd/replay/flags/synthetic.hpp"
#include "cmd/replay/flags/tools/tool_flags.hpp"
#include "cmd/secrets.hpp"

namespace driftless {

namespace {

/// A flag that names the trace, a data set or an earlier run.
bool names_data(std::string_view typed) {
    return is_one_of(trace_flags, typed) ||
           is_one_of(
               "--dataset-name|--data|--public-dataset|--hf-weka-dataset|--resume|--from|"
               "--config|-f|--search-recipe",
               typed);
}

bool is_goodput_part(std::string_view argument) {
    return argument.starts_with("ttft:") || argument.starts_with("tpot:") ||
           argument.starts_with("e2e:") || argument.starts_with("e2el:");
}

/// One pass over the arguments.
class Speller {
  public:
    explicit Speller(const std::vector<std::string>& arguments)
        : Speller(arguments, find_program_words(arguments)) {}

    Speller(const std::vector<std::string>& arguments, ProgramWords program)
        : arguments_(arguments),
          at_(program.count),
          program_(program.tool),
          tool_(program.tool),
          synthetic_(program.tool),
          foreign_(arguments, program.tool) {
        if (at_ > 0) {
            const std::vector<std::string> masked = mask_command(arguments);
            std::string words = masked[0];
            for (std::size_t i = 1; i < at_; ++i) {
                words += " " + masked[i];
            }
            out_.notes.push_back("\"" + words + "\" is ignored: driftless takes the tool's place");
            out_.refused = *program.instead == '\0' ? "" : "\"" + words + "\": " + program.instead;
        }
    }

    Spelled spell() {
        while (at_ < arguments_.size() && out_.refused.empty()) {
            const std::string_view argument = arguments_[at_++];
            if (argument == "--" && program_ == ForeignTool::aiperf) {
                out_.refused = "--: what follows it is for GenAI-Perf's Perf Analyzer; remove both";
            }
            if (argument == "--") {
                --at_;
                break;
            }
            const bool is_flag = argument.size() > 1 && argument.front() == '-';
            is_flag ? flag(argument) : word(argument);
        }
        if (program_ != ForeignTool::none) {
            synthetic_.prepare(names_data_, out_);
        }
        tool_.finish(out_);
        foreign_.finish(out_);
        synthetic_.finish(out_);
        go_round();
        for (; at_ < arguments_.size(); ++at_) {
            out_.arguments.push_back(arguments_[at_]);
        }
        return std::move(out_);
    }

  private:
    /// Rows that the line asks for beyond those of its file are further passes of the file.
    void go_round() {
        const bool closed = has_argument(out_, "--users") || has_argument(out_, "--concurrency");
        const bool open = has_argument(out_, "--rate") || has_argument(out_, "--ramp");
        if (!out_.goes_round || out_.makes_rows || (!closed && !open) || !out_.refused.empty() ||
            has_argument(out_, "--recycle") || has_argument(out_, "--replicate")) {
            return;
        }
        const bool timed = closed && has_argument(out_, "--for");
        const std::string limit = argument_of(out_, "--limit");
        if (timed && limit.empty()) {
            out_.arguments.emplace_back("--recycle");
            add_note(out_,
                     "the trace is repeated until --for ends the run (--recycle), as the "
                     "tool does; each pass has its own words");
            return;
        }
        const std::string rows = closed ? limit : made_rows(out_, "");
        if (!rows.empty()) {
            add_flag(out_, "--replicate", "rows:" + rows);
            add_note(out_, "a trace of fewer than " + rows +
                               " rows is repeated (--replicate rows:" + rows +
                               "), as the tool does; each pass has its own words");
        }
    }

    void word(std::string_view argument) {
        if (in_goodput_ && is_goodput_part(argument)) {
            out_.arguments.back() += " " + std::string(argument);
            return;
        }
        names_data_ = names_data_ || !takes_value_;
        takes_value_ = false;
        // The value of `--goodput` begins what may be gathered.
        in_goodput_ = !out_.arguments.empty() && out_.arguments.back() == "--goodput";
        out_.arguments.emplace_back(argument);
    }

    void flag(std::string_view argument) {
        const std::size_t equals = argument.find('=');
        const std::string_view typed = argument.substr(0, equals);
        in_goodput_ = false;
        takes_value_ = false;
        names_data_ = names_data_ || names_data(typed);
        const bool has_value = equals != argument.npos;
        const std::string value = has_value ? std::string(argument.substr(equals + 1)) : "";
        const std::span<const std::string> following = std::span(arguments_).subspan(at_);
        const std::string* own_value = has_value ? &value : nullptr;
        if (const auto of_data = synthetic_.take(typed, own_value, following)) {
            at_ += *of_data;
            return;
        }
        const auto of_tool = tool_.take(typed, own_value, following, out_);
        if (of_tool) {
            at_ += *of_tool;
            return;
        }
        const std::string* behind = at_ < arguments_.size() ? &arguments_[at_] : nullptr;
        const auto taken = foreign_.take(typed, has_value ? &value : behind, out_);
        if (taken) {
            at_ += has_value ? 0 : std::min(*taken, arguments_.size() - at_);
            return;
        }
        out_.arguments.emplace_back(typed);
        takes_value_ = !has_value;
        if (has_value) {
            out_.arguments.push_back(value);
            in_goodput_ = typed == "--goodput";
        }
    }

    const std::vector<std::string>& arguments_;
    std::size_t at_ = 0;
    ForeignTool program_ = ForeignTool::none;
    ToolFlags tool_;
    SyntheticFlags synthetic_;
    Foreign foreign_;
    Spelled out_;
    bool in_goodput_ = false;
    bool takes_value_ = false;  ///< the last flag was ours: its value may follow
    bool names_data_ = false;   ///< a trace, or a data set by name
};

}  // namespace

Spelled spell(const std::vector<std::string>& arguments) {
    return Speller(arguments).spell();
}

}  // namespace driftless
