#include "cmd/replay/flags/described_api.hpp"

#include <utility>

#include "cmd/whole_file.hpp"

namespace driftless {

std::string describe_api(const Dialect*& dialect, const std::string& file,
                         std::unique_ptr<DescribedApi>& described) {
    if (!dialect->described_by_file) {
        return file.empty() ? "" : "--template is for --api template; give both";
    }
    if (file.empty()) {
        return "--api template needs --template FILE, which describes the server";
    }
    const Result<std::string> text = read_whole_file(file);
    if (!text) {
        return "--template " + file + " cannot be read: " + reason_of(text.error());
    }
    std::string why;
    Result<ApiTemplate> form = read_api_template(text.value(), why);
    if (!form) {
        return "--template " + file + ": " + why;
    }
    described = std::make_unique<DescribedApi>();
    described->form = std::move(form).value();
    described->dialect = dialect_of(described->form);
    dialect = &described->dialect;
    return "";
}

void note_api(const std::vector<std::string>& typed, const Dialect& dialect,
              std::vector<std::string>& notes) {
    if (typed.size() == 1 && typed.front() != dialect.name) {
        notes.push_back("the API " + typed.front() + " is taken as " + dialect.name);
    }
}

}  // namespace driftless
