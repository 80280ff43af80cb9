#include "engine/plan/row_models.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "engine/plan/row_values.hpp"
#include "proto/json/write.hpp"

namespace driftless {

std::string RowModels::opening(std::string_view model) {
    std::string text = "{\"model\":";
    JsonWriter(text).string(model);
    return text;
}

RowModels::RowModels(const FieldTemplate& model, const Trace& trace, const Plan& plan,
                     InputErrors& errors) {
    RowValues values(trace);
    std::map<std::string, std::uint16_t> numbers;
    of_row_.assign(trace.rows.size(), 0);
    for (const Planned& planned : plan.rows) {
        const TraceRow& row = trace.rows[planned.row];
        values.set(row);
        std::optional<std::string> name = values.text_of(model);
        name = name && name->empty() ? std::nullopt : name;
        const bool is_new = name && numbers.find(*name) == numbers.end();
        if (!name || (is_new && numbers.size() == names_max)) {
            InputError error;
            error.file = trace.file_of(row);
            error.line = row.line;
            error.field = model.name;
            error.value = name.value_or("");
            error.problem = name ? "is a model name longer than " + std::to_string(names_max)
                                 : "has no value for --model";
            error.remedy = "name a column with a model in every row, or one model for all";
            errors.add(std::move(error));
            continue;
        }
        const auto number = static_cast<std::uint16_t>(names_.size());
        const auto placed = numbers.emplace(*name, number);
        of_row_[planned.row] = placed.first->second;
        if (placed.second) {
            names_.push_back(*name);
            openings_.push_back(opening(*name));
            opening_bytes_max_ = std::max(opening_bytes_max_, openings_.back().size());
        }
    }
}

}  // namespace driftless
