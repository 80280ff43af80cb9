/// PreflightPlan: what a preflight is told: whom to ask, in the form of which rows, and what is
/// known without asking. Values; filled by whoever starts the preflight, and never changed by it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/preflight/asker.hpp"
#include "engine/preflight/chat_template.hpp"
#include "engine/prompt/overhead.hpp"
#include "engine/prompt/vocab.hpp"
#include "proto/api/dialect.hpp"

namespace driftless {

struct PreflightPlan {
    AskedServer server;
    std::string api_path;  ///< request target of the rows
    const Dialect* dialect = nullptr;
    /// `model` may be empty: the first of /v1/models. `length_member` may be: where the dialect's
    /// own is not obeyed, the other one is tried.
    BodySpec body;
    const WordTable* words = nullptr;
    /// [words] the ids that the tokenizer of the table has for them behind a blank; empty: unknown.
    std::span<const std::uint32_t> word_ids;
    /// What the chat template beside the tokenizer may add; empty: not known.
    std::span<const TemplateSplit> template_splits;
    std::optional<Overhead> overhead;    ///< `--overhead`: goes before what is measured
    bool server_block_known = false;     ///< `--server-block`: it is not searched for
    bool sends_recorded_text = false;    ///< no prompt is made to a length
    std::optional<Duration> wait_ready;  ///< keep asking for the models this long
};

}  // namespace driftless
