#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "cmd/base/values.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/runs/comparison.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

std::string hex(std::uint64_t digest) {
    return fmt::format("{:016x}", digest);
}

std::string or_none(const std::string& text) {
    return text.empty() ? "none" : text;
}

std::string time_or(const OptionalNs& ns, const char* nothing) {
    return ns ? duration_to_text(*ns) : nothing;
}

std::string trace_of(const PlayedRun& run) {
    return run.facts.info.trace + " (" + hex(run.facts.trace_digest) + ")";
}

std::string window_of(const PlayedRun& run) {
    const RunDescription& how = run.facts.info.run;
    return fmt::format("{} to {}, due within {}, limit {}: {}", time_or(how.start_ns, "start"),
                       time_or(how.end_ns, "end"), time_or(how.duration_ns, "any time"),
                       how.limit ? std::to_string(*how.limit) : "none",
                       counted(run.facts.rows, "row", "rows"));
}

std::string load_of(const PlayedRun& run) {
    const RunDescription& how = run.facts.info.run;
    std::string text = "sessions " + how.sessions;
    if (how.users > 0) {
        text += fmt::format(", {} users for {}", how.users, time_or(how.for_ns, "the whole trace"));
    }
    if (!how.rate.empty()) {
        text += fmt::format(", rate {} of {}, {}", how.rate, or_none(how.arriving),
                            or_none(how.arrivals));
    }
    return text + (how.spread ? ", spread" : "");
}

std::string prompt_kind_of(const PlayedRun& run) {
    return run.facts.prompt + (run.facts.is_live ? ", with live answers" : "");
}

std::string words_of(const PlayedRun& run) {
    const RunFacts& facts = run.facts;
    return fmt::format("{}, dataset {}, template {}", hex(facts.words_digest),
                       facts.dataset_digest ? hex(*facts.dataset_digest) : "none",
                       facts.template_digest ? hex(*facts.template_digest) : "none");
}

/// Its prompts have no salt, and are not shortened by what stands around them.
bool is_recorded_text(const PlayedRun& run) {
    return !run.facts.rules.expected_cached_tokens;
}

std::string overhead_of(const PlayedRun& run) {
    if (is_recorded_text(run)) {
        return "none to make room for";
    }
    const Overhead& overhead = run.facts.overhead;
    return fmt::format("{}+{} tokens", overhead.pre, overhead.post);
}

/// Of all runs of a group, each once: repeats may have salts of their own, so that none finds the
/// prompts of another in the cache, where A and B have the same ones.
std::string salts_of(const std::vector<PlayedRun>& runs) {
    std::set<std::string> salts;
    for (const PlayedRun& run : runs) {
        salts.insert(is_recorded_text(run) ? "none" : run.facts.cache_salt.value_or("none"));
    }
    std::string text;
    for (const std::string& salt : salts) {
        text += (text.empty() ? "" : ", ") + salt;
    }
    return text;
}

/// Something that run.json says, by which two runs can differ. `explains`: instants or prompts
/// differ because of it.
struct WorkPart {
    const char* what;
    Weight weight;
    std::string (*value)(const PlayedRun& run);
    const char* remedy;
    bool explains_dues = false;
    bool explains_prompts = false;
    std::string (*shown)(const PlayedRun& run) = nullptr;  ///< instead of `value`
};

constexpr const char* repeat = "run B with driftless replay --from A, which repeats A's work";
constexpr std::array work_parts{
    WorkPart{
        "trace", Weight::no_pairs, [](const PlayedRun& run) { return hex(run.facts.trace_digest); },
        "give both the same TRACE; rows of different traces cannot be paired, even with --anyway",
        true, true, trace_of},
    WorkPart{"load", Weight::refused, load_of, repeat, true, true},
    WorkPart{"speed", Weight::refused,
             [](const PlayedRun& run) { return run.facts.info.run.speed; }, repeat, true, false},
    WorkPart{"window", Weight::refused, window_of, repeat, true, true},
    WorkPart{"seed", Weight::refused,
             [](const PlayedRun& run) { return std::to_string(run.facts.seed); }, repeat, true,
             true},
    WorkPart{"prompts", Weight::refused, prompt_kind_of, repeat, false, true},
    WorkPart{"words", Weight::refused, words_of,
             "give both the same --tokenizer, --dataset and --template", false, true},
    WorkPart{"tokens around prompts", Weight::refused, overhead_of,
             "the servers' templates differ, and prompts were shortened to fit; give both the same "
             "--overhead",
             false, true},
    WorkPart{"output mode", Weight::refused,
             [](const PlayedRun& run) { return or_none(run.facts.info.run.output); }, repeat},
    WorkPart{"api", Weight::told, [](const PlayedRun& run) { return run.facts.info.backend; }, ""},
    WorkPart{"model", Weight::told, [](const PlayedRun& run) { return run.facts.info.model_id; },
             ""},
};

/// What all shards of one replay have alike, beside their work.
constexpr std::array shard_parts{
    WorkPart{"cache salt", Weight::refused,
             [](const PlayedRun& run) { return run.facts.cache_salt.value_or("none"); }, ""},
    WorkPart{"due instants", Weight::refused,
             [](const PlayedRun& run) { return hex(run.facts.schedule_digest); }, ""},
    WorkPart{"number of shards", Weight::refused,
             [](const PlayedRun& run) {
                 return run.facts.shard ? std::to_string(run.facts.shard->count) : "none";
             },
             ""},
};

class Differences {
  public:
    explicit Differences(std::vector<const PlayedRun*> runs) : runs_(std::move(runs)) {}

    void add_part(const WorkPart& part) {
        const std::string first = part.value(*runs_.front());
        for (const PlayedRun* run : runs_) {
            const std::string value = part.value(*run);
            if (value != first) {
                const auto shown = part.shown != nullptr ? part.shown : part.value;
                found_.push_back({part.weight, part.what, shown(*runs_.front()), shown(*run),
                                  run->name(), part.remedy});
                dues_explained_ = dues_explained_ || part.explains_dues;
                prompts_explained_ = prompts_explained_ || part.explains_prompts;
                return;
            }
        }
    }
    void add_salts(const std::vector<PlayedRun>& a, const std::vector<PlayedRun>& b) {
        const std::string of_a = salts_of(a);
        const std::string of_b = salts_of(b);
        if (of_a != of_b) {
            found_.push_back(
                {Weight::refused, "cache salt", of_a, of_b, b.front().name(),
                 "lengths and sharing are equal, only the words differ; give both the same "
                 "--cache-salt, or use --anyway if both runs used one warm server"});
        }
        // Then their digests differ, and must.
        prompts_explained_ = prompts_explained_ || of_a != of_b || of_a.find(", ") != of_a.npos;
    }
    /// What digests tell, where nothing that is known explains it.
    void add_digests() {
        if (!dues_explained_) {
            add_part({"due instants", Weight::refused,
                      [](const PlayedRun& run) { return hex(run.facts.schedule_digest); }, repeat});
        }
        const bool all_known = std::all_of(runs_.begin(), runs_.end(), [](const PlayedRun* run) {
            return run->facts.prompts_digest.has_value() && !run->facts.is_live;
        });
        if (!prompts_explained_ && all_known) {
            add_part({"prompt digests", Weight::refused,
                      [](const PlayedRun& run) { return hex(*run.facts.prompts_digest); }, repeat});
        }
    }
    void add_unplayed() {
        for (const PlayedRun* run : runs_) {
            const std::string name = run->name();
            const std::string anew = "driftless replay --from " + run->folder + " runs it again";
            const std::string resume =
                run->facts.is_live || run->facts.has_users
                    ? anew
                    : "driftless replay --resume " + run->folder + " continues it";
            if (const auto& merged = run->facts.info.merged; merged && merged->not_reported() > 0) {
                add_state(name,
                          fmt::format("{} of {} not reported by its shards", merged->not_reported(),
                                      counted(run->facts.rows, "row", "rows")),
                          "resume the shards that were killed, and merge all of them again");
            } else if (run->goes_on) {
                add_state(name, "is still running", "wait for its end");
            } else if (run->counts.unplayed > 0) {
                add_state(name,
                          fmt::format("{} of {} not completed", run->counts.unplayed,
                                      counted(run->facts.rows, "row", "rows")),
                          resume);
            } else if (run->facts.has_users && run->killed) {
                add_state(name, "was killed while its users were active", resume);
            } else if (run->counts.interrupted > 0) {
                add_state(
                    name,
                    fmt::format("{} of {} lost when it was killed, before it was resumed",
                                run->counts.interrupted, counted(run->facts.rows, "row", "rows")),
                    anew);
            }
        }
    }
    /// As `compared` finds them.
    void add_settings(decltype(&differing_settings) compared, Weight weight) {
        for (const PlayedRun* run : runs_) {
            const auto [first, value] =
                compared(runs_.front()->facts.arguments, run->facts.arguments);
            if (first != value) {
                found_.push_back(
                    {weight, "settings", or_none(first), or_none(value), run->name(), ""});
                return;
            }
        }
    }
    std::vector<WorkDifference> take() {
        std::stable_sort(found_.begin(), found_.end(),
                         [](const auto& x, const auto& y) { return x.weight > y.weight; });
        return std::move(found_);
    }

  private:
    void add_state(const std::string& name, const std::string& what, const std::string& remedy) {
        found_.push_back(
            {Weight::refused, "completeness", "", what, name,
             remedy + ", or use --anyway to compare the requests that all runs share"});
    }

    std::vector<const PlayedRun*> runs_;
    std::vector<WorkDifference> found_;
    bool dues_explained_ = false;
    bool prompts_explained_ = false;
};

}  // namespace

std::string text_of(const WorkDifference& difference) {
    const auto& [weight, what, a, b, run, remedy] = difference;
    return a.empty() ? fmt::format("{}: {}: {}", what, run, b)
                     : fmt::format("{}: A {}, {} {}", what, a, run, b);
}

const char* name_of(Weight weight) {
    switch (weight) {
        case Weight::told:
            return "told";
        case Weight::refused:
            return "refused";
        case Weight::no_pairs:
            return "never";
    }
    return "";
}

std::vector<WorkDifference> work_differences(const std::vector<PlayedRun>& a,
                                             const std::vector<PlayedRun>& b) {
    Differences differences(all_runs(a, b));
    for (const WorkPart& part : work_parts) {
        differences.add_part(part);
    }
    differences.add_salts(a, b);
    differences.add_digests();
    differences.add_unplayed();
    differences.add_settings(differing_settings, Weight::told);
    return differences.take();
}

std::vector<WorkDifference> shard_differences(const std::vector<PlayedRun>& shards) {
    Differences differences(all_runs(shards, {}));
    for (const WorkPart& part : work_parts) {
        differences.add_part(part);
    }
    for (const WorkPart& part : shard_parts) {
        differences.add_part(part);
    }
    differences.add_settings(differing_sending, Weight::refused);
    return differences.take();
}

Weight heaviest(const std::vector<WorkDifference>& differences) {
    return differences.empty() ? Weight::told : differences.front().weight;
}

}  // namespace driftless
