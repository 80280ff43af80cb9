#include "cmd/replay/invocation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driftless {
namespace {

TEST(SecretsOfEnvironment, AreKeysAndPasswords) {
    struct Case {
        const char* entry;
        std::vector<std::string> secrets;
    };
    for (const Case& one : std::vector<Case>{
             {"HF_TOKEN=hf_AbCdEf1234", {"hf_AbCdEf1234", "AbCdEf1234"}},
             {"AWS_SECRET_ACCESS_KEY=/wJalrXUtnFEMI/K7MDENG", {"/wJalrXUtnFEMI/K7MDENG"}},
             {"PGPASSWORD=Tr0ub4dor", {"Tr0ub4dor"}},
             {"API_KEY_2=abcdefg1", {"abcdefg1"}},
             {"GITLAB_PAT=abcdefg1", {"abcdefg1"}},
             {"HTTPS_PROXY=http://me:w0rd@proxy:3128", {"me:w0rd"}},
             {"CONNECTION=Endpoint=h;AccountKey=abcd1234==", {"abcd1234=="}},
             // Words, hosts, paths: masking them would hide what servers say.
             {"PWD=/tmp", {}},
             {"OLDPWD=/a/folder/that/is/gone/1", {}},
             {"SSH_AUTH_SOCK=/tmp/ssh-1/agent.1", {}},
             {"XAUTHORITY=/home/u/.Xauthority", {}},
             {"AUTH_SERVICE_PORT_8000_TCP_ADDR=127.0.0.1", {}},
             {"KEYCLOAK_PORT_8080_TCP=tcp://10.0.0.1:8080", {}},
             {"GIT_AUTHOR_NAME=Jane-Doe-1", {}},
             {"SECRET_NAME=hf-secret-1", {}},
             {"API_KEY_HEADER=Authorization", {}},
             {"OAUTH_SCOPE=openid Profile", {}},
             {"PRIMARY_KEY=requests", {}},
             {"COMPASS=North-East-1", {}},
             {"TOKENIZERS_PARALLELISM=false", {}},
             {"EMPTY_TOKEN=", {}},
             {"NO_EQUALS_TOKEN", {}},
         }) {
        std::vector<std::string> secrets;
        for (const Header& secret : secrets_of_environment({one.entry})) {
            secrets.push_back(secret.value);
        }
        EXPECT_EQ(secrets, one.secrets) << one.entry;
    }
}

}  // namespace
}  // namespace driftless
