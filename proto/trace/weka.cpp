#include "proto/trace/weka.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

/// Of a request; and of a sub-agent's entry, which a request of a table has, too, as nulls.
constexpr std::string_view columns[] = {"t",
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

/// A line of requests that come one behind the other.
struct Chain {
    std::uint32_t last = no_row;
    std::int64_t at_ns = 0;
    std::int64_t end_ns = 0;  ///< as far as it is recorded
};

/// Reads one conversation.
class Conversation {
  public:
    Conversation(RowContext& context, const JsonValue& json) : context_(context), json_(json) {}

    void read();

  private:
    bool begin();
    void read_subagent(const JsonValue& entry);
    bool read_request(const JsonValue& json, std::int64_t base_ns, std::uint32_t session,
                      Chain& chain);
    bool read_blocks(const JsonValue& ids, const TraceRow& row);
    void wait_for(const Chain& before, std::int64_t at_ns);
    void join(std::int64_t at_ns);
    void end();

    RowContext& context_;
    const JsonValue& json_;
    std::string name_;
    std::string key_;              ///< a name that no other conversation of the file has
    std::int64_t origin_ns_ = -1;  ///< `t` of the first request
    Chain parent_;
    std::vector<Chain> running_;  ///< sub-agents that the parent may wait for
    std::uint64_t rows_ceil_ = 0;
    std::uint64_t rows_floor_ = 0;
};

/// The conversation's frame: its name, block size and namespace. False where it cannot be read.
bool Conversation::begin() {
    if (context_.rules.sessions == Sessions::recorded) {
        context_.refuse(
            "", "", "holds conversations, which have no arrival times",
            "--sessions closed starts every one at time 0, and its turns wait for answers; "
            "--sessions open sends them by the recorded gaps");
        context_.stop = Stop::trace;
        return false;
    }
    const std::uint64_t size = json_.find("block_size").as_u64().value_or(64);
    std::uint32_t& chosen = context_.rules.block_size;
    if (size == 0 || size > row_tokens_max || (chosen != 0 && chosen != size)) {
        context_.refuse(
            "block_size", std::to_string(size),
            chosen == 0 ? "is not a block size" : "differs from " + std::to_string(chosen),
            "a trace has one block size; --block-size must agree with it");
        return false;
    }
    chosen = static_cast<std::uint32_t>(size);
    if (json_.find("hash_id_scope").as_string().value_or("local") != "global") {
        context_.draft.name_spaces().begin();
    }
    name_ = json_.find("id").as_string().value_or("conversation " + std::to_string(context_.line));
    return true;
}

void Conversation::read() {
    const JsonValue requests = given(json_.find("requests"));
    if (!begin() || !check_objects(context_, requests, "requests")) {
        return;
    }
    // Conversations may have one name; a sub-agent's begins with its conversation's.
    key_ = std::to_string(context_.line) + context_.place + "/" + name_;
    const std::uint32_t session = context_.draft.sessions().find(name_, key_);
    const std::string outer = context_.place;
    std::size_t number = 0;
    for (JsonValue entry = requests.first(); entry.present(); entry = entry.next()) {
        context_.place = outer + "requests[" + std::to_string(number++) + "]";
        if (entry.find("type").as_string().value_or("") == "subagent") {
            read_subagent(entry);
        } else {
            (void)read_request(entry, 0, session, parent_);
        }
    }
    context_.place = outer;
    end();
}

void Conversation::read_subagent(const JsonValue& entry) {
    const std::string outer = context_.place;
    const auto spawned =
        read_gap(context_, field_of(entry.find("t"), "t"), context_.rules.time_unit);
    const JsonValue requests = given(entry.find("requests"));
    if (!spawned || !check_objects(context_, requests, "requests")) {
        return;
    }
    const std::string agent =
        "/" + std::string(entry.find("agent_id").as_string().value_or("agent of " + outer));
    const std::uint32_t session = context_.draft.sessions().find(name_ + agent, key_ + agent);
    // Times that begin before the spawn count from it. Sums of decimals may be off by a little.
    constexpr std::int64_t rounding_ns = 1000;
    const auto first =
        parse_time(requests.first().find("t").present() ? requests.first().find("t").raw()
                                                        : std::string_view("0"),
                   context_.rules.time_unit);
    const std::int64_t base_ns = first && first.value() + rounding_ns < *spawned ? *spawned : 0;
    if (*spawned < origin_ns_) {
        context_.refuse("t", entry.find("t").raw(), "is before its conversation's first request",
                        "a sub-agent starts when its conversation has started, or later");
        return;
    }
    origin_ns_ = origin_ns_ < 0 ? *spawned : origin_ns_;
    Chain chain = parent_;
    std::size_t number = 0;
    for (JsonValue one = requests.first(); one.present(); one = one.next()) {
        context_.place = outer + ".requests[" + std::to_string(number++) + "]";
        if (one.find("type").as_string().value_or("") == "subagent") {
            context_.refuse("", "", "is a sub-agent of a sub-agent", "only one level is read");
        } else {
            (void)read_request(one, base_ns, session, chain);
        }
    }
    context_.place = outer;
    if (entry.find("status").as_string().value_or("") == "completed" &&
        chain.last != parent_.last) {
        running_.push_back(chain);
    }
}

bool Conversation::read_request(const JsonValue& json, std::int64_t base_ns, std::uint32_t session,
                                Chain& chain) {
    TraceDraft& draft = context_.draft;
    const auto field = [&](std::string_view name) { return field_of(json.find(name), name); };
    TraceRow row;
    const auto time = read_time(context_, field("t"));
    const bool lengths = read_lengths(context_, field("in"), field("out"), row);
    if (!time || !lengths || !read_blocks(given(json.find("hash_ids")), row)) {
        return false;
    }
    origin_ns_ = origin_ns_ < 0 ? *time : origin_ns_;
    row.at_ns = std::max(later(base_ns, *time) - origin_ns_, std::int64_t{0});
    row.session = session;
    row.turn = ++draft.sessions().tail(session).turns;
    wait_for(chain, row.at_ns);
    if (&chain == &parent_) {
        join(row.at_ns);
    }
    const Field answer = field(field("api_time").present ? "api_time" : "ttft");
    const Result<std::int64_t> length = parse_time(answer.text, context_.rules.time_unit);
    chain = {draft.rows(), row.at_ns, later(row.at_ns, length ? length.value() : 0)};
    context_.emit(row, json);
    return true;
}

/// A request that began before the one before had ended did not wait for its answer.
void Conversation::wait_for(const Chain& before, std::int64_t at_ns) {
    if (before.last == no_row) {
        return;
    }
    const bool ended = at_ns >= before.end_ns;
    context_.draft.depend(
        {context_.draft.rows(), before.last, ended ? Trigger::completion : Trigger::dispatch,
         std::max(at_ns - (ended ? before.end_ns : before.at_ns), std::int64_t{0})});
}

/// The parent goes on after the sub-agents that had ended by then.
void Conversation::join(std::int64_t at_ns) {
    for (const Chain& agent : running_) {
        if (agent.end_ns <= at_ns) {
            wait_for(agent, at_ns);
        }
    }
    running_.clear();
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
        refuse_count(context_, count, row.input_length, whole);
        return false;
    }
    if (count > whole) {
        draft.trace().surplus_ids += count - whole;
        draft.ids().cut(whole);
    }
    draft.trace().rows_uncovered += count < whole ? 1 : 0;
    return true;
}

/// All requests of a conversation follow one rule.
void Conversation::end() {
    if (rows_ceil_ > 0 && rows_floor_ > 0 && !context_.rules.lenient) {
        context_.refuse("hash_ids", "",
                        "follow no one rule: " + std::to_string(rows_floor_) +
                            " requests have ids for whole blocks only, " +
                            std::to_string(rows_ceil_) + " for the partial one too",
                        "--lenient takes each as it is");
        return;
    }
    if (rows_ceil_ + rows_floor_ == 0) {
        return;
    }
    Trace& trace = context_.draft.trace();
    trace.tail_rule = rows_floor_ > 0 ? TailRule::floor : trace.tail_rule;
    context_.draft.remark("conversation whose partial blocks have ids too",
                          "conversations whose partial blocks have ids too",
                          rows_ceil_ > 0 ? 1 : 0);
}

bool matches(const JsonValue& row) {
    return row.find("requests").is(JsonType::array) && row.find("block_size").present();
}

void read_row(RowContext& context, const JsonValue& json) {
    Conversation(context, json).read();
}

}  // namespace

constinit const TraceFormat weka_format = {
    .name = "weka",
    .time_unit = TimeUnit::s,
    .ordered = false,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless
