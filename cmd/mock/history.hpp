/// Whether the history of a chat holds what the mock has answered before.
///
/// A reply is named by a digest of its text. HistoryReader names the assistant's messages of a
/// request while its body is read; SentReplies remembers the names of what was sent, and counts.
/// Texts are compared as they stand in the JSON: the mock's words need no escapes there. Nothing is
/// held but names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cmd/mock/prefix_cache.hpp"
#include "proto/core/hash.hpp"

namespace driftless::mock {

/// Names the assistant's messages of one request, in order. Reused from request to request.
class HistoryReader {
  public:
    void reset() { replies_.clear(); }

    void begin_message();
    /// A piece of the message's text. Further texts of the same message are added to it.
    void add_text(std::string_view bytes) { text_.add(bytes); }
    void set_assistant(bool is_assistant) { is_assistant_ = is_assistant; }
    void end_message();

    std::span<const std::uint64_t> replies() const { return replies_; }

  private:
    Digest text_;
    bool is_assistant_ = false;
    std::vector<std::uint64_t> replies_;
};

/// The assistant's messages of one request.
struct HistoryCount {
    std::uint32_t known = 0;      ///< sent before as a reply of this session
    std::uint32_t elsewhere = 0;  ///< sent before, but only to other sessions
    std::uint32_t unknown = 0;    ///< never sent, or forgotten

    bool operator==(const HistoryCount&) const = default;
};

/// What was sent, least recently used out first.
class SentReplies {
  public:
    /// Remembers so many replies, at least 1: about 70 bytes each.
    explicit SentReplies(std::uint32_t replies_max);

    /// `text` has been sent as a reply. `session` may be empty.
    void enter(std::string_view session, std::string_view text);
    /// Those that are known count as used now.
    HistoryCount count(std::string_view session, std::span<const std::uint64_t> replies);

  private:
    // A name by itself is a prompt of one block.
    PrefixCache anywhere_;
    PrefixCache in_session_;  ///< of names that cover the session, too
};

}  // namespace driftless::mock
