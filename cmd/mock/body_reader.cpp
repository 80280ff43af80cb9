#include "cmd/mock/body_reader.hpp"

namespace driftless::mock {

namespace {

bool is_blank(char byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

}  // namespace

void BodyReader::reset(PromptCount& count, PromptKeys keys, HistoryReader* history) {
    count_ = &count;
    history_ = history;
    keys_ = keys;
    at_ = At::outside;
    escaped_ = after_colon_ = in_messages_ = false;
    depth_ = 0;
    objects_ = 0;
    frame_.clear();
    key_.clear();
}

bool BodyReader::feed(std::string_view bytes) {
    while (!bytes.empty() && at_ != At::refused) {
        bytes.remove_prefix(step(bytes));
        if (frame_.size() > frame_bytes_max || count_->too_long()) {
            at_ = At::refused;
        }
    }
    return at_ != At::refused;
}

/// Consumes at least one byte, or changes the state.
std::size_t BodyReader::step(std::string_view bytes) {
    switch (at_) {
        case At::outside:
            return outside(bytes);
        case At::key:
        case At::string:
            return string(bytes);
        case At::text:
        case At::ids:
            return prompt_value(bytes);
        case At::array_head:
            if (is_blank(bytes[0])) {
                return 1;
            }
            at_ = bytes[0] >= '0' && bytes[0] <= '9' ? At::ids : At::outside;
            return 0;
        case At::refused:
            break;
    }
    return bytes.size();
}

std::size_t BodyReader::outside(std::string_view bytes) {
    std::size_t used = 0;
    while (used < bytes.size() && at_ == At::outside) {
        const char byte = bytes[used++];
        if (!is_blank(byte)) {  // blanks mean nothing here, and may be many
            frame_ += byte;
            structural(byte);
        }
    }
    return used;
}

void BodyReader::structural(char byte) {
    switch (byte) {
        case '{':
            open(true);
            break;
        case '[': {
            const bool prompt = is_prompt_array();
            open(false);
            if (prompt && at_ == At::outside) {
                at_ = At::array_head;
            }
            break;
        }
        case '}':
        case ']':
            close();
            break;
        case ':':
            after_colon_ = true;
            break;
        case ',':
            after_colon_ = false;
            break;
        case '"':
            open_string();
            break;
        default:
            break;  // a number, a literal, or nonsense that the frame's parser will name
    }
}

void BodyReader::open(bool object) {
    if (depth_ == body_depth_max) {
        at_ = At::refused;
        return;
    }
    if (depth_ == 1 && in_object() && keys_.messages && key_ == "messages") {
        in_messages_ = true;
    }
    if (between_messages()) {
        history_->begin_message();
    }
    objects_ = objects_ << 1 | (object ? 1u : 0u);
    ++depth_;
    after_colon_ = false;
}

void BodyReader::close() {
    if (depth_ > 0) {
        --depth_;
        objects_ >>= 1;
    }
    if (between_messages()) {
        history_->end_message();
    }
    if (depth_ <= 1) {
        in_messages_ = false;
    }
}

void BodyReader::open_string() {
    escaped_ = false;
    if (in_object() && !after_colon_) {
        key_.clear();
        at_ = At::key;
    } else {
        at_ = is_prompt_text() ? At::text : At::string;
        if (at_ == At::text) {
            count_->begin_text();
        }
    }
}

bool BodyReader::is_prompt_text() const {
    if (!in_object()) {
        return false;
    }
    return (in_messages_ && (key_ == "content" || key_ == "text")) ||
           (depth_ == 1 && !keys_.text.empty() && key_ == keys_.text);
}

bool BodyReader::is_prompt_array() const {
    return depth_ == 1 && in_object() && after_colon_ && !keys_.ids.empty() && key_ == keys_.ids;
}

/// A key, or a string that stays in the frame: copied up to its closing quote.
std::size_t BodyReader::string(std::string_view bytes) {
    const bool is_value = at_ == At::string;
    std::size_t used = 0;
    while (used < bytes.size()) {
        const char byte = bytes[used++];
        if (byte == '"' && !escaped_) {
            if (at_ == At::key) {
                key_.append(bytes.substr(0, used - 1));
            }
            at_ = At::outside;
            break;
        }
        escaped_ = byte == '\\' && !escaped_;
    }
    if (at_ == At::key) {
        key_.append(bytes.substr(0, used));
    }
    frame_.append(bytes.substr(0, used));
    if (is_value && at_ == At::outside) {
        note_role();
    }
    return used;
}

/// The string that ends the frame may be the role of a message.
void BodyReader::note_role() {
    if (history_ != nullptr && in_messages_ && depth_ == 3 && in_object() && key_ == "role") {
        history_->set_assistant(frame_.ends_with(R"("assistant")"));
    }
}

std::size_t BodyReader::prompt_value(std::string_view bytes) {
    const std::size_t used = at_ == At::text ? count_->add_text(bytes) : count_->add_ids(bytes);
    if (at_ == At::text && history_ != nullptr && in_messages_) {
        history_->add_text(bytes.substr(0, used));
    }
    if (used == bytes.size()) {
        return used;
    }
    count_->end_value();
    frame_ += bytes[used];  // the quote or the bracket
    if (at_ == At::ids) {
        close();
    }
    at_ = At::outside;
    return used + 1;
}

}  // namespace driftless::mock
