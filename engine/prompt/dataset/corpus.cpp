#include "engine/prompt/dataset/corpus.hpp"

#include <algorithm>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

std::uint64_t Corpus::digest() const {
    Digest digest;
    digest.add(bytes_);
    for (const Border& border : borders_) {
        digest.add_u64(std::uint64_t{border.byte} << 32 | border.token);
    }
    return digest.value();
}

std::uint32_t Corpus::piece_at(std::uint64_t uniform) const {
    CHECK(pieces() > 0);
    const auto wide = static_cast<unsigned __int128>(uniform) * pieces();
    return static_cast<std::uint32_t>(wide >> 64);
}

std::uint32_t Corpus::fit(std::uint32_t first, std::uint32_t tokens_max) const {
    CHECK(first < pieces());
    const std::uint32_t all = tokens();
    if (tokens_max >= all) {
        return all;
    }
    // The border in front of the piece in which token `first + tokens_max` stands.
    const std::uint32_t begin = borders_[first].token;
    const std::uint32_t target = begin + tokens_max;  // two 32-bit counts: bytes_max bounds both
    const std::uint32_t wrapped = target >= all ? target - all : target;
    const auto behind =
        std::upper_bound(borders_.begin(), borders_.end(), wrapped,
                         [](std::uint32_t token, const Border& b) { return token < b.token; });
    const std::uint32_t end = (behind - 1)->token;
    return target >= all ? end + all - begin : end - begin;
}

Corpus::Run Corpus::run(std::uint32_t first, std::uint32_t token, std::uint32_t tokens_max,
                        std::size_t bytes_max_now) const {
    CHECK(first < pieces() && token < tokens());
    std::uint32_t at = borders_[first].token + token;
    at -= at >= tokens() ? tokens() : 0;
    const auto begin =
        std::lower_bound(borders_.begin(), borders_.end(), at,
                         [](const Border& b, std::uint32_t wanted) { return b.token < wanted; });
    CHECK(begin->token == at && begin + 1 < borders_.end());
    const auto behind = std::partition_point(begin + 1, borders_.end(), [&](const Border& b) {
        return b.token - begin->token <= tokens_max && b.byte - begin->byte <= bytes_max_now;
    });
    const Border& end = *std::max(begin + 1, behind - 1);
    CHECK(end.token > begin->token);
    return {std::string_view(bytes_).substr(begin->byte, end.byte - begin->byte),
            end.token - begin->token};
}

void Corpus::add(std::string_view escaped, std::uint32_t tokens_of_piece) {
    CHECK(bytes_.size() + escaped.size() <= 2 * bytes_max && tokens_of_piece > 0);
    bytes_ += escaped;
    borders_.push_back(
        {static_cast<std::uint32_t>(bytes_.size()), borders_.back().token + tokens_of_piece});
}

void Corpus::keep(std::uint32_t pieces_left) {
    CHECK(pieces_left <= pieces());
    borders_.resize(std::size_t{pieces_left} + 1);
    bytes_.resize(borders_.back().byte);
}

}  // namespace driftless
