#include "engine/logs/block_ids.hpp"

#include <algorithm>
#include <string_view>

#include "proto/core/check.hpp"

namespace driftless {
namespace {

/// Sets these chains apart from all else that may be hashed under the same secret.
constexpr std::string_view chain_name = "driftless prompt blocks 1";

/// What stands for a token that is not known: no tokenizer has it.
constexpr std::uint32_t unknown_token = 0xFFFFFFFF;

}  // namespace

PromptBlocks::PromptBlocks(KeyedHash& hash, std::uint32_t block_size)
    : hash_(hash), block_size_(block_size) {
    CHECK(block_size > 0);
    bytes_.assign(chain_name.begin(), chain_name.end());
    add_u32(block_size);
    first_ = hash_.of(bytes_);
}

/// Little-endian, on every machine.
void PromptBlocks::add_u32(std::uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
        bytes_.push_back(static_cast<unsigned char>(value >> shift));
    }
}

void PromptBlocks::append(std::span<const TokenId> tokens, std::uint32_t length,
                          std::vector<std::uint64_t>& ids) {
    const std::uint64_t known = std::min<std::uint64_t>(tokens.size(), length);
    KeyedHash::Value value = first_;
    for (std::uint64_t begin = 0; begin < length; begin += block_size_) {
        const std::uint64_t end = std::min<std::uint64_t>(begin + block_size_, length);
        bytes_.assign(value.begin(), value.end());
        for (std::uint64_t i = begin; i < end; ++i) {
            add_u32(i < known ? static_cast<std::uint32_t>(tokens[i]) : unknown_token);
        }
        if (end > known) {
            add_u32(length);
        }
        value = hash_.of(bytes_);
        std::uint64_t id = 0;
        for (unsigned i = 0; i < 8; ++i) {
            id |= std::uint64_t{value[i]} << (8 * i);
        }
        ids.push_back(id);
    }
}

}  // namespace driftless
