#include "cmd/replay/flags/model_option.hpp"

#include <algorithm>
#include <utility>

#include "cmd/replay/flags/option_values.hpp"
#include "cmd/trace_values.hpp"

namespace driftless {

namespace {

/// The column is kept, so that its text is at hand when the models are named.
std::string take_mapped_model(ReplayOptions& options) {
    const std::string column = take_model_column(options.workload.files.map);
    if (column.empty()) {
        return "";
    }
    if (!options.request.model.empty()) {
        return "--model " + options.request.model + " and --map model=" + column +
               " both name the model; remove one";
    }
    if (column.find_first_of("{}") != std::string::npos) {
        return "--map model=" + column +
               ": a column with braces in its name cannot be mapped; rename the column in the "
               "trace";
    }
    std::vector<std::string>& keep = options.workload.files.keep;
    if (std::find(keep.begin(), keep.end(), column) == keep.end()) {
        keep.push_back(column);
    }
    options.workload.files.model_column = column;
    options.request.model = "{kept." + column + "}";
    return "";
}

}  // namespace

std::string complete_model(ReplayOptions& options) {
    if (std::string why = take_mapped_model(options); !why.empty()) {
        return why;
    }
    std::string unknown;
    FieldTemplate model = parse_field_template({"--model", options.request.model}, unknown);
    const auto is_other = [](const TemplatePiece& piece) {
        return piece.placeholder != Placeholder::none && piece.placeholder != Placeholder::kept;
    };
    const auto other = std::find_if(model.pieces.begin(), model.pieces.end(), is_other);
    if (other != model.pieces.end()) {
        unknown = to_text(*other);
    }
    if (!unknown.empty()) {
        return "--model: {" + unknown + "} is not {kept.COLUMN}; {{" + unknown +
               "}} stands for that text itself";
    }
    if (model.is_literal()) {
        options.request.model = model.literal();
        return "";
    }
    if (const std::string why = unkept_column(model, options.workload.files.keep); !why.empty()) {
        return "--model: " + why;
    }
    if (!options.request.dialect->names_model || options.request.dialect->form != nullptr ||
        !names_model_first(*options.request.dialect)) {
        return std::string("--model with a column cannot be used with --api ") +
               options.request.dialect->name +
               ": its requests do not name a model; remove the column";
    }
    options.request.row_model = std::move(model);
    return "";
}

}  // namespace driftless
