#include "proto/trace/isb1_words.hpp"

#include <string_view>

#include "proto/core/text.hpp"
#include "proto/json/write.hpp"

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

/// Writes blocks as parts of a message; one text alone as such.
void write_blocks(JsonWriter& json, const JsonValue& blocks, std::string_view heading) {
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
}

void write_message(JsonWriter& json, const JsonValue& message) {
    const std::string_view role = message.find("role").as_string().value_or("user");
    const std::string heading = is_chat_role(role) ? "" : heading_of(role);
    const JsonValue content = given(message.find("content"));
    const JsonValue blocks = message.find("content_blocks");
    json.begin_object().key("role").string(is_chat_role(role) ? role : "user").key("content");
    if (blocks.size() > 0) {
        write_blocks(json, blocks, heading);
    } else if (const auto text = content.as_string()) {
        const std::string under = text->empty() ? "" : "\n" + std::string(*text);
        json.string(heading.empty() ? *text : heading + under);
    } else if (content.is(JsonType::array)) {
        json.raw(content.raw());
    } else {
        json.string(heading);
    }
    json.end_object();
}

}  // namespace

std::optional<std::string> isb1_messages(const RowContext& context, const JsonValue& list,
                                         std::string_view name) {
    if (!check_objects(context, list, name)) {
        return std::nullopt;
    }
    if (list.size() == 0) {
        context.refuse(name, list.present() ? list.raw() : "",
                       list.present() ? "is empty" : "is missing", "every turn has messages");
        return std::nullopt;
    }
    std::string words;
    JsonWriter json(words);
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        const JsonValue blocks = one.find("content_blocks");
        if (!check_objects(context, given(blocks), "content_blocks")) {
            return std::nullopt;
        }
        write_message(json, one);
    }
    return words;
}

}  // namespace driftless
