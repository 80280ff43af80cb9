#include "proto/http/request.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/http/fields.hpp"

namespace driftless {

static constexpr std::string_view http_scheme = "http://";
static constexpr std::string_view https_scheme = "https://";
static constexpr std::string_view unix_scheme = "unix:";
static constexpr std::uint16_t http_port = 80;
static constexpr std::uint16_t https_port = 443;

static Error invalid(const char* why) {
    return {ErrorCode::invalid, 0, why};
}

/// Cuts `prefix` off, whatever its case in `text`.
static bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!equal_ignoring_case(text.substr(0, prefix.size()), prefix)) {
        return false;
    }
    text.remove_prefix(prefix.size());
    return true;
}

/// A blank or a control byte would end the request line or a header.
static bool has_illegal_byte(std::string_view text) {
    return std::ranges::any_of(
        text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7F'; });
}

/// Splits "host:port" or "[v6]:port" into the Url.
static Result<void> read_authority(std::string_view authority, Url& url) {
    std::string_view port;
    if (!authority.empty() && authority.front() == '[') {
        const std::size_t close = authority.find(']');
        if (close == authority.npos) {
            return invalid("has an IPv6 address without a closing ]; add it");
        }
        url.host = authority.substr(1, close - 1);
        port = authority.substr(close + 1);
        if (url.host.find(':') == url.host.npos || (!port.empty() && port.front() != ':')) {
            return invalid("is not a URL; write an IPv6 address as [::1]:8000");
        }
    } else {
        const std::size_t colon = authority.find(':');
        if (colon != authority.npos && authority.find(':', colon + 1) != authority.npos) {
            return invalid("has more than one colon; write an IPv6 address as [::1]:8000");
        }
        url.host = authority.substr(0, colon);
        port = colon == authority.npos ? "" : authority.substr(colon);
    }
    if (url.host.empty()) {
        return invalid("has no host; write http://HOST:PORT");
    }
    if (port.empty()) {
        return {};
    }
    port.remove_prefix(1);
    const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (code != std::errc{} || end != port.data() + port.size() || url.port == 0) {
        return Error{ErrorCode::out_of_range, 0, "has no port between 1 and 65535; correct it"};
    }
    return {};
}

/// As authorities have it: IPv6 in brackets.
static std::string host_text(const Url& url) {
    return url.host.find(':') != url.host.npos ? "[" + url.host + "]" : url.host;
}

/// Length of the longest run of whole segments that ends `base` and begins `path`.
static std::size_t shared_bytes(std::string_view base, std::string_view path) {
    for (std::size_t bytes = std::min(base.size(), path.size()); bytes > 0; --bytes) {
        const bool whole_in_path = bytes == path.size() || path[bytes] == '/';
        if (whole_in_path && base.ends_with(path.substr(0, bytes))) {
            return bytes;
        }
    }
    return 0;
}

Result<Url> parse_url(std::string_view text) {
    Url url;
    if (has_illegal_byte(text)) {
        return invalid("has a blank or a control byte; remove it");
    }
    if (take_prefix(text, unix_scheme)) {
        url.unix_socket = true;
        url.host = text;
        return text.empty() ? Result<Url>(invalid("has no socket path; write unix:PATH"))
                            : Result<Url>(url);
    }
    if (take_prefix(text, https_scheme)) {
        url.tls = true;
        url.port = https_port;
    } else if (!take_prefix(text, http_scheme) && text.find("://") != text.npos) {
        return invalid("has an unknown scheme; write http:// or https://HOST:PORT, or unix:PATH");
    }
    if (text.find_first_of("?#") != text.npos) {
        return invalid("has a query or fragment; give only the base path");
    }
    const std::size_t slash = text.find('/');
    const std::string_view authority = text.substr(0, slash);
    if (authority.find('@') != authority.npos) {
        return invalid("has credentials; send them with --header 'Authorization: ...'");
    }
    if (Result<void> read = read_authority(authority, url); !read) {
        return read.error();
    }
    url.path = slash == text.npos ? "" : text.substr(slash);
    while (!url.path.empty() && url.path.back() == '/') {
        url.path.pop_back();
    }
    return url;
}

Result<Url> parse_place(std::string_view text) {
    std::string_view rest = text;
    const std::size_t colon = text.rfind(':');
    const bool has_port = colon != text.npos && text.find(']', colon) == text.npos;
    if (!take_prefix(rest, unix_scheme) && (!has_port || text.find('/') != text.npos)) {
        return invalid("is not an address to connect to; use HOST:PORT or unix:PATH");
    }
    return parse_url(text);
}

bool is_request_target(std::string_view text) {
    return !has_illegal_byte(text);
}

bool looks_like_url(std::string_view text) {
    return text.find("://") != text.npos || take_prefix(text, unix_scheme);
}

std::string host_header(const Url& url) {
    if (url.unix_socket) {
        return "localhost";
    }
    const bool is_usual = url.port == (url.tls ? https_port : http_port);
    return host_text(url) + (is_usual ? "" : ":" + std::to_string(url.port));
}

std::string to_text(const Url& url) {
    if (url.unix_socket) {
        return "unix:" + url.host;
    }
    return std::string(url.tls ? https_scheme : http_scheme) + host_header(url) + url.path;
}

std::string place_text(const Url& place) {
    return place.unix_socket ? to_text(place) : host_text(place) + ":" + std::to_string(place.port);
}

std::string join_path(std::string_view base, std::string_view path) {
    while (!base.empty() && base.back() == '/') {
        base.remove_suffix(1);
    }
    std::string joined(base.substr(0, base.size() - shared_bytes(base, path)));
    joined += path;
    return joined;
}

std::string root_path(std::string_view base, std::string_view api_path) {
    return std::string(base.substr(0, base.size() - shared_bytes(base, api_path)));
}

static constexpr std::string_view id_name = "X-Request-Id";
static constexpr std::string_view length_name = "Content-Length";
static constexpr std::string_view line_end = "\r\n";
static constexpr std::size_t length_digits_max = 20;  // of a 64-bit number

// Fields that belong to the framing, which is ours alone, or that would spoil every stamp: a server
// that compresses holds the stream back, one that is asked to continue adds a round trip.
static constexpr std::array<std::string_view, 5> reserved_names = {
    length_name, "Transfer-Encoding", "Accept-Encoding", "Expect", "TE"};

static bool has_field(const std::vector<Header>& headers, std::string_view name) {
    return std::ranges::any_of(
        headers, [name](const Header& header) { return equal_ignoring_case(header.name, name); });
}

static void append_field(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append(line_end);
}

static char* copy(char* out, std::string_view text) {  // memcpy would refuse a view of nothing
    return std::copy(text.begin(), text.end(), out);
}

Result<Header> parse_header(std::string_view text) {
    const Error invalid{ErrorCode::invalid, 0, "read a header"};
    const std::size_t cut = text.find_first_of(":=");
    if (cut == std::string_view::npos) {
        return invalid;
    }
    const std::string_view name = trim_blanks(text.substr(0, cut));
    const std::string_view value = trim_blanks(text.substr(cut + 1));
    const bool legal = is_header_name(name) && is_header_value(value);
    const bool reserved = std::ranges::any_of(reserved_names, [name](std::string_view other) {
        return equal_ignoring_case(name, other);
    });
    if (!legal || reserved) {
        return invalid;
    }
    return Header{std::string(name), std::string(value)};
}

void write_request_id(char* out, std::string_view run_id, const RequestName& name) {
    constexpr std::uint64_t passes = 10'000'000;
    constexpr std::uint64_t numbers = 1'000'000'000;
    std::copy_n("00000000-0000-8000-8000-000000000000", request_id_bytes, out);
    copy(out, run_id.substr(0, 8));
    const auto put = [out](std::size_t last, std::size_t digits, std::uint64_t value) {
        for (std::size_t i = 0; i < digits; ++i) {
            out[last - i] = static_cast<char>('0' + value % 10);
            value /= 10;
        }
    };
    put(12, 4, name.pass % passes / 1000);
    put(17, 3, name.pass % 1000);
    out[19] = static_cast<char>(name.kind);
    put(22, 3, name.attempt);
    put(35, 12, name.number + name.pass / passes * numbers);
}

std::string request_id_of(std::string_view run_id, const RequestName& name) {
    std::string id(request_id_bytes, '0');
    write_request_id(id.data(), run_id, name);
    return id;
}

RequestHead::RequestHead(const RequestHeadSpec& spec)
    : has_body_(spec.method == "POST" || spec.method == "PUT" || spec.method == "PATCH"),
      has_own_id_(has_field(spec.headers, id_name)) {
    CHECK(spec.target.starts_with('/'));
    fixed_ = spec.method + ' ' + spec.target + " HTTP/1.1\r\n";
    if (!has_field(spec.headers, "Host")) {
        append_field(fixed_, "Host", spec.host);
    }
    if (has_body_ && !has_field(spec.headers, "Content-Type")) {
        append_field(fixed_, "Content-Type", "application/json");
    }
    for (const Header& header : spec.headers) {
        append_field(fixed_, header.name, header.value);
    }
}

std::size_t RequestHead::bytes_max(std::size_t id_bytes_max, std::size_t fields_bytes_max) const {
    const std::size_t separators = 2 * std::string_view(": \r\n").size() + line_end.size();
    return fixed_.size() + id_name.size() + id_bytes_max + length_name.size() + length_digits_max +
           separators + fields_bytes_max;
}

std::size_t RequestHead::write(char* out, std::string_view request_id, std::uint64_t body_bytes,
                               std::string_view fields) const {
    char* end = copy(out, fixed_);
    end = copy(end, fields);
    if (!request_id.empty() && !has_own_id_) {
        end = copy(end, id_name);
        end = copy(end, ": ");
        end = copy(end, request_id);
        end = copy(end, line_end);
    }
    if (has_body_) {
        end = copy(end, length_name);
        end = copy(end, ": ");
        end = std::to_chars(end, end + length_digits_max, body_bytes).ptr;
        end = copy(end, line_end);
    }
    end = copy(end, line_end);
    return static_cast<std::size_t>(end - out);
}

namespace {

struct Known {
    std::string_view name;
    Placeholder placeholder;
};

}  // namespace

static constexpr std::array known{
    Known{"row", Placeholder::row},   Known{"session", Placeholder::session},
    Known{"tree", Placeholder::tree}, Known{"parent", Placeholder::parent},
    Known{"turn", Placeholder::turn}, Known{"pass", Placeholder::pass},
    Known{"user", Placeholder::user}};
static constexpr std::string_view kept_prefix = "kept.";

static bool is_name(std::string_view text) {
    const bool kept = text.starts_with(kept_prefix) && text.size() > kept_prefix.size();
    return kept || (!text.empty() && (text.front() < '0' || text.front() > '9') &&
                    std::all_of(text.begin(), text.end(), [](char c) {
                        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                               (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
                    }));
}

/// The name between the braces that open `text`; empty where they enclose none.
static std::string_view name_in_braces(std::string_view text) {
    const std::size_t end = text.find_first_of("{}", 1);
    if (end == text.npos || text[end] != '}') {
        return {};
    }
    const std::string_view name = text.substr(1, end - 1);
    return is_name(name) ? name : std::string_view{};
}

static TemplatePiece piece_of(std::string_view name, std::string& unknown) {
    if (const auto* const one = std::ranges::find(known, name, &Known::name); one != known.end()) {
        return {one->placeholder, ""};
    }
    if (name.starts_with(kept_prefix) && name.size() > kept_prefix.size()) {
        return {Placeholder::kept, std::string(name.substr(kept_prefix.size()))};
    }
    unknown = unknown.empty() ? name : unknown;
    return {};
}

/// What was meant for a placeholder: a known name with blanks around it, or without its closing
/// brace. `text` opens with a brace.
static std::string_view almost_name(std::string_view text) {
    const std::string_view inner = text.substr(1, text.find_first_of("{}", 1) - 1);
    const std::string_view name = trim(inner, " \t");
    const bool is_known =
        name.starts_with(kept_prefix) || std::ranges::count(known, name, &Known::name) > 0;
    return is_known ? inner : std::string_view{};
}

static void append_text(std::vector<TemplatePiece>& pieces, std::string_view text) {
    if (pieces.empty() || pieces.back().placeholder != Placeholder::none) {
        pieces.emplace_back();
    }
    pieces.back().text += text;
}

bool FieldTemplate::is_literal() const {
    return std::ranges::all_of(
        pieces, [](const TemplatePiece& piece) { return piece.placeholder == Placeholder::none; });
}

std::string FieldTemplate::literal() const {
    return pieces.empty() ? "" : pieces.front().text;  // text beside text is one piece
}

std::string to_text(const TemplatePiece& piece) {
    const auto* const one = std::ranges::find(known, piece.placeholder, &Known::placeholder);
    return one != known.end() ? std::string(one->name) : std::string(kept_prefix) + piece.text;
}

FieldTemplate parse_field_template(const Header& header, std::string& unknown) {
    FieldTemplate field;
    field.name = header.name;
    std::string_view rest = header.value;
    while (!rest.empty()) {
        const std::size_t brace = std::min(rest.find('{'), rest.size());
        if (brace > 0) {
            append_text(field.pieces, rest.substr(0, brace));
            rest.remove_prefix(brace);
            continue;
        }
        if (const std::string_view name = name_in_braces(rest); !name.empty()) {
            field.pieces.push_back(piece_of(name, unknown));
            rest.remove_prefix(name.size() + 2);
            continue;
        }
        const std::string_view doubled =
            rest.starts_with("{{") ? name_in_braces(rest.substr(1)) : std::string_view{};
        const bool is_escape = !doubled.empty() && rest.substr(doubled.size() + 3).starts_with('}');
        if (const std::string_view almost = almost_name(rest); !is_escape && !almost.empty()) {
            unknown = unknown.empty() ? almost : unknown;
        }
        append_text(field.pieces, is_escape ? rest.substr(1, doubled.size() + 2) : "{");
        rest.remove_prefix(is_escape ? doubled.size() + 4 : 1);
    }
    return field;
}

/// The 16 digits of 64 bits.
static char* write_hex(char* out, std::uint64_t value) {
    for (int shift = 60; shift >= 0; shift -= 4) {
        *out++ = "0123456789abcdef"[value >> shift & 15];
    }
    return out;
}

// Every step from the row to the first number is a bijection: no two rows of a run share it.
TraceContext trace_context_of(std::string_view run_id, std::uint64_t row) {
    Digest run;
    run.add(run_id);
    Random random(run.value() ^ mix64(row));
    TraceContext context;
    context.trace_high = random.next();
    context.trace_low = random.next();  // only one number of a stream is 0: not both of these
    context.span = std::max<std::uint64_t>(random.next(), 1);
    return context;
}

std::string trace_id_text(const TraceContext& context) {
    return hex_text(context.trace_high) + hex_text(context.trace_low);
}

char* write_traceparent(char* out, const TraceContext& context) {
    out = copy(out, "traceparent: 00-");
    out = write_hex(write_hex(out, context.trace_high), context.trace_low);
    out = copy(out, "-");
    out = write_hex(out, context.span);
    return copy(out, "-01\r\n");
}

}  // namespace driftless
