/// The part of run.json that the server answered before time 0: what the preflight found, and the
/// prompts that were held against its tokenizer. Called by run_file.cpp alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/replay/server/server.hpp"
#include "engine/preflight/verify.hpp"
#include "engine/stats/cache_probe.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// Key and value of `preflight`: an object, or null where there was none. `warnings` stand behind
/// its own notes.
void write_preflight(JsonWriter& json, const Server& server,
                     const std::vector<std::string>& warnings);

/// Key and value of `cache_probe`.
void write_cache_probe(JsonWriter& json, const CacheProbe& probe);

/// Key and value of `verified`: an object, or null where nothing was.
void write_verified(JsonWriter& json, const std::optional<VerifyFindings>& verified);

}  // namespace driftless
