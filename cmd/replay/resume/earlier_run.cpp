#include "cmd/replay/resume/earlier_run.hpp"

#include <utility>

#include "cmd/exit_codes.hpp"

namespace driftless {

OrExit<std::optional<EarlierRun>> open_earlier(const AgainFlags& again,
                                               const std::optional<RunFacts>& facts) {
    if (!facts) {
        return std::optional<EarlierRun>();
    }
    EarlierRun earlier{*facts, {}};
    if (!again.resume.empty()) {
        OrExit<Resumption> opened = Resumption::open(again.resume, *facts);
        if (!opened) {
            return opened.exit_code();
        }
        earlier.resumption.emplace(std::move(opened).value());
    }
    return std::optional<EarlierRun>(std::move(earlier));
}

OrExit<PromptSums> compare(const std::optional<EarlierRun>& earlier, ReplayParts& parts) {
    if (earlier && earlier->resumption) {
        return earlier->resumption->check(parts);
    }
    const int code = earlier ? check_prompts(earlier->facts, parts, "--from") : exit_done;
    if (code != exit_done) {
        return code;
    }
    return PromptSums();
}

}  // namespace driftless
