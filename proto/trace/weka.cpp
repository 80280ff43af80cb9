#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/trace/agents.hpp"
#include "proto/trace/draft.hpp"
#include "proto/trace/formats.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

// AgentWaits: which requests wait for which in a recorded conversation of several agents.
//
// A request waits for its agent's request before; an agent's first one for the last one that its
// parent had sent by then. A parent's request also waits for the agents that had ended when it
// began and that nothing waited for yet: they join it, without a gap of their own. Pure but for
// the draft, which takes the dependencies.

/// The requests of a conversation, or of one of its sub-agents, in the order of their recording.
struct AgentThread {
    std::uint32_t session = no_session;
    std::vector<ThreadRequest> requests;
    AgentChains chains;
    std::uint32_t system_tokens = 0;  ///< system prompt and tools, as declared
    // Of a sub-agent:
    std::string name;               ///< behind that of its conversation: "/agent_001/agent_002"
    std::size_t spawned_after = 0;  ///< so many requests of its parent
    bool joins = false;             ///< its parent waits for its end

    std::vector<AgentThread> sub_agents;  ///< those that it has spawned, by `spawned_after`
};

static constexpr std::uint32_t main_chain = 0;

namespace {

/// The last request of an agent that has been spawned, and when all of the agent had ended.
struct Running {
    std::int64_t end_ns = 0;
    std::uint32_t row = 0;
};

}  // namespace

static bool ends_later(const Running& a, const Running& b) {
    return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.row > b.row;
}

namespace {

/// One chain of a thread as a whole.
struct ChainSpan {
    const ThreadRequest* last = nullptr;
    std::int64_t end_ns = 0;
};

/// One thread of requests. Used once.
class Thread {
  public:
    Thread(const AgentThread& thread, TraceDraft& draft)
        : thread_(thread), draft_(draft), chains_(thread.chains.count) {
        for (std::size_t i = 0; i < thread.requests.size(); ++i) {
            ChainSpan& chain = chains_[thread.chains.of_request[i]];
            chain.last = &thread.requests[i];
            chain.end_ns = std::max(chain.end_ns, thread.requests[i].end_ns);
        }
    }

    /// All that its requests wait for. `spawner`: of its first one, or null.
    void add(const ThreadRequest* spawner);
    /// What the request that joins it waits for: the ends of chains that its own requests have not
    /// joined.
    std::vector<Running> open_ends() const;

  private:
    void wait_for(const ThreadRequest& request, const ThreadRequest& before);
    void join(const ThreadRequest& request);
    void spawn(const AgentThread& agent, const ThreadRequest* spawner);

    const AgentThread& thread_;
    TraceDraft& draft_;
    std::vector<ChainSpan> chains_;
    std::priority_queue<Running, std::vector<Running>, decltype(&ends_later)> running_{&ends_later};
};

}  // namespace

/// A request that began before the one before had ended did not wait for its answer.
void Thread::wait_for(const ThreadRequest& request, const ThreadRequest& before) {
    const bool ended = has_ended(before, request.at_ns);
    draft_.depend(
        {request.row, before.row, ended ? Trigger::completion : Trigger::dispatch,
         std::max(request.at_ns - (ended ? before.answered_ns : before.at_ns), std::int64_t{0})});
}

void Thread::join(const ThreadRequest& request) {
    for (; !running_.empty() && running_.top().end_ns <= request.at_ns; running_.pop()) {
        const std::uint32_t last = running_.top().row;
        if (last < request.row) {  // else the file is not in the order of its times
            draft_.depend({request.row, last, Trigger::completion, 0});
        }
    }
}

void Thread::spawn(const AgentThread& agent, const ThreadRequest* spawner) {
    Thread inner(agent, draft_);
    inner.add(spawner);
    if (agent.joins) {
        for (const Running& end : inner.open_ends()) {
            running_.push(end);
        }
    }
}

void Thread::add(const ThreadRequest* spawner) {
    const std::vector<AgentThread>& sub_agents = thread_.sub_agents;
    std::vector<const ThreadRequest*> last(chains_.size(), nullptr);
    std::size_t next_agent = 0;
    for (std::size_t i = 0; i <= thread_.requests.size(); ++i) {
        const ThreadRequest* const sent = last.empty() ? nullptr : last[main_chain];
        const ThreadRequest* const parent = sent != nullptr ? sent : spawner;
        for (; next_agent < sub_agents.size() && sub_agents[next_agent].spawned_after <= i;
             ++next_agent) {
            spawn(sub_agents[next_agent], parent);
        }
        if (i == thread_.requests.size()) {
            break;
        }
        const ThreadRequest& request = thread_.requests[i];
        const std::uint32_t chain = thread_.chains.of_request[i];
        const bool begins = last[chain] == nullptr;
        const ThreadRequest* const before = begins ? parent : last[chain];
        if (before != nullptr) {
            wait_for(request, *before);
        }
        if (chain == main_chain) {
            join(request);
        } else if (begins) {
            running_.push({chains_[chain].end_ns, chains_[chain].last->row});
        }
        last[chain] = &request;
    }
}

std::vector<Running> Thread::open_ends() const {
    std::vector<Running> ends;
    std::int64_t end_ns = 0;
    if (!chains_.empty()) {
        end_ns = chains_[main_chain].end_ns;
        ends.push_back({0, chains_[main_chain].last->row});
    }
    for (auto open = running_; !open.empty(); open.pop()) {
        ends.push_back(open.top());
        end_ns = std::max(end_ns, open.top().end_ns);
    }
    for (Running& end : ends) {
        end.end_ns = end_ns;  // an agent is joined as a whole
    }
    return ends;
}

namespace {

/// How long recorded answers took for their tokens, where that is known. Other answers are assumed
/// to have had the same pace.
class RecordedPace {
  public:
    /// An answer of so many tokens, at least one, took so long.
    void add(std::int64_t length_ns, std::uint64_t tokens) {
        CHECK(tokens > 0);
        answers_ns_ = later(answers_ns_, length_ns);
        tokens_ += tokens;
    }

    /// What an answer of so many tokens takes, in ns; 0 where none was added.
    std::int64_t of(std::uint32_t answer_tokens) const {
        if (tokens_ == 0) {
            return 0;
        }
        const auto product = static_cast<unsigned __int128>(answers_ns_) * answer_tokens;
        const unsigned __int128 most = time_max_ns;
        return static_cast<std::int64_t>(std::min(product / tokens_, most));
    }

  private:
    std::int64_t answers_ns_ = 0;
    std::uint64_t tokens_ = 0;
};

}  // namespace

/// Of a request; and of a sub-agent's entry, which a request of a table has, too, as nulls.
static constexpr std::string_view columns[] = {"t",
                                               "type",
                                               "model",
                                               "in",
                                               "out",
                                               "hash_ids",
                                               "stop",
                                               "api_time",
                                               "requests",
                                               "input_types",
                                               "output_types",
                                               "ttft",
                                               "models",
                                               "agent_id",
                                               "status",
                                               "think_time",
                                               "subagent_type",
                                               "duration_ms",
                                               "total_tokens",
                                               "tool_use_count",
                                               "tool_tokens",
                                               "system_tokens"};

/// Of a conversation or a sub-agent; 0 where it declares none.
static std::uint32_t declared_system(const JsonValue& json) {
    const std::uint64_t tools = json.find("tool_tokens").as_u64().value_or(0);
    const std::uint64_t system = json.find("system_tokens").as_u64().value_or(0);
    const std::uint64_t most = row_tokens_max;
    return static_cast<std::uint32_t>(std::min(most, std::min(most, tools) + system));
}

namespace {

/// Reads one conversation.
class Conversation {
  public:
    Conversation(RowContext& context, const JsonValue& json) : context_(context), json_(json) {}

    void read();

  private:
    bool begin();
    void measure_pace(const JsonValue& requests);
    std::optional<std::int64_t> length_of(const JsonValue& request, std::string_view name) const;
    bool check_type(const JsonValue& entry) const;
    void read_entries(const JsonValue& requests, std::string place, std::int64_t base_ns,
                      AgentThread& thread);
    void read_subagent(const JsonValue& entry, std::int64_t base_ns, AgentThread& parent);
    void read_request(const JsonValue& json, std::int64_t base_ns, AgentThread& thread);
    bool read_blocks(const JsonValue& ids, const TraceRow& row);
    ThreadRequest recorded(const JsonValue& json, const TraceRow& row, const AgentThread& thread);
    void name_chains(AgentThread& thread);
    void end();

    RowContext& context_;
    const JsonValue& json_;
    std::string name_;
    std::string key_;              ///< a name that no other conversation of the file has
    std::int64_t origin_ns_ = -1;  ///< `t` of the first request
    AgentThread thread_;
    NumbersByName models_;
    RecordedPace pace_;
    std::uint64_t rows_ceil_ = 0;
    std::uint64_t rows_floor_ = 0;
};

}  // namespace

/// The conversation's frame: its name, block size and namespace. False where it cannot be read.
bool Conversation::begin() {
    if (!admit_untimed(context_, "has conversations, which have no arrival times",
                       "use --sessions closed to start each at time 0 with turns waiting for "
                       "answers, or --sessions open to send turns by the recorded gaps")) {
        return false;
    }
    const std::uint64_t size = json_.find("block_size").as_u64().value_or(64);
    std::uint32_t& chosen = context_.rules.block_size;
    if (size == 0 || size > row_tokens_max || (chosen != 0 && chosen != size)) {
        return context_.refuse(
            "block_size", std::to_string(size),
            chosen == 0 ? "is not a block size" : "differs from " + std::to_string(chosen),
            "a trace has one block size; make --block-size agree with it");
    }
    chosen = static_cast<std::uint32_t>(size);
    if (json_.find("hash_id_scope").as_string().value_or("local") != "global") {
        context_.draft.name_spaces().begin();
    }
    name_ = json_.find("id").as_string().value_or("conversation " + std::to_string(context_.line));
    return true;
}

/// Nothing where it is not recorded, as of answers that were interrupted.
std::optional<std::int64_t> Conversation::length_of(const JsonValue& request,
                                                    std::string_view name) const {
    const Field field = field_in(request, name);
    const Result<std::int64_t> length = parse_time(field.text, context_.rules.unit);
    return field.present && length ? std::optional(length.value()) : std::nullopt;
}

/// False after an error. A type that is missing is not known either.
bool Conversation::check_type(const JsonValue& entry) const {
    const JsonValue type = given(entry.find("type"));
    if (type.present() && !type.is(JsonType::string)) {
        return context_.refuse("type", type.raw(), "is not text",
                               "use n or s for a request, subagent for a sub-agent");
    }
    const std::string_view word = type.as_string().value_or("");
    context_.draft.remark("request has a type other than n and s, and is sent like those",
                          "requests have a type other than n and s, and are sent like those",
                          type.present() && word != "n" && word != "s" ? 1 : 0);
    return true;
}

/// Of all requests, those of sub-agents too.
void Conversation::measure_pace(const JsonValue& requests) {
    for (JsonValue entry = requests.first(); entry.present(); entry = entry.next()) {
        const std::optional<std::int64_t> length = length_of(entry, "api_time");
        const std::uint64_t tokens = entry.find("out").as_u64().value_or(0);
        if (length && tokens > 0 && tokens <= row_tokens_max) {
            pace_.add(*length, tokens);
        }
        measure_pace(entry.find("requests"));
    }
}

void Conversation::read() {
    const JsonValue requests = given(json_.find("requests"));
    if (!begin() || !check_objects(context_, requests, "requests")) {
        return;
    }
    measure_pace(requests);
    // Conversations may have one name; a sub-agent's begins with its conversation's.
    key_ = std::to_string(context_.line) + context_.place + "/" + name_;
    thread_.session = context_.draft.sessions().find(name_, key_);
    thread_.system_tokens = declared_system(json_);
    read_entries(requests, context_.place, 0, thread_);
    end();
}

/// Requests and sub-agents of a thread, whose times count from `base_ns`. `place`: of the thread.
void Conversation::read_entries(const JsonValue& requests, std::string place, std::int64_t base_ns,
                                AgentThread& thread) {
    const std::string outer = context_.place;
    std::size_t number = 0;
    for (JsonValue entry = requests.first(); entry.present(); entry = entry.next()) {
        context_.place = place + "requests[" + std::to_string(number++) + "]";
        if (entry.find("type").as_string().value_or("") == "subagent") {
            read_subagent(entry, base_ns, thread);
        } else {
            read_request(entry, base_ns, thread);
        }
    }
    context_.place = outer;
}

void Conversation::read_subagent(const JsonValue& entry, std::int64_t base_ns,
                                 AgentThread& parent) {
    const auto said = read_gap(context_, field_in(entry, "t"), context_.rules.unit);
    const JsonValue requests = given(entry.find("requests"));
    if (!said || !check_objects(context_, requests, "requests")) {
        return;
    }
    AgentThread agent;
    agent.name =
        parent.name + "/" +
        std::string(entry.find("agent_id").as_string().value_or("agent of " + context_.place));
    agent.session = context_.draft.sessions().find(name_ + agent.name, key_ + agent.name);
    agent.system_tokens = declared_system(entry);
    agent.spawned_after = parent.requests.size();
    agent.joins = entry.find("status").as_string().value_or("") == "completed";
    const std::int64_t spawned_ns = later(base_ns, *said);
    if (spawned_ns < origin_ns_) {
        context_.refuse("t", entry.find("t").raw(), "is before its conversation's first request",
                        "start a sub-agent when its conversation has started, or later");
        return;
    }
    origin_ns_ = origin_ns_ < 0 ? spawned_ns : origin_ns_;
    // Times that begin before the spawn count from it. Sums of decimals may be off by a little.
    constexpr std::int64_t rounding_ns = 1000;
    const JsonValue first_t = requests.first().find("t");
    const auto first = parse_time(first_t.present() ? first_t.raw() : "0", context_.rules.unit);
    const bool from_spawn = first && first.value() + rounding_ns < *said;
    read_entries(requests, context_.place + ".", from_spawn ? spawned_ns : base_ns, agent);
    parent.sub_agents.push_back(std::move(agent));
}

void Conversation::read_request(const JsonValue& json, std::int64_t base_ns, AgentThread& thread) {
    TraceRow row;
    const auto time = read_time(context_, field_in(json, "t"));
    const bool lengths = read_lengths(context_, field_in(json, "in"), field_in(json, "out"), row);
    if (!time || !lengths || !check_type(json) ||
        !check_length(context_, field_in(json, "api_time")) ||
        !check_length(context_, field_in(json, "ttft")) ||
        !read_blocks(given(json.find("hash_ids")), row)) {
        return;
    }
    origin_ns_ = origin_ns_ < 0 ? *time : origin_ns_;
    row.at_ns = std::max(later(base_ns, *time) - origin_ns_, std::int64_t{0});
    row.session = thread.session;
    thread.requests.push_back(recorded(json, row, thread));
    context_.emit(row, json);
}

/// An answer without a recorded end took as long as the conversation's others for its tokens: its
/// `think_time` counts from an older request, and the distance of the starts counts the answer
/// twice (agentic.md 1.6).
ThreadRequest Conversation::recorded(const JsonValue& json, const TraceRow& row,
                                     const AgentThread& thread) {
    const std::optional<std::int64_t> api_time = length_of(json, "api_time");
    const std::int64_t known_ns = api_time.value_or(length_of(json, "ttft").value_or(0));
    const std::int64_t likely_ns =
        api_time ? *api_time : std::max(known_ns, pace_.of(row.output_length));
    context_.draft.remark(
        "answer without a recorded end: the gap after it counts from an end estimated from other "
        "answers",
        "answers without a recorded end: the gaps after them count from ends estimated from other "
        "answers",
        likely_ns > known_ns ? 1 : 0);
    context_.draft.remark(
        "answer without a recorded end, and no others to estimate it from: the gap after it counts "
        "from its first token, or else from its start",
        "answers without a recorded end, and no others to estimate them from: the gaps after them "
        "count from their first tokens, or else from their starts",
        !api_time && likely_ns == known_ns ? 1 : 0);
    Trace& trace = context_.draft.trace();
    trace.answers_ns.resize(context_.draft.rows() + std::size_t{1});
    trace.answers_ns.back() = known_ns;
    trace.system_tokens.resize(trace.answers_ns.size());
    trace.system_tokens.back() = thread.system_tokens;
    const std::string_view model = json.find("model").as_string().value_or("");
    const auto number = static_cast<std::uint32_t>(models_.size());
    return {context_.draft.rows(), models_.emplace(model, number).first->second, row.at_ns,
            later(row.at_ns, known_ns), later(row.at_ns, likely_ns)};
}

/// Each chain beside the main one is a session of its own; turns are counted inside it.
void Conversation::name_chains(AgentThread& thread) {
    TraceDraft& draft = context_.draft;
    const bool apart = context_.rules.sessions == Sessions::closed &&
                       context_.rules.flat_agents == FlatAgents::chains;
    if (apart) {
        thread.chains = find_agent_chains(draft.trace(), thread.requests);
    } else {
        thread.chains.of_request.assign(thread.requests.size(), 0);
        thread.chains.count = thread.requests.empty() ? 0 : 1;
    }
    std::vector<std::uint32_t> sessions = {thread.session};
    for (std::uint32_t chain = 1; chain < thread.chains.count; ++chain) {
        const std::string digits = std::to_string(chain - 1);
        const std::string zeros(digits.size() < 3 ? 3 - digits.size() : 0, '0');
        const std::string agent = std::string(chain_mark) + zeros + digits;
        const std::string name = thread.name + agent;
        sessions.push_back(draft.sessions().find(name_ + name, key_ + name));
    }
    for (std::size_t i = 0; i < thread.requests.size(); ++i) {
        TraceRow& row = draft.trace().rows[thread.requests[i].row];
        row.session = sessions[thread.chains.of_request[i]];
        row.turn = ++draft.sessions().tail(row.session).turns;
    }
    draft.remark(
        "agent was recorded in one line with others: its requests wait for its own answers; "
        "--flat-agents keep leaves it in line",
        "agents were recorded in one line with others: their requests wait for their own answers; "
        "--flat-agents keep leaves them in line",
        sessions.size() - 1);
    for (AgentThread& agent : thread.sub_agents) {
        name_chains(agent);
    }
}

/// The ids, held against both rules. A request without a list has a private prompt.
bool Conversation::read_blocks(const JsonValue& ids, const TraceRow& row) {
    TraceDraft& draft = context_.draft;
    draft.ids().begin();
    if (!ids.present()) {
        draft.remark("request without block ids: its prompt is private",
                     "requests without block ids: their prompts are private");
        return true;
    }
    if (!read_ids(context_, ids)) {
        return false;
    }
    const std::uint64_t size = context_.rules.block_size;
    const std::uint64_t whole = row.input_length / size;
    const std::uint64_t count = draft.ids().count();
    const bool exact = row.input_length % size == 0;
    rows_floor_ += count == whole && !exact ? 1 : 0;
    rows_ceil_ += count == whole + 1 && !exact ? 1 : 0;
    if (count == whole || (count == whole + 1 && !exact)) {
        return true;
    }
    if (!context_.rules.lenient) {
        return refuse_count(context_, count, row.input_length, whole);
    }
    if (count > whole) {
        draft.trace().surplus_ids += count - whole;
        draft.ids().cut(whole);
    }
    draft.trace().rows_uncovered += count < whole ? 1 : 0;
    return true;
}

/// Who waits for whom is told when all requests are read. All of them follow one rule of ids.
void Conversation::end() {
    name_chains(thread_);
    Thread(thread_, context_.draft).add(nullptr);
    if (rows_ceil_ > 0 && rows_floor_ > 0 && !context_.rules.lenient) {
        context_.refuse("hash_ids", "",
                        "follow no single rule: " + std::to_string(rows_floor_) +
                            " requests have ids for whole blocks only, " +
                            std::to_string(rows_ceil_) + " for the partial one too",
                        "use --lenient to take each as it is");
        return;
    }
    if (rows_ceil_ + rows_floor_ == 0) {
        return;
    }
    Trace& trace = context_.draft.trace();
    trace.tail_rule = rows_floor_ > 0 ? TailRule::floor : trace.tail_rule;
    context_.draft.remark("conversation whose partial blocks also have ids",
                          "conversations whose partial blocks also have ids",
                          rows_ceil_ > 0 ? 1 : 0);
}

static bool matches(const JsonValue& row) {
    return row.find("requests").is(JsonType::array) && row.find("block_size").present();
}

static void read_row(RowContext& context, const JsonValue& json) {
    Conversation(context, json).read();
}

constinit const TraceFormat weka_format = {
    .name = "weka",
    .time_unit = TimeUnit::s,
    .ordered = false,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless
