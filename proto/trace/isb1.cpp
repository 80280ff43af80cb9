#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

// Messages of ISB-1 bundles as a server takes them, as the bundles' own client makes them.
//
// Content is text, or blocks of text, code, logs, documents, tables and images. What tools,
// retrieval and execution said goes out as a user's words under a heading. Source:
// SemiAnalysisAI/InferenceX, utils/bench_serving/benchmark_export_replay.py.

static std::string upper(std::string_view text) {
    std::string out(text);
    for (char& byte : out) {
        byte = byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte;
    }
    return out;
}

static bool is_chat_role(std::string_view role) {
    return role == "system" || role == "user" || role == "assistant";
}

/// What is above the words of a tool.
static std::string heading_of(std::string_view role) {
    return "[" + upper(role) + " RESULT]";
}

static std::string_view text_of(const JsonValue& object, std::string_view key) {
    return object.find(key).as_string().value_or("");
}

/// Where what the block shows can be found.
static std::string_view label_of(const JsonValue& block, std::string_view first,
                                 std::string_view second) {
    const std::string_view label = text_of(block, first);
    return label.empty() ? text_of(block, second) : label;
}

/// The block as text; empty where it has none.
static std::string render(const JsonValue& block) {
    const std::string_view type = block.find("type").as_string().value_or("text");
    const std::string text(trim(text_of(block, "text"), white_space));
    if (type == "text") {
        return text;
    }
    const bool image = type == "image";
    std::string_view label = type == "document" ? label_of(block, "asset_path", "uri")
                             : image            ? label_of(block, "uri", "asset_path")
                                                : std::string_view();
    if (image) {
        label = !label.empty() ? label : !text.empty() ? std::string_view(text) : "image";
    }
    const bool known =
        image || type == "document" || type == "code" || type == "log" || type == "table";
    const std::string heading =
        "[" + upper(type) + (label.empty() ? "" : ": " + std::string(label)) + "]";
    if (!known) {
        return text.empty() ? heading : text;
    }
    return image || text.empty() ? heading : heading + "\n" + text;
}

/// Writes blocks as parts of a message; one text alone as such. False where they say nothing.
static bool write_blocks(JsonWriter& json, const JsonValue& blocks, std::string_view heading) {
    std::string parts;
    JsonWriter list(parts);
    std::string only(heading);
    std::size_t count = heading.empty() ? 0 : 1;
    bool texts = true;
    const auto add_text = [&list](std::string_view text) {
        list.begin_object().key("type").string("text").key("text").string(text).end_object();
    };
    list.begin_array();
    if (count > 0) {
        add_text(heading);
    }
    for (JsonValue block = blocks.first(); block.present(); block = block.next()) {
        const std::string_view uri = text_of(block, "uri");
        if (text_of(block, "type") == "image" && !uri.empty()) {
            list.begin_object().key("type").string("image_url").key("image_url");
            list.begin_object().key("url").string(uri).end_object().end_object();
            texts = false;
            ++count;
        } else if (std::string text = render(block); !text.empty()) {
            add_text(text);
            only = std::move(text);
            ++count;
        }
    }
    list.end_array();
    if (count == 0 || (count == 1 && texts)) {
        json.string(count == 0 ? "" : only);
    } else {
        json.raw(parts);
    }
    return count > 0;
}

/// A list of parts as one text, as the client makes it.
static std::string text_of_parts(const JsonValue& parts) {
    std::string text;
    for (JsonValue part = parts.first(); part.present(); part = part.next()) {
        const std::string_view type = part.find("type").as_string().value_or("text");
        std::string one;
        if (type == "text") {
            one = trim(text_of(part, "text"), white_space);
        } else if (type == "image_url") {
            const std::string_view url = text_of(part.find("image_url"), "url");
            one = "[IMAGE: " + std::string(url.empty() ? "image" : url) + "]";
        }
        text += text.empty() || one.empty() ? "" : "\n\n";
        text += one;
    }
    return text;
}

/// Text, or null, which the client takes for none. False after an error.
static bool check_texts(const RowContext& context, const JsonValue& block) {
    for (const std::string_view key : {"text", "uri", "asset_path"}) {
        const JsonValue value = given(block.find(key));
        if (value.present() && !value.is(JsonType::string)) {
            return context.refuse(key, value.raw(), "is not text", "correct the message");
        }
    }
    const JsonValue type = block.find("type");
    if (type.present() && type.as_string().value_or("").empty()) {
        return context.refuse("type", type.raw(), "is not the name of a type",
                              "correct the message");
    }
    return true;
}

/// False after an error. The client sends a message without a role as the user's, and one without
/// content as an empty one.
static bool check_message(RowContext& context, const JsonValue& message) {
    const JsonValue role = message.find("role");
    if (role.present() && role.as_string().value_or("").empty()) {
        return context.refuse("role", role.raw(), "is not the name of a role",
                              "correct it, or remove it for the user's role");
    }
    const JsonValue content = given(message.find("content"));
    if (content.present() && !content.is(JsonType::string) && !content.is(JsonType::array)) {
        return context.refuse("content", content.raw(), "is not text or a list of parts",
                              "correct the message");
    }
    const JsonValue blocks = given(message.find("content_blocks"));
    if (!check_objects(context, blocks, "content_blocks") ||
        (content.is(JsonType::array) && !check_objects(context, content, "content"))) {
        return false;
    }
    const auto check = [&](const JsonValue& one) { return check_texts(context, one); };
    return read_each(context, blocks, "content_blocks", check) &&
           read_each(context, content, "content", check);
}

/// Writes what the message says. False where that is nothing.
static bool write_content(JsonWriter& json, const JsonValue& message, std::string_view role) {
    const JsonValue content = given(message.find("content"));
    const JsonValue blocks = message.find("content_blocks");
    if (blocks.size() > 0) {
        return write_blocks(json, blocks, is_chat_role(role) ? "" : heading_of(role));
    }
    const std::string text = content.is(JsonType::array)
                                 ? text_of_parts(content)
                                 : std::string(content.as_string().value_or(""));
    const bool headed = role == "tool" || role == "retrieval" || role == "execution";
    const std::string heading = headed ? heading_of(role) : "";
    json.string(heading + (text.empty() || heading.empty() ? "" : "\n") + text);
    return headed || !text.empty();
}

static void write_message(const RowContext& context, JsonWriter& json, const JsonValue& message) {
    const std::string_view role = message.find("role").as_string().value_or("user");
    json.begin_object().key("role").string(is_chat_role(role) ? role : "user").key("content");
    const bool says = write_content(json, message, role);
    json.end_object();
    context.draft.remark("message without text: sent empty, as the bundles' own client does",
                         "messages without text: sent empty, as the bundles' own client does",
                         says ? 0 : 1);
}

/// JSON objects with commas between them. Nothing after an error, which names the list.
static std::optional<std::string> isb1_messages(RowContext& context, const JsonValue& list,
                                                std::string_view name) {
    if (!check_filled(context, list, name, "give every turn messages")) {
        return std::nullopt;
    }
    std::string words;
    JsonWriter json(words);
    const bool fine = read_each(context, list, name, [&](const JsonValue& one) {
        if (!check_message(context, one)) {
            return false;
        }
        write_message(context, json, one);
        return true;
    });
    return fine ? std::optional(std::move(words)) : std::nullopt;
}

/// Of turns and of events.
static constexpr std::string_view columns[] = {
    "messages", "expected_output_tokens", "wait_before_ms", "turn_idx",
    "turn_id",  "arrival_time_offset_ms", "input_messages", "target_output_tokens"};

static constexpr const char* events_beside =
    "convert the bundle to Weka conversations with InferenceX's tools/isb1_to_kvcache_tester.py";

static bool matches(const JsonValue& row) {
    return row.find("adapter_id").is(JsonType::string) && row.find("exports").is(JsonType::array);
}

namespace {

/// How a cell of an adapter holds its turns.
struct Adapter {
    std::string_view name;
    std::string_view turns;     ///< the list
    std::string_view messages;  ///< of a turn
    std::string_view output;    ///< of a turn, tokens
    bool offsets;               ///< turns have times from the conversation's start
};

}  // namespace

static constexpr Adapter adapters[] = {
    {"inferencex_multiturn", "turns", "messages", "expected_output_tokens", false},
    {"inferencex_trace_replay", "events", "input_messages", "target_output_tokens", true}};

namespace {

/// Reads the cells of one bundle.
class Bundle {
  public:
    Bundle(RowContext& context, const JsonValue& json) : context_(context), json_(json) {}

    void read();

  private:
    bool check_cells(const JsonValue& cells);
    bool read_cell(const JsonValue& cell);
    bool admit(std::string_view name, const JsonValue& turns);
    bool read_turn(const JsonValue& turn);
    bool read_time(const JsonValue& turn, TraceRow& row, std::int64_t& gap_ns);

    RowContext& context_;
    const JsonValue& json_;
    const Adapter* adapter_ = nullptr;
    std::uint32_t session_ = no_session;
};

}  // namespace

/// The cell's conversation; empty where it is not named.
static std::string_view conversation_of(const JsonValue& cell) {
    for (const std::string_view place : {"session", "trace_metadata"}) {
        if (const auto id = cell.find(place).find("session_id").as_string(); id && !id->empty()) {
            return *id;
        }
    }
    return cell.find("trace_id").as_string().value_or("");
}

/// Events in files beside the bundle are not read. False after an error.
bool Bundle::check_cells(const JsonValue& cells) {
    bool beside = false;
    bool embedded = false;
    JsonValue ref;
    for (JsonValue cell = cells.first(); cell.present(); cell = cell.next()) {
        const JsonValue one = given(cell.find("prefix_ref"));
        ref = one.present() ? one : ref;
        beside = beside || one.present();
        embedded = embedded || cell.find("events").present();
    }
    if (beside) {
        context_.refuse(
            "prefix_ref", ref.raw(),
            embedded ? "is in a bundle whose cells also have events"
                     : "names a file next to the bundle with its events",
            embedded ? "use either events, or prefix_ref in every cell" : events_beside);
    }
    return !beside;
}

/// Whether the cell is the first one of its conversation.
bool Bundle::admit(std::string_view name, const JsonValue& turns) {
    TraceDraft& draft = context_.draft;
    session_ = draft.sessions().find(name);
    Digest digest;
    digest.add(turns.raw());
    const std::string marked = std::string(name) + "\n" + std::to_string(digest.value());
    const bool again = draft.sessions().tail(session_).last_row != no_row;
    if (again && draft.find_request(marked) != no_row) {
        draft.remark("cell with the same conversation as another cell: left out",
                     "cells with the same conversations as other cells: left out");
    } else if (again) {
        draft.remark("cell with another version of a conversation: left out",
                     "cells with other versions of conversations: left out");
    } else {
        draft.name_request(marked);
    }
    return !again;
}

/// When the turn comes, and how long after the answer before. False after an error.
bool Bundle::read_time(const JsonValue& turn, TraceRow& row, std::int64_t& gap_ns) {
    const std::string_view name = adapter_->offsets ? "arrival_time_offset_ms" : "wait_before_ms";
    const Field time = field_in(turn, name);
    const auto ns = read_pause(context_, time, TimeUnit::ms);
    if (!ns) {
        return false;
    }
    const SessionTail& last = context_.draft.sessions().tail(session_);
    if (adapter_->offsets) {
        row.at_ns = std::max(*ns, last.last_at_ns);
        gap_ns = row.at_ns - last.last_at_ns;
    } else {
        row.at_ns = lay_out_turn(context_, session_, *ns);
        gap_ns = *ns;
    }
    return true;
}

/// False after an error.
bool Bundle::read_turn(const JsonValue& turn) {
    TraceRow row;
    row.session = session_;
    std::int64_t gap_ns = 0;
    const auto messages =
        isb1_messages(context_, turn.find(adapter_->messages), adapter_->messages);
    const Field output = field_in(turn, adapter_->output);
    if (!messages || !read_recorded_lengths(context_, Field{}, output, row) ||
        !read_time(turn, row, gap_ns)) {
        return false;
    }
    give_chat(context_, {*messages, {}, {}});
    context_.draft.sessions().next_turn(row, gap_ns);
    context_.emit(row, turn);
    return true;
}

/// False after an error.
bool Bundle::read_cell(const JsonValue& cell) {
    const JsonValue turns =
        adapter_->offsets ? cell.find("events") : cell.find("session").find("turns");
    const std::string_view name = conversation_of(cell);
    if (name.empty()) {
        return context_.refuse("trace_id", "", "is missing, and so is session_id",
                               "name the conversation in every cell");
    }
    if (!check_filled(context_, turns, adapter_->turns, "give every cell turns")) {
        return false;
    }
    if (!admit(name, turns)) {
        return true;
    }
    return read_each(context_, turns, adapter_->turns,
                     [&](const JsonValue& turn) { return read_turn(turn); });
}

void Bundle::read() {
    const JsonValue id = json_.find("adapter_id");
    const JsonValue cells = json_.find("exports");
    for (const Adapter& one : adapters) {
        adapter_ = id.as_string() == one.name ? &one : adapter_;
    }
    if (adapter_ == nullptr) {
        context_.refuse("adapter_id", id.raw(),
                        id.present() ? "is not a supported kind of bundle" : "is missing",
                        "use inferencex_multiturn or inferencex_trace_replay");
        return;
    }
    if (!check_objects(context_, cells, "exports") || !check_cells(cells)) {
        return;
    }
    (void)read_each(context_, cells, "exports", [&](const JsonValue& cell) {
        (void)read_cell(cell);
        return true;
    });
}

static void read_row(RowContext& context, const JsonValue& json) {
    if (admit_conversations(context)) {
        Bundle(context, json).read();
    }
}

constinit const TraceFormat isb1_format = {
    .name = "isb1",
    .time_unit = TimeUnit::ms,
    .unit_in = "wait_before_ms",
    .ordered = false,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless
