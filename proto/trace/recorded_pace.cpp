#include "proto/trace/recorded_pace.hpp"

#include "proto/core/check.hpp"
#include "proto/trace/decimal_time.hpp"

namespace driftless {

void RecordedPace::add(std::int64_t length_ns, std::uint64_t tokens) {
    CHECK(tokens > 0);
    answers_ns_ = later(answers_ns_, length_ns);
    tokens_ += tokens;
}

std::int64_t RecordedPace::of(std::uint32_t answer_tokens) const {
    if (tokens_ == 0) {
        return 0;
    }
    const auto product = static_cast<unsigned __int128>(answers_ns_) * answer_tokens;
    const unsigned __int128 length_ns = product / tokens_;
    return length_ns > static_cast<unsigned __int128>(time_max_ns)
               ? time_max_ns
               : static_cast<std::int64_t>(length_ns);
}

}  // namespace driftless
