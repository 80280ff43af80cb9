#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "proto/core/hash.hpp"
#include "proto/trace/agents.hpp"
#include "proto/trace/formats.hpp"
#include "proto/trace/segments.hpp"

namespace driftless {

/// In place of a message's place in its conversation: behind all others.
static constexpr std::uint64_t last_place = ~std::uint64_t{0};

// Fields of an event. They list what is wrong with a value and give nothing then.

/// `branch_path`; one that is missing is the root's.
static std::optional<BranchPath> read_path(const RowContext& context, const JsonValue& event) {
    const JsonValue path = given(event.find("branch_path"));
    if (const auto numbers = path.integers()) {
        return BranchPath(numbers->begin(), numbers->end());
    }
    if (path.present() && !(path.is(JsonType::array) && path.size() == 0)) {
        context.refuse("branch_path", path.raw(), "is not a list of branch numbers",
                       "use [] for the root, and the parent's path plus i for child i of a fork");
        return std::nullopt;
    }
    return BranchPath();
}

/// A whole number, or `otherwise` where it is missing.
static std::optional<std::uint64_t> read_number(const RowContext& context, const JsonValue& event,
                                                std::string_view name, std::uint64_t otherwise) {
    const JsonValue value = given(event.find(name));
    const auto number = value.present() ? value.as_u64() : std::optional(otherwise);
    if (!number) {
        context.refuse(name, value.raw(), "is not a whole number", "correct the event");
    }
    return number;
}

/// How long something took, in milliseconds.
static std::optional<std::int64_t> read_length(const RowContext& context, const JsonValue& event,
                                               std::string_view name) {
    return read_pause(context, field_in(event, name), TimeUnit::ms);
}

/// Of an event: what is read, and what is known and not read.
static constexpr std::string_view columns[] = {"event_type",
                                               "branch_path",
                                               "conversation_id",
                                               "role",
                                               "message_index",
                                               "tokens",
                                               "tokenize_count",
                                               "prompt_tokens",
                                               "completion_tokens",
                                               "reasoning_tokens",
                                               "system_prompt_id",
                                               "duration_ms",
                                               "num_branches",
                                               "children",
                                               "llm_duration_ms",
                                               "tool_calls",
                                               "finish_reason",
                                               "content",
                                               "reasoning",
                                               "reasoning_content",
                                               "tokens_source",
                                               "tokenize_error",
                                               "tool_calls_detail",
                                               "llm_request_params",
                                               "llm_request_messages",
                                               "llm_request_tools",
                                               "tool_call_id",
                                               "tool_name"};

static bool matches(const JsonValue& row) {
    const JsonValue events = row.find("events");
    return events.is(JsonType::array) && (events.first().find("event_type").present() ||
                                          (events.size() == 0 && row.find("trace_id").present()));
}

namespace {

struct Talk {
    SegmentedConversation messages;
    std::uint32_t session = no_session;
};

/// Reads one run.
class Run {
  public:
    Run(RowContext& context, const JsonValue& json) : context_(context), json_(json) {}

    void read();

  private:
    bool begin();
    std::uint64_t fingerprint() const;
    bool read_event(const JsonValue& event);
    bool read_fork(const JsonValue& event, const BranchPath& path);
    bool read_join(const JsonValue& event, const BranchPath& path);
    bool read_pause(const JsonValue& event, Frontier& branch);
    bool read_message(const JsonValue& event, Frontier& branch);
    bool read_request(const JsonValue& event, std::uint64_t place, Talk& talk, Frontier& branch);
    bool read_lengths_of(const JsonValue& event, Talk& talk, TraceRow& row);
    Talk& talk_of(std::uint64_t conversation);
    std::uint64_t identity_of(const JsonValue& event, bool system);
    bool store(const JsonValue& event, std::uint64_t place, bool system, Talk& talk);

    RowContext& context_;
    const JsonValue& json_;
    std::string name_;
    Branches branches_;
    std::map<std::uint64_t, Talk> talks_;
    std::uint64_t segments_ = 0;
};

}  // namespace

/// Of its requests' counts: what tells two runs of one name apart.
std::uint64_t Run::fingerprint() const {
    Digest digest;
    for (JsonValue event = json_.find("events").first(); event.present(); event = event.next()) {
        for (const std::string_view key : {"prompt_tokens", "completion_tokens"}) {
            const JsonValue count = event.find(key);
            digest.add(count.present() ? count.raw() : "-");
            digest.add(" ");
        }
    }
    return digest.value();
}

/// The run's name. False where nothing of it is to be read.
bool Run::begin() {
    if (!admit_untimed(context_, "has runs of agents, which have no arrival times",
                       "use --sessions closed to start each at time 0 with requests waiting for "
                       "answers, or --sessions open to send requests by the recorded pauses")) {
        return false;
    }
    const JsonValue id = json_.find("trace_id");
    name_ = id.as_string().value_or("");
    if (name_.empty()) {
        name_ = std::string(context_.file) + ":" + std::to_string(context_.line) + context_.place;
    }
    TraceDraft& draft = context_.draft;
    const std::string marked = name_ + "\n" + std::to_string(fingerprint());
    if (draft.find_request(marked) != no_row) {
        draft.remark("trace held twice, under one trace_id: read once",
                     "traces held twice, under one trace_id: read once");
        return false;
    }
    if (draft.find_request(name_) != no_row) {
        return context_.refuse("trace_id", id.raw(), "also names another run",
                               "give every run its own");
    }
    draft.name_request(name_);
    draft.name_request(marked);
    return true;
}

void Run::read() {
    const JsonValue events = json_.find("events");
    if (!check_objects(context_, events, "events") || !begin()) {
        return;
    }
    const std::string outer = context_.place;
    std::size_t number = 0;
    bool fine = true;
    for (JsonValue event = events.first(); fine && event.present(); event = event.next()) {
        context_.place = outer + "events[" + std::to_string(number++) + "]";
        fine = read_event(event);
    }
    context_.place = outer;
}

/// Older traces list the events of the branches, one each, in the fork itself.
bool Run::read_fork(const JsonValue& event, const BranchPath& path) {
    const auto count = read_number(context_, event, "num_branches", 0);
    const JsonValue children = given(event.find("children"));
    if (!count || !check_objects(context_, children, "children")) {
        return false;
    }
    if (!branches_.fork(path, children.present() ? 0 : *count)) {
        return context_.refuse("branch_path", event.find("branch_path").raw(),
                               "names a branch that is already forked",
                               "put a parallel_end before the next fork");
    }
    std::uint64_t number = 0;
    const bool fine = read_each(context_, children, "children", [&](const JsonValue& child) {
        BranchPath below = path;
        below.push_back(number++);
        Frontier* const branch = branches_.find(below);
        return child.find("event_type").as_string() == "tool_call" ? read_pause(child, *branch)
                                                                   : read_message(child, *branch);
    });
    return fine && (!children.present() || branches_.join(path));
}

bool Run::read_join(const JsonValue& event, const BranchPath& path) {
    if (branches_.join(path)) {
        return true;
    }
    return context_.refuse("branch_path", event.find("branch_path").raw(),
                           "names a branch without an open fork", "put a parallel_start before it");
}

/// A tool has run.
bool Run::read_pause(const JsonValue& event, Frontier& branch) {
    const auto length_ns = read_length(context_, event, "duration_ms");
    branch.pause(length_ns.value_or(0));
    context_.draft.remark("tool call without duration_ms, taken as 0",
                          "tool calls without duration_ms, taken as 0",
                          given(event.find("duration_ms")).present() ? 0 : 1);
    return length_ns.has_value();
}

/// False after an error behind which the rest of the run means nothing.
bool Run::read_event(const JsonValue& event) {
    const JsonValue type = event.find("event_type");
    const std::string_view name = type.as_string().value_or("");
    if (name.empty()) {
        return context_.refuse("event_type", event.find("event_type").raw(),
                               type.present() ? "is not the name of an event" : "is missing",
                               "correct the event");
    }
    const auto path = read_path(context_, event);
    if (!path) {
        return false;
    }
    if (name == "parallel_start" && branches_.find(*path) != nullptr) {
        return read_fork(event, *path);
    }
    if (name == "parallel_end") {
        return read_join(event, *path);
    }
    Frontier* const branch = branches_.find(*path);
    if (branch == nullptr) {
        return context_.refuse(
            "branch_path", event.find("branch_path").raw(),
            "names a branch that no fork has opened",
            "put a parallel_start of its parent before it, with enough num_branches");
    }
    if (name == "message") {
        return read_message(event, *branch);
    }
    if (name == "tool_call") {
        return read_pause(event, *branch);
    }
    const bool drop = name == "drop_kv_cache";
    context_.draft.remark(
        drop ? "drop of the KV cache, which is not sent" : "event of another kind",
        drop ? "drops of the KV cache, which are not sent" : "events of other kinds");
    return true;
}

/// The first conversation of a run has its name; the others are beside it.
Talk& Run::talk_of(std::uint64_t conversation) {
    const auto [at, made] = talks_.try_emplace(conversation);
    if (made) {
        const bool first = talks_.size() == 1;
        const std::string name = first ? name_ : name_ + "/" + std::to_string(conversation);
        at->second.session = context_.draft.sessions().find(name);
    }
    return at->second;
}

/// Where tokens of a message come from: a system prompt that has a name is the same everywhere.
std::uint64_t Run::identity_of(const JsonValue& event, bool system) {
    const std::string_view shared = event.find("system_prompt_id").as_string().value_or("");
    Digest digest;
    if (system && !shared.empty()) {
        digest.add("system_prompt_id ");
        digest.add(shared);
    } else {
        digest.add(name_);
        digest.add_u64(segments_++);
    }
    return digest.value();
}

/// A message that is a part of prompts.
bool Run::store(const JsonValue& event, std::uint64_t place, bool system, Talk& talk) {
    const JsonValue newer = given(event.find("tokens"));
    const Field tokens =
        newer.present() ? field_of(newer, "tokens") : field_in(event, "tokenize_count");
    const auto count = tokens.present ? read_tokens(context_, tokens, 0) : std::optional(0U);
    if (!count) {
        return false;
    }
    if (system) {
        talk.messages.begin_with_system();
    }
    talk.messages.store(place, {{identity_of(event, system), *count}, tokens.present});
    return true;
}

bool Run::read_message(const JsonValue& event, Frontier& branch) {
    const std::string_view role = event.find("role").as_string().value_or("");
    const bool answer = role == "assistant";
    const bool system = role == "system";
    if (!answer && !system && role != "user" && role != "tool") {
        return context_.refuse("role", event.find("role").raw(),
                               "is not system, user, assistant or tool",
                               "give every message one of these roles");
    }
    if (!given(event.find("conversation_id")).present()) {
        context_.draft.remark("message without a conversation skipped",
                              "messages without conversations skipped");
        return true;
    }
    const auto conversation = read_number(context_, event, "conversation_id", 0);
    const auto place = read_number(context_, event, "message_index", last_place);
    if (!conversation || !place) {
        return false;
    }
    Talk& talk = talk_of(*conversation);
    const bool request = given(event.find("prompt_tokens")).present() ||
                         given(event.find("completion_tokens")).present();
    return answer && request ? read_request(event, *place, talk, branch)
                             : store(event, *place, system, talk);
}

/// What the server counted, or, where it did not, what the messages add up to.
bool Run::read_lengths_of(const JsonValue& event, Talk& talk, TraceRow& row) {
    Field prompt = field_in(event, "prompt_tokens");
    const std::string sum = std::to_string(talk.messages.tokens());
    if ((!prompt.present || prompt.raw == "0") && sum != "0") {
        prompt = {"prompt_tokens", sum, sum, {}, true};
        context_.draft.remark("prompt without a count: as long as its messages",
                              "prompts without a count: as long as their messages");
    }
    return read_lengths(context_, prompt, field_in(event, "completion_tokens"), row);
}

/// An assistant's message: what it was asked, and what stays of its answer.
bool Run::read_request(const JsonValue& event, std::uint64_t place, Talk& talk, Frontier& branch) {
    TraceDraft& draft = context_.draft;
    TraceRow row;
    const auto reasoning = read_number(context_, event, "reasoning_tokens", 0);
    const auto answer_ns = read_length(context_, event, "llm_duration_ms");
    if (!reasoning || !answer_ns || !read_lengths_of(event, talk, row)) {
        return false;
    }
    const std::uint32_t block_size = context_.rules.block_size;
    draft.ids().begin();
    if (draft.trace().ids.size() + blocks_of(row.input_length, block_size) > segment_blocks_max) {
        context_.stop = Stop::trace;
        return context_.refuse("", "", "makes more than 2^30 blocks with the prompts before it",
                               "choose larger blocks with --block-size");
    }
    if (talk.messages.tokens() == 0) {
        talk.messages.store(last_place, {{identity_of(event, false), 0}, false});
    }
    talk.messages.settle(row.input_length);
    talk.messages.add_ids(block_size, draft.ids());
    row.session = talk.session;
    row.turn = ++draft.sessions().tail(row.session).turns;
    branch.pass(draft, row, *answer_ns);
    context_.emit(row, event);
    const std::uint64_t answered =
        event.find("completion_tokens").as_u64().value_or(row.output_length);
    const auto kept = static_cast<std::uint32_t>(answered - std::min(*reasoning, answered));
    talk.messages.store(place, {{identity_of(event, false), kept}, true});
    return true;
}

static void read_row(RowContext& context, const JsonValue& json) {
    Run(context, json).read();
}

constinit const TraceFormat tensorrt_format = {
    .name = "tensorrt-llm",
    .alias = "trtllm",
    .time_unit = TimeUnit::ms,
    .unit_in = "duration_ms",
    .block_size = 16,
    .shared_ids = true,
    .ordered = false,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless
