#include "proto/trace/isb1_words.hpp"

#include <string_view>
#include <utility>

#include "proto/core/text.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/inside.hpp"

namespace driftless {
namespace {

std::string upper(std::string_view text) {
    std::string out(text);
    for (char& byte : out) {
        byte = byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte;
    }
    return out;
}

bool is_chat_role(std::string_view role) {
    return role == "system" || role == "user" || role == "assistant";
}

/// What stands above the words of a tool.
std::string heading_of(std::string_view role) {
    return "[" + upper(role) + " RESULT]";
}

std::string_view text_of(const JsonValue& object, std::string_view key) {
    return object.find(key).as_string().value_or("");
}

/// Where what the block shows can be found.
std::string_view label_of(const JsonValue& block, std::string_view first, std::string_view second) {
    const std::string_view label = text_of(block, first);
    return label.empty() ? text_of(block, second) : label;
}

/// The block as text; empty where it has none.
std::string render(const JsonValue& block) {
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
bool write_blocks(JsonWriter& json, const JsonValue& blocks, std::string_view heading) {
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
std::string text_of_parts(const JsonValue& parts) {
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
bool check_texts(const RowContext& context, const JsonValue& block) {
    for (const std::string_view key : {"text", "uri", "asset_path"}) {
        const JsonValue value = given(block.find(key));
        if (value.present() && !value.is(JsonType::string)) {
            context.refuse(key, value.raw(), "is not text", "correct the message");
            return false;
        }
    }
    const JsonValue type = block.find("type");
    if (type.present() && type.as_string().value_or("").empty()) {
        context.refuse("type", type.raw(), "is not the name of a type", "correct the message");
        return false;
    }
    return true;
}

/// False after an error. The client sends a message without a role as the user's, and one without
/// content as an empty one.
bool check_message(RowContext& context, const JsonValue& message) {
    const JsonValue role = message.find("role");
    if (role.present() && role.as_string().value_or("").empty()) {
        context.refuse("role", role.raw(), "is not the name of a role",
                       "correct it, or remove it for the user's role");
        return false;
    }
    const JsonValue content = given(message.find("content"));
    if (content.present() && !content.is(JsonType::string) && !content.is(JsonType::array)) {
        context.refuse("content", content.raw(), "is not text or a list of parts",
                       "correct the message");
        return false;
    }
    const JsonValue blocks = given(message.find("content_blocks"));
    if (!check_objects(context, blocks, "content_blocks") ||
        (content.is(JsonType::array) && !check_objects(context, content, "content"))) {
        return false;
    }
    for (const auto& [name, list] : {std::pair("content_blocks", blocks), {"content", content}}) {
        std::size_t number = 0;
        for (JsonValue one = list.first(); one.present(); one = one.next()) {
            const Inside inside(context, name, number++);
            if (!check_texts(context, one)) {
                return false;
            }
        }
    }
    return true;
}

/// Writes what the message says. False where that is nothing.
bool write_content(JsonWriter& json, const JsonValue& message, std::string_view role) {
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

void write_message(const RowContext& context, JsonWriter& json, const JsonValue& message) {
    const std::string_view role = message.find("role").as_string().value_or("user");
    json.begin_object().key("role").string(is_chat_role(role) ? role : "user").key("content");
    const bool says = write_content(json, message, role);
    json.end_object();
    context.draft.remark("message without text: sent empty, as the bundles' own client does",
                         "messages without text: sent empty, as the bundles' own client does",
                         says ? 0 : 1);
}

}  // namespace

std::optional<std::string> isb1_messages(RowContext& context, const JsonValue& list,
                                         std::string_view name) {
    if (!check_objects(context, list, name)) {
        return std::nullopt;
    }
    if (list.size() == 0) {
        context.refuse(name, list.present() ? list.raw() : "",
                       list.present() ? "is empty" : "is missing", "give every turn messages");
        return std::nullopt;
    }
    std::string words;
    JsonWriter json(words);
    std::size_t number = 0;
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        const Inside inside(context, name, number++);
        if (!check_message(context, one)) {
            return std::nullopt;
        }
        write_message(context, json, one);
    }
    return words;
}

}  // namespace driftless
