#include "cmd/doctor/doctor.hpp"

#include <algorithm>
#include <cstdio>

#include "cmd/doctor/findings.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/screen/print.hpp"
#include "cmd/version.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr int doctor_schema = 1;

std::ptrdiff_t count_of(const std::vector<HostFinding>& findings, Grade grade) {
    return std::count_if(findings.begin(), findings.end(),
                         [grade](const HostFinding& one) { return one.grade == grade; });
}

void print_text(const std::vector<HostFinding>& findings) {
    for (const HostFinding& one : findings) {
        print(stdout, "{:<8} {:<15} {}\n", name_of(one.grade), one.topic, one.found);
        if (!one.remedy.empty()) {
            print(stdout, "{:<8} {:<15} > {}\n", "", "", one.remedy);
        }
    }
    const std::ptrdiff_t faults = count_of(findings, Grade::fault);
    const std::ptrdiff_t warnings = count_of(findings, Grade::warning);
    print(stdout, "{}; {} warning{}\n",
          faults == 0 ? "a replay can run here" : "a replay cannot run here", warnings,
          warnings == 1 ? "" : "s");
}

std::string to_json(const std::vector<HostFinding>& findings) {
    std::string text;
    JsonWriter json(text);
    json.begin_object().key("schema").integer(doctor_schema);
    json.key("driftless").string(version());
    json.key("can_replay").boolean(count_of(findings, Grade::fault) == 0);
    json.key("findings").begin_array();
    for (const HostFinding& one : findings) {
        json.begin_object().key("grade").string(name_of(one.grade));
        json.key("topic").string(one.topic);
        json.key("found").string(one.found);
        json.key("remedy");
        one.remedy.empty() ? json.null() : json.string(one.remedy);
        json.end_object();
    }
    json.end_array().end_object();
    return text + "\n";
}

}  // namespace

int run_doctor(int argc, char** argv) {
    const ParsedDoctor parsed = parse_doctor_options(argc, argv);
    if (parsed.exit_code) {
        return *parsed.exit_code;
    }
    const std::vector<HostFinding> findings = judge_host(read_host(parsed.options));
    if (parsed.options.json) {
        std::fputs(to_json(findings).c_str(), stdout);
    } else {
        print_text(findings);
    }
    return count_of(findings, Grade::fault) == 0 ? exit_done : exit_host;
}

}  // namespace driftless
