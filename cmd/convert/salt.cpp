#include "cmd/convert/salt.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cmd/environment.hpp"

namespace driftless {
namespace {

constexpr const char* remedy = "make one with: openssl rand -hex 32";

std::string read_file(const std::string& path, std::string& salt) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               &std::fclose);
    if (file == nullptr) {
        return "--salt-file " + path + ": " + std::strerror(errno) + "; " + remedy;
    }
    salt.resize(salt_bytes_max + 1);
    salt.resize(std::fread(salt.data(), 1, salt.size(), file.get()));
    return std::ferror(file.get()) != 0 ? "--salt-file " + path + ": cannot be read" : "";
}

}  // namespace

std::string read_salt(const std::string& file, const std::string& variable, std::string& salt) {
    const std::string source = file.empty() ? "--salt-env " + variable : "--salt-file " + file;
    if (!file.empty()) {
        const std::string why = read_file(file, salt);
        if (!why.empty()) {
            return why;
        }
    } else if (const char* const value = std::getenv(variable.c_str()); value != nullptr) {
        salt = value;
        wipe_variable(variable);
    } else {
        return source + ": is not set; " + remedy;
    }
    salt.resize(salt.find_last_not_of(" \t\r\n") + 1);
    if (salt.size() < salt_bytes_min || salt.size() > salt_bytes_max) {
        return source + ": holds " + std::to_string(salt.size()) + " bytes; a salt has " +
               std::to_string(salt_bytes_min) + " to " + std::to_string(salt_bytes_max) + "; " +
               remedy;
    }
    return "";
}

}  // namespace driftless
