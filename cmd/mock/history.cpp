#include "cmd/mock/history.hpp"

namespace driftless::mock {

namespace {

/// The name of a reply within its session.
std::uint64_t name_in(std::string_view session, std::uint64_t reply) {
    Digest digest;
    digest.add(session);
    digest.add_u64(reply);
    return digest.value();
}

bool holds(const PrefixCache& names, std::uint64_t name) {
    return names.longest_prefix({&name, 1}) == 1;
}

}  // namespace

void HistoryReader::begin_message() {
    text_ = Digest();
    is_assistant_ = false;
}

void HistoryReader::end_message() {
    if (is_assistant_) {
        replies_.push_back(text_.value());
    }
    is_assistant_ = false;
}

SentReplies::SentReplies(std::uint32_t replies_max)
    : anywhere_(replies_max), in_session_(replies_max) {}

void SentReplies::enter(std::string_view session, std::string_view text) {
    Digest digest;
    digest.add(text);
    const std::uint64_t reply = digest.value();
    const std::uint64_t here = name_in(session, reply);
    anywhere_.enter({&reply, 1});
    in_session_.enter({&here, 1});
}

HistoryCount SentReplies::count(std::string_view session, std::span<const std::uint64_t> replies) {
    HistoryCount count;
    for (const std::uint64_t reply : replies) {
        const std::uint64_t here = name_in(session, reply);
        if (holds(in_session_, here)) {
            ++count.known;
            in_session_.enter({&here, 1});
            anywhere_.enter({&reply, 1});
        } else if (holds(anywhere_, reply)) {
            ++count.elsewhere;
            anywhere_.enter({&reply, 1});
        } else {
            ++count.unknown;
        }
    }
    return count;
}

}  // namespace driftless::mock
