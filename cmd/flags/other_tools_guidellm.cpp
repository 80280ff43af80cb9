/// The flags of `guidellm benchmark`: 0.8.1 (cli/run.py, where most are KIND=..,KEY=..) and 0.5
/// (src/guidellm/__main__.py, one flag for each), but for those of profiles, rates and data.

#include <string>
#include <string_view>

#include "cmd/flags/other_tools.hpp"

namespace driftless {

namespace {

constexpr const char* by_the_engine = "the engine thread builds prompts ahead of time";
constexpr const char* every_row =
    "the figures cover every row; use the instants in the records to leave some out";
constexpr const char* as_flags =
    "use flags for its members: --api-key, --header, --extra-body, --timeout-total";
constexpr const char* one_run =
    "one run has one load; start one run per load, or use driftless sweep";

constexpr ToolFlag guidellm_flags[] = {
    {"--config|--scenario|-c", Values::one, Becomes::refused,
     "scenario files are not read; give their flags instead"},
    {"--label|-l", Values::one, Becomes::flag, "--label"},
    {"--override", Values::many, Becomes::refused, one_run},
    {"--per-constraints", Values::one, Becomes::refused, one_run},
    {"--disable-console|--disable-console-outputs", Values::none, Becomes::flag, "--quiet"},
    {"--disable-console-interactive|--disable-progress", Values::none, Becomes::flag,
     "--no-progress"},
    {"--backend-type", Values::one, Becomes::refused, "use --url and --api", "openai_http|openai"},
    {"--backend-kwargs|--backend-args", Values::one, Becomes::refused, as_flags, "{}"},
    {"--request-formatter-kwargs", Values::one, Becomes::refused, as_flags, "{}"},
    {"--tokenizer", Values::one, Becomes::together},
    {"--processor-args", Values::one, Becomes::nothing,
     "words of one token each need no tokenizer"},
    {"--data-samples", Values::one, Becomes::together},
    {"--data-column-mapper", Values::one, Becomes::refused,
     "name columns with --map time=COLUMN,in=COLUMN,out=COLUMN",
     "kind=generative_column_mapper|{}"},
    {"--data-preprocessor", Values::one, Becomes::refused,
     "prompts are sent as recorded, or generated; remove it", "kind=encode_media"},
    {"--data-finalizer", Values::one, Becomes::refused, "use --api", "kind=generative"},
    {"--data-sampler", Values::one, Becomes::refused,
     "rows keep their order, and synthetic rows are random anyway; remove it"},
    {"--data-loader|--dataloader-kwargs", Values::one, Becomes::together},
    {"--data-num-workers", Values::one, Becomes::nothing, by_the_engine},
    {"--seed", Values::one, Becomes::together},
    {"--output|--output-path|--output-extras|--output-formats", Values::one, Becomes::nothing,
     in_the_folder},
    {"--metrics", Values::one, Becomes::nothing,
     "all figures are always computed; use --goodput \"ttft:MS tpot:MS\" for limits"},
    {"--warmup|--warmup-percent|--cooldown|--cooldown-percent", Values::one, Becomes::nothing,
     every_row},
    {"--sample-requests|--output-sampling", Values::one, Becomes::nothing,
     "every row has a record; --save-responses N keeps answers"},
    {"--display-scheduler-stats", Values::none, Becomes::nothing, in_the_folder},
    {"--max-errors", Values::one, Becomes::together},
    {"--max-error-rate|--max-global-error-rate", Values::one, Becomes::together},
    {"--over-saturation", Values::one, Becomes::refused, no_saturation},
    {"--detect-saturation|--default-over-saturation", Values::none, Becomes::refused,
     no_saturation},
};

/// "kind=static,value=42", JSON, or the seed alone.
std::string seed_of(const std::string& text) {
    const std::string value = config_value(text, "value");
    return value.empty() && text.find('=') == text.npos ? text : value;
}

/// "kind=pytorch,samples=1000": rows are the first so many.
void finish_loader(const KeptFlags& kept, Spelled& out) {
    const std::string loader = kept.get("--data-loader");
    const std::string samples = config_value(loader, "samples");
    if (config_value(loader, "shuffle") == "true") {
        refuse_line(out, "--data-loader \"" + loader +
                             "\": rows keep the order of the file; remove shuffle");
    } else if (!samples.empty() && samples != "-1") {
        add_default(out, "--limit", samples);
    } else if (!loader.empty()) {
        add_note(out, "--data-loader " + loader + " is ignored: " + by_the_engine);
    }
}

void finish_guidellm(const KeptFlags& kept, Spelled& out) {
    if (const std::string api = argument_of(out, "--api");
        api == "openai_http" || api == "openai") {
        set_argument(out, "--api", "openai-chat");
    }
    finish_loader(kept, out);
    if (const std::string seed = seed_of(kept.get("--seed")); !seed.empty()) {
        add_flag(out, "--seed", seed);
    }
    if (const std::string samples = kept.get("--data-samples"); samples == "-1") {
        add_note(out, "--data-samples -1 is ignored: all samples are the default");
    } else if (!samples.empty()) {
        add_flag(out, "--limit", samples);
    }
    if (kept.get("--tokenizer").starts_with("kind=")) {
        add_note(out, "--tokenizer " + kept.get("--tokenizer") +
                          " is ignored: words of one token each need none; --tokenizer FILE takes "
                          "the model's own");
    } else {
        finish_tokenizer(kept, out);
    }
    if (kept.has("--max-errors")) {
        add_flag(out, "--stop-when", "failed >= " + kept.get("--max-errors"));
    }
    if (kept.has("--max-error-rate")) {
        add_flag(out, "--stop-when", "errors >= " + kept.get("--max-error-rate"));
    }
}

}  // namespace

const ToolTable& guidellm_table() {
    static constexpr ToolTable table{guidellm_flags, finish_guidellm};
    return table;
}

}  // namespace driftless
