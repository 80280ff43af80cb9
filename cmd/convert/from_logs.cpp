#include "cmd/convert/from_logs.hpp"

#include <cstdio>

#include "cmd/convert/salt.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "engine/crypto/keyed_hash.hpp"
#include "engine/logs/read_logs.hpp"
#include "engine/prompt/load_tokenizer.hpp"

namespace driftless {
namespace {

/// Blocks that most servers use; a trace of larger ones says less about what they share.
constexpr std::uint32_t usual_block_size = 16;

int refuse(const std::string& why, int code) {
    complain("driftless: %s", why.c_str());
    return code;
}

}  // namespace

int read_from_logs(const ConvertOptions& options, Trace& trace, InputErrors& errors,
                   std::vector<std::string>& notes) {
    std::string salt;
    const std::string why_no_salt = read_salt(options.logs.salt_file, options.logs.salt_env, salt);
    if (!why_no_salt.empty()) {
        return refuse(why_no_salt, exit_usage);
    }
    Result<KeyedHash> hash = KeyedHash::create(salt);
    wipe(salt);
    if (!hash) {
        return refuse(
            "this host's OpenSSL has no HMAC-SHA-256, which block ids need; install a full OpenSSL "
            "3",
            exit_host);
    }
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(options.logs.tokenizer, why);
    if (!tokenizer) {
        return refuse("--tokenizer " + why, exit_input);
    }
    LogFiles files;
    files.paths = options.files.paths;
    files.format = options.logs.format;
    files.block_size = options.files.block_size > 0 ? options.files.block_size : usual_block_size;
    files.lenient = options.files.lenient;
    files.keep = options.files.keep;
    return read_logs(files, tokenizer.value(), hash.value(), trace, errors, notes) ? exit_done
                                                                                   : exit_input;
}

}  // namespace driftless
