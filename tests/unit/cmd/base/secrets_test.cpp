// No key, token or password survives in what is shown or recorded.
#include "cmd/base/secrets.hpp"

#include "cmd/flags/settings.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

TEST(Secrets, MaskUrlsAndCommandLines) {
    EXPECT_EQ(mask_url("http://user:word@host:80/v1"), "http://***@host:80/v1");
    EXPECT_EQ(mask_url("http://user:w@rd@host"), "http://***@host");
    EXPECT_EQ(mask_url("user:word@host:80"), "***@host:80");
    EXPECT_EQ(mask_url("http://host/a@b"), "http://host/a@b");
    expect_each(mask_url, gives("sk-1@host:8000", "***@host:8000"), gives("sk-1@host", "***@host"),
                gives("unix:@name", "unix:@name"));
    EXPECT_EQ(mask_url("http://host:80"), "http://host:80");
    EXPECT_EQ(mask_url("http://user:w/rd@host:80/v1"), "http://***@host:80/v1");
    EXPECT_EQ(mask_url("http:/user:word@host"), "http:/***@host");
    EXPECT_EQ(mask_url("http://host:80/a:b@c"), "http://host:80/a:b@c");
    EXPECT_EQ(mask_url("http://[::1]:80/a@b"), "http://[::1]:80/a@b");
    EXPECT_EQ(mask_url("https//user:word@host/x"), "https//***@host/x");
    EXPECT_EQ(mask_url("user:word@host//x"), "***@host//x");
    EXPECT_EQ(mask_url("user:word@host:1//x#y"), "***@host:1//x#y");
    // Parameters that carry credentials, whatever stands around them; others stay.
    EXPECT_EQ(mask_url("http://h/v1?api_key=sk-1"), "http://h/v1?api_key=***");
    EXPECT_EQ(mask_url("/v1?api-version=2&api-key=sk-1&x=y"), "/v1?api-version=2&api-key=***&x=y");
    EXPECT_EQ(mask_url("http://u:w@h?Access_Token=a=b;sig=c#token=d"),
              "http://***@h?Access_Token=***;sig=***#token=***");
    EXPECT_EQ(mask_url("http://h?api%5Fkey=sk-1"), "http://h?api%5Fkey=***");
    for (const char* plain : {"http://h/v1?api_key=", "http://h/v1?api_key", "http://h/token=a",
                              "/v1?design=1&n=code", "?", "http://h/?"}) {
        EXPECT_EQ(mask_url(plain), plain);
    }
    std::vector<std::string> values =
        members_of(secret_parameters("/v1?key=a%2Bb%&x=1&code=c%2"), &Header::value);
    EXPECT_EQ(values, (std::vector<std::string>{"a%2Bb%", "a+b%", "c%2"}));
    // Both spellings of a flag with its value, and nothing else is touched.
    std::vector<std::string> typed = words_of(
        "replay t.jsonl --api-key sk-1 --api-key=sk-2 --header=X-Api-Key=sk-4 --header X-Team:a "
        "--url http://u:sk-5@h --speed 2 --header");
    std::vector<std::string> masked = words_of(
        "replay t.jsonl --api-key *** --api-key=*** --header=X-Api-Key=*** --header X-Team:a "
        "--url http://***@h --speed 2 --header");
    typed.emplace_back("Authorization: Bearer sk-3");
    masked.emplace_back("Authorization:***");
    EXPECT_EQ(mask_command(typed), masked);
}

// Words of an event stand behind whatever blanks.
TEST(Secrets, MaskWhatStandsInTexts) {
    expect_each(mask_event, gives("+1s post http://u:w@a/b", "+1s post http://***@a/b"),
                gives("\t+1s \tpost\t http://u:w@a/b", "\t+1s \tpost\t http://***@a/b"),
                gives("+1s label post a:b@c", "+1s label post a:b@c"),
                gives("+1s post", "+1s post"), gives("", ""));
    expect_each(mask_any,
                gives("kind=openai_http,target=http://u:w@h,api_key=k1,model=m",
                      "kind=openai_http,target=http://***@h,api_key=***"),
                gives("my_api_key=k1", "my_api_key=***"), gives("vllm", "vllm"),
                gives(R"({"headers":{Authorization:"Bearer k1"},"n":1})",
                      R"({"headers":{Authorization:"***"},"n":1})"));
    EXPECT_EQ(mask_command({"OPENAI_API_KEY=sk-1", "CUDA_VISIBLE_DEVICES=0", "HF_TOKEN=", "vllm"}),
              (std::vector<std::string>{"OPENAI_API_KEY=***", "CUDA_VISIBLE_DEVICES=0",
                                        "HF_TOKEN=", "vllm"}));
    EXPECT_EQ(assigned_secret_at("api_key=sk-1"), 8U);
    for (const char* other : {"", "=", "a=b", "OPENAI_API_KEY", "keys/a=b", "a?key=b"}) {
        EXPECT_EQ(assigned_secret_at(other), 0U) << other;
    }
    // Nobody knows what a URL that cannot be read was meant to be.
    EXPECT_EQ(mask_refused(mask_url, "http://user:hunter2#@a:1"), "http://***@a:1");
    EXPECT_EQ(mask_refused(mask_url, "http://user:hun?ter2@a"), "http://***@a");
    EXPECT_EQ(mask_refused(mask_url, "https//user:hunter2@a"), "https//***@a");
    EXPECT_EQ(mask_refused(mask_url, "http://a/x?k=hunter2"), "http://a/x?***");
    EXPECT_EQ(mask_refused(mask_event, "+1s pots http://u:hunter2#@a/x"),
              "+1s pots http://***@a/x");
    EXPECT_EQ(mask_refused(mask_url, "unix:@name"), "unix:@name");
    EXPECT_EQ(mask_refused(nullptr, "a@b?c"), "a@b?c");
    EXPECT_EQ(mask_refused(mask_header, "X-Team hunter2"), "***");
    EXPECT_EQ(mask_refused(mask_header, "Content-Length: hunter2"), "Content-Length:***");
    EXPECT_EQ(mask_refused(mask_event, "+1s post http://u:hun ter2@a/x"),
              "+1s post http://***@a/x");
    EXPECT_EQ(mask_refused(mask_url, "u:hunter2@a//x#y"), "***@a//x#***");
    EXPECT_EQ(mask_refused(mask_url, "http://a/#hunter2"), "http://a/#***");
    EXPECT_EQ(mask_refused(mask_json, R"(["hunter2"])"), "***");
    EXPECT_EQ(mask_refused(mask_json, "{top_p}"), "{top_p}");
    EXPECT_EQ(mask_refused(nullptr, "token=hunter2"), "token=***");
}

// A reference to the environment is no secret: it is what run.json keeps of one.
TEST(Secrets, LeaveReferencesAndKnowWhatCarriesThem) {
    EXPECT_EQ(environment_name("env:MY_KEY2"), "MY_KEY2");
    for (const char* other : {"", "env:", "env:a-b", "env:a b", "Env:A", "xenv:A", "sk-env:A"}) {
        EXPECT_EQ(environment_name(other), "") << other;
    }
    EXPECT_EQ(mask_key("env:MY_KEY"), "env:MY_KEY");
    EXPECT_EQ(mask_key("env:my key"), "***");
    EXPECT_EQ(mask_header("X-Api-Key: env:MY_KEY"), "X-Api-Key: env:MY_KEY");
    EXPECT_EQ(mask_header("X-Api-Key : s3cret"), "X-Api-Key :***");
    EXPECT_EQ(mask_header("Authorization s3cret"), "***");
    EXPECT_EQ(mask_header("X-Team a"), "X-Team a");
    for (const char* name :
         {"Authorization", "authorization", "Proxy-Authorization", "Cookie", "X-API-Key", "api-key",
          "X-Auth-Token", "Client-Secret", "apiKey", "DB_PASSWORD", "SECRET_KEY_BASE",
          "accessToken2", "credentials", "api_keys"}) {
        EXPECT_TRUE(is_secret_name(name)) << name;
    }
    for (const char* name : {"X-Team", "Accept", "User-Agent", "traceparent", "--key-file",
                             "tokenizer", "prompt_cache_key", "author", "eos_token_id", "keyspace",
                             "kv_key_dtype", "key-value-heads", "SECRET_NAME", "API_KEY_HEADER",
                             "X-Auth-Mode", "KEYCLOAK_PORT", "compass"}) {
        EXPECT_FALSE(is_secret_name(name)) << name;
    }
    // By its value, where its name does not tell.
    for (const auto& [typed, shown] : {
             std::pair("X-Custom: Bearer k1", "X-Custom: Bearer ***"),
             std::pair("bearer=k1", "bearer=***"),
             std::pair("X-Foo: Basic a2V5", "X-Foo: Basic ***"),
             std::pair("X-Foo: Digest username=\"u\", response=\"k1\"", "X-Foo: Digest ***"),
             std::pair("X-Hub: sk-k1", "X-Hub: sk-***"),
             std::pair("X-Org: org=1; key=k1", "X-Org: org=1; key=***"),
             std::pair("Referer: http://h/?token=k1&a=b", "Referer: http://h/?token=***&a=b"),
             std::pair("X-JWT: k1", "X-JWT:***"),
             std::pair("X-Pass: k1", "X-Pass:***"),
             std::pair("X-Max-Tokens: 5", "X-Max-Tokens: 5"),
             std::pair("X-Plan: Basic tier of two", "X-Plan: Basic tier of two"),
             std::pair("X-Session: {session}", "X-Session: {session}"),
             std::pair("X-Routing-Key: {kept.user}", "X-Routing-Key: {kept.user}"),
             std::pair("X-Sort-Key: latency", "X-Sort-Key: latency"),
             std::pair("X-Monkey: george", "X-Monkey: george"),
             std::pair("X-Key: {\"a\": 1}", "X-Key:***"),
             std::pair("X-Auth: none", "X-Auth: none"),
             std::pair("X-Api-Key: latency", "X-Api-Key:***"),
             std::pair("X-Auth: user:word", "X-Auth:***"),
         }) {
        EXPECT_EQ(mask_header(typed), shown);
    }
    // A line of a trace that cannot be read, as it stands or quoted in an error; it may be cut.
    EXPECT_EQ(mask_members(R"({"a": 1, "api_key" : "sk-1", "b": "c"})"),
              R"({"a": 1, "api_key" : "***", "b": "c"})");
    EXPECT_EQ(mask_members(R"(t:1: "{\"api_key\": \"sk-1\", \"in" ends)"),
              R"(t:1: "{\"api_key\": \"***\", \"in" ends)");
    EXPECT_EQ(mask_members(R"({"api_key": "sk-)"), R"({"api_key": "***)");
    EXPECT_EQ(mask_members(R"({"key": "a\"b", "c": "d"})"), R"({"key": "***", "c": "d"})");
    EXPECT_EQ(mask_members(R"("{\"key\": \"a\\\"b\"}")"), R"("{\"key\": \"***\"}")");
    for (const char* text : {R"(key "x" is no number)", R"("x")", "", "\""}) {
        EXPECT_EQ(mask_members(text), text);
    }
}

// A hook's command may give a program its key.
TEST(Secrets, AreFoundInShellCommandsAndListedForMasking) {
    const auto masked = [](const char* command) {
        return mask_event("+1s run " + std::string(command)).substr(8);
    };
    EXPECT_EQ(masked("curl -H 'Authorization: Bearer sk-1' http://h:80/x"),
              "curl -H 'Authorization: ***' http://h:80/x");
    expect_each(masked,
                gives("curl -H \"X-Api-Key: a b\" -H X-Token:c;true",
                      "curl -H \"X-Api-Key: ***\" -H X-Token:***;true"),
                gives("KEY=sk-1 TOKEN='a b' run --api-key=sk-2 --max-tokens=5 name=x",
                      "KEY=*** TOKEN='***' run --api-key=*** --max-tokens=5 name=x"),
                gives("curl -H \"X-Key: $KEY\" h", "curl -H \"X-Key: $KEY\" h"));
    for (const char* plain :
         {"curl -H 'Content-Type: text' http://token:80", "x --max-tokens 5 --tokenizer a --key -v",
          "x -u me --token", "x --api-key $KEY", "x desk-1 http://h/a@b", "date +%H:%M"}) {
        EXPECT_EQ(masked(plain), plain);
    }
    expect_each(masked,
                gives("x --api-key K1 --hf-token 'K 2' y", "x --api-key *** --hf-token '***' y"),
                gives("KEY=a,b\"c\"} x --key 'K'", "KEY=*** x --key '***'"),
                gives("curl -u me:K http://a:b@h/x", "curl -u me:*** http://***@h/x"),
                gives("x sk-1 \"hf_2\"; y AKIA0 eyJ0.x ghp_1",
                      "x sk-*** \"hf_***\"; y AKIA*** eyJ*** ghp_***"),
                gives("curl -d '{\"token\":\"K\", \"n\": 1}' h",
                      "curl -d '{\"token\":\"***\", \"n\": 1}' h"),
                gives("curl -d \"{\\\"password\\\":\\\"K\\\"}\" h",
                      "curl -d \"{\\\"password\\\":\\\"***\\\"}\" h"));
    // A word is one, however it is quoted, escaped or continued; and commands stand in words.
    expect_each(masked,
                gives("curl -H \"Authorization: Bearer \"K h", "curl -H \"Authorization: *** h"),
                gives("curl -H Authorization:\\ Bearer\\ K h", "curl -H Authorization:\\ *** h"),
                gives("HF_TOKEN=\"ab\"\"K\" x", "HF_TOKEN=\"***\" x"),
                gives("export TOKEN=\"\"K TOKEN=$'K'", "export TOKEN=\"\"*** TOKEN=$'***'"),
                gives("x --api-key \\\n K", "x --api-key \\\n ***"),
                gives("sh -c 'curl -u \"me:K\" h'", "sh -c 'curl -u \"me:***\" h'"),
                gives("X=${TOKEN:-K}", "X=${TOKEN:***"));
    // Options that are known, and words that tell of the next.
    expect_each(masked, gives("curl -uuser:K --user=user:K", "curl -uuser:*** --user=user:***"),
                gives("curl -su me:K; aws configure set aws_secret_access_key K",
                      "curl -su me:***; aws configure set aws_secret_access_key ***"),
                gives("curl -b a=K --oauth2-bearer K", "curl -b a=*** --oauth2-bearer ***"),
                gives("sshpass -p K x; mysql -pK; redis-cli -a K",
                      "sshpass -p *** x; mysql -p***; redis-cli -a ***"),
                gives("sudo docker login -p K && vault login K",
                      "sudo docker login -p *** && vault login ***"),
                gives("x password K; x Bearer K; x 'h?token=K'",
                      "x password ***; x Bearer ***; x 'h?token=***'"),
                gives("MYPASS=K DB_PASS=1 x", "MYPASS=*** DB_PASS=*** x"));
    for (const char* plain :
         {"docker run -u 1:1 -p 80:80 x", "docker login --password-stdin h",
          "docker run -e HF_TOKEN img:1", "date -u +%H:%M", "x --sort-key latency --auth=off",
          "pip install hf_transfer", "curl -b jar.txt h", "kubectl get secret x",
          "x --key-file a --tokenizer=b --tokens 5",
          "curl -d '{\"a\": \"b c\", \"max_tokens\": 5}' h", "mysql -p db", "x '$KEY' $(cat key)",
          "sh -c 'curl -H \"X-Key: $KEY\" -u \"$U:$P\"'", "curl keyhost:80/x"}) {
        EXPECT_EQ(masked(plain), plain);
    }
    // A server may repeat the bare token without its scheme; very short values would mask plain
    // words. The longest comes first: of two that begin alike, the rest of the longer one would
    // stay.
    EXPECT_EQ(secrets_of({{"Authorization", "Bearer sk-123"}, {"X-Api-Key", "abc"}}),
              (Texts{"Bearer sk-123", "sk-123"}));
    EXPECT_EQ(secrets_of({{"Authorization", "Basic  dTpw"}, {"Cookie", "a=1; b=2"}}),
              (Texts{"Basic  dTpw", "a=1; b=2", "dTpw"}));
    EXPECT_EQ(
        secrets_of({{"Authorization", "basic dXNlcjpwYXNzd29yZA=="}}),
        (Texts{"basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA==", "user:password", "password"}));
    EXPECT_EQ(secrets_of({{"Cookie", "sid=\"abcdef\"; other = 12345;last=wxyz"}}),
              (Texts{"sid=\"abcdef\"; other = 12345;last=wxyz", "other = 12345;last=wxyz",
                     "= 12345;last=wxyz", "12345;last=wxyz", "abcdef", "12345", "wxyz"}));
    EXPECT_EQ(secrets_of({{"X-Key", "sk-1"}, {"X-Token", "sk-1-more"}, {"X-Auth", "sk-1"}}),
              (Texts{"sk-1-more", "sk-1"}));
}

// At whatever depth, as text and as written; numbers are no keys, and other members stay.
TEST(Secrets, AreFoundInBodiesAndUrlsWhereTheyStand) {
    const char* const body =
        R"({"max_tokens": 5, "api_key":"a\u0062c","n":{"x":[{"Secret":["one","one"]}]},"top":"t"})";
    std::vector<std::string> found;
    for (const SecretMember& member : secret_members(body)) {
        found.push_back(member.name + "=" + member.value + "=" + member.raw);
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, (std::vector<std::string>{R"(Secret=one="one")", R"(Secret=one="one")",
                                               R"(api_key=abc="a\u0062c")"}));
    EXPECT_EQ(
        mask_json(body),
        R"({"max_tokens": 5, "api_key":"***","n":{"x":[{"Secret":["***","***"]}]},"top":"t"})");
    EXPECT_TRUE(secret_members("{\"api_key\":").empty());
    EXPECT_TRUE(secret_members(R"({"prompt_cache_key":"abcd","eos_token":"</s>",)"
                               R"("tools":[{"properties":{"key":{"type":"string"}}}]})")
                    .empty());
    EXPECT_EQ(mask_json("{\"api_key\":\"sk"), "***");
    EXPECT_EQ(mask_json(R"({"x":"Bearer k","u":"http://h/?token=k","credentials":{"v":["k"]}})"),
              R"({"x":"Bearer ***","u":"http://h/?token=***","credentials":{"v":["***"]}})");
    const char* const prose = R"({"a":"The key: it is a bearer of news.","max_tokens":5})";
    EXPECT_EQ(mask_json(prose), prose);
    EXPECT_EQ(mask_json("{top_p}"), "{top_p}");
    // What looks like the user of a URL is one in flags of URLs, and text in all others.
    const char* const other_body = R"({"user":"me:you@example.org"})";
    EXPECT_EQ(mask_json(other_body), other_body);
    for (const char* flag : {"--label", "--cache-salt", "--model", ""}) {
        EXPECT_EQ(mask_value(mask_of(flag), "a:b@c"), "a:b@c") << flag;
    }
    for (const char* flag :
         {"--url", "--base-url", "--target", "-u", "--endpoint", "--host", "--connect-to"}) {
        EXPECT_EQ(mask_value(mask_of(flag), "a:b@c"), "***@c") << flag;
    }
}

}  // namespace
}  // namespace driftless
