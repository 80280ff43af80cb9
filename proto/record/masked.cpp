#include "proto/record/masked.hpp"

#include <algorithm>

#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

/// Bytes of the longest head of `secret` that ends `text`; 0 where it is too short to matter.
std::size_t head_at_end(std::string_view text, std::string_view secret) {
    for (std::size_t size = std::min(text.size(), secret.size()); size >= secret_bytes_min;
         --size) {
        if (text.ends_with(secret.substr(0, size))) {
            return size;
        }
    }
    return 0;
}

}  // namespace

std::string masked(std::string_view text, const std::vector<std::string>& secrets,
                   std::size_t bytes_max) {
    std::string out(text);
    for (const std::string& secret : secrets) {
        if (secret.empty()) {
            continue;
        }
        for (std::size_t at = out.find(secret); at != std::string::npos;
             at = out.find(secret, at + mask_text.size())) {
            out.replace(at, secret.size(), mask_text);
        }
    }
    for (const std::string& secret : secrets) {
        if (const std::size_t size = head_at_end(out, secret); size > 0) {
            out.replace(out.size() - size, size, mask_text);
        }
    }
    out.resize(cut_at_code_point(out, bytes_max).size());
    return out;
}

}  // namespace driftless
