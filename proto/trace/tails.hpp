/// Tails: whether every block id names one block, of one length.
///
/// A partial last block has an id too (TailRule::ceil), and in every public trace an id has one
/// length wherever it stands. Where it has two, its blocks share the shorter one's tokens: sharing
/// is less than equal ids promise, which a person should know. Pure.
#pragma once

#include <cstdint>

#include "proto/trace/row.hpp"

namespace driftless {

/// The number of ids that name a partial block of one length and, in another row, a block of
/// another. Each counts once in its namespace.
std::uint64_t uneven_tails(const Trace& trace);

}  // namespace driftless
