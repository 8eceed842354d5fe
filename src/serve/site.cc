#include "nascent/serve/site.h"

#include <fmt/format.h>
#ifdef NASCENT_HAS_MICROHTTPD
#include <nettle/sha2.h>
#endif
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/html.h"
#include "nascent/run/run_space.h"
#include "nascent/run/site_names.h"
#include "nascent/run/web_files.h"
#include "nascent/serve/event_reader.h"
#include "nascent/space/space.h"

namespace nascent::serve {

namespace fs = std::filesystem;

namespace {

constexpr size_t kChunk = 512 << 10;  // bytes of events in one answer: what a connection may have in memory

struct Download {
  const char *name, *type;
};
constexpr std::array<Download, 11> kDownloads = {{{"genotype.json", "application/json"},
                                                  {"genotype.txt", "text/plain; charset=utf-8"},
                                                  {"model.nascent", "application/octet-stream"},
                                                  {"best.nascent", "application/octet-stream"},
                                                  {"ensemble.nascent", "application/octet-stream"},
                                                  {"adversarial.nascent", "application/octet-stream"},
                                                  {"result.json", "application/json"},
                                                  {"options.toml", "text/plain; charset=utf-8"},
                                                  {"space.toml", "text/plain; charset=utf-8"},
                                                  {"metrics.csv", "text/csv; charset=utf-8"},
                                                  {"events.csv", "text/csv; charset=utf-8"}}};

// What another file of a run may do in the browser: be looked at.
constexpr const char* kLookOnly = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

#ifdef NASCENT_HAS_MICROHTTPD
std::string sha256_in_base64(std::string_view text) {
  std::array<uint8_t, SHA256_DIGEST_SIZE> hash{};
  sha256_ctx context{};
  sha256_init(&context);
  sha256_update(&context, text.size(), reinterpret_cast<const uint8_t*>(text.data()));
  sha256_digest(&context, hash.size(), hash.data());
  const std::string address = html::data_uri("", {reinterpret_cast<const char*>(hash.data()), hash.size()});
  return address.substr(address.find(',') + 1);  // "data:;base64,..."
}

// A report may run the script that this program writes into reports, known by its hash, and no other; as a page of
// nobody's, which has no cookie and can ask for nothing.
const std::string& report_policy() {
  static const std::string policy =
      fmt::format("{} allow-scripts; script-src 'sha256-{}'", kLookOnly, sha256_in_base64(html::script()));
  return policy;
}
#else
std::string report_policy() { return kLookOnly; }  // nobody asks: there is no server
#endif

Response not_found() { return {.status = 404, .body = "There is nothing under this address.\n"}; }

Response json_response(const Json& json) {
  return {.type = "application/json", .body = json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

std::optional<int64_t> number_of(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return whole && !text.empty() && text[0] != '-' && text[0] != '+' ? std::optional(number) : std::nullopt;
}

std::string type_of(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/html; charset=utf-8";
}

Response web_file(std::string_view name) {
  for (const auto& file : embedded::web_files()) {
    if (file.name == name) return {.type = type_of(name), .body = std::string(file.text)};
  }
  return not_found();
}

Response opened_file(OpenFile opened, const std::string& type) {
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) return not_found();
  Response response{.type = type};
  response.file = std::move(opened);
  response.file_size = static_cast<uint64_t>(status.st_size);
  return response;
}

void set_policy(Response& response, const std::string& policy) {
  response.headers.emplace_back("Content-Security-Policy", policy);
}

// 64 bits of FNV-1a: enough to see that a list is the one that the page has already.
std::string version_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return fmt::format("{:016x}", hash);
}

// All option values by key, for those keys that not all runs agree on.
Json differing(const std::vector<const RunIndex::Entry*>& runs) {
  std::map<std::string, std::pair<std::string, size_t>> first;  // key: value as text, runs that have it
  std::map<std::string, bool> differs;
  for (const auto* run : runs) {
    for (const auto& [key, value] : run->options.items()) {
      const auto [place, is_new] = first.try_emplace(key, value.dump(), 0);
      ++place->second.second;
      if (!is_new && place->second.first != value.dump()) differs[key] = true;
    }
  }
  Json by_run = Json::object();
  for (const auto* run : runs) {
    Json values = Json::object();
    for (const auto& [key, value] : run->options.items()) {
      if (differs.contains(key)) values[key] = value;
    }
    by_run[std::to_string(run->number)] = std::move(values);
  }
  return by_run;
}

Json option_rows(const RunDirectory& run, const Json& values) {
  Json rows = Json::array();
  for (const auto& option : run.info().value("options", Json::array())) {
    if (!option.is_object()) continue;
    const std::string key = option.value("key", "");
    if (!values.contains(key)) continue;
    rows.push_back({{"key", key},
                    {"value", values[key]},
                    {"default", option.value("default", Json())},
                    {"meaning", option.value("meaning", "")}});
  }
  return rows;
}

// Names of the sites of every type of cell. What a run calls its space may be the path of a file that is none of ours:
// only spaces by name and the copy that a run keeps are read.
Json sites_of(const RunIndex& runs, const fs::path& run, const std::string& space) {
  const fs::path own = run / "space.toml";
  const bool known = Space::Registry::instance().contains(space);
  Json names = Json::object();
  if (!known && !runs.readable(own)) return names;
  const std::string source = known ? space : own.string();
  const auto found = find_space(source);  // must outlive the loop over its cells
  for (const auto& cell : found->cells()) names[cell.type] = site_names(source, cell.type);
  return names;
}

Json genotype_details(const RunDirectory& run, std::optional<Genotype>& genotype) {
  Json details = {{"json", Json::parse(read_file(run.genotype_path()), nullptr, false)}};
  if (!details["json"].is_object()) return nullptr;
  try {
    genotype = run.genotype();
  } catch (const Error& error) {
    details["problem"] = error.what();
    return details;
  }
  for (const auto& form : text_forms(*genotype)) details["texts"][form] = to_text(*genotype, form);
  details["table"] = describe(*genotype);
  return details;
}

// Long lists have their own place: events, files.
Json shown_result(Json result) {
  for (const char* key : {"trials", "curve"}) {
    if (result.is_object()) result.erase(key);
  }
  if (result.dump().size() > (2 << 20)) return {{"note", "The result is long: download result.json to see it."}};
  return result;
}

}  // namespace

Response Site::answer(const Request& request) {
  if (request.path == "/") return web_file("index.html");
  Words words = split(request.path.substr(1), '/');
  if (words.size() == 2 && words[0] == "web" && words[1] != "index.html") return web_file(words[1]);
  if (words.size() == 2 && words[0] == "api" && words[1] == "runs") return list(request);
  if (words.size() == 2 && words[0] == "api" && words[1] == "options") return differing_options();
  if (words.size() > 2 && words[0] == "api" && words[1] == "runs") {
    return run_api({words.begin() + 2, words.end()}, request);
  }
  if (words.size() > 2 && words[0] == "runs") return run_page({words.begin() + 1, words.end()}, request);
  return not_found();
}

void Site::write_list() {
  const auto& runs = runs_.entries();
  if (list_changes_ == runs_.changes() && !list_.empty()) return;
  Json all = Json::array();
  for (const auto* run : runs) {
    Json summary = run->summary;
    for (const char* key : {"said", "parts"}) summary.erase(key);
    all.push_back(std::move(summary));
  }
  list_ = all.dump(-1, ' ', false, Json::error_handler_t::replace);
  list_version_ = version_of(list_);
  list_changes_ = runs_.changes();
}

Response Site::list(const Request& request) {
  write_list();
  const auto known = request.query.find("known");
  const std::string folder =
      Json(runs_.folder().filename().string()).dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string head = fmt::format("{{\"version\":\"{}\",\"folder\":{}", list_version_, folder);
  if (known != request.query.end() && known->second == list_version_)
    return {.type = "application/json", .body = head + "}"};
  return {.type = "application/json", .body = head + ",\"runs\":" + list_ + "}"};
}

Response Site::differing_options() { return json_response({{"options", differing(runs_.entries())}}); }

Response Site::run_api(const Words& words, const Request& request) {
  const auto number = number_of(words[0]);
  const auto* run = number ? runs_.find(*number) : nullptr;
  if (run == nullptr) return not_found();
  if (words.size() == 1) return detail(*run);
  return words.size() == 2 && words[1] == "events" ? events(*run, request) : not_found();
}

Response Site::run_page(const Words& words, const Request&) {
  const auto number = number_of(words[0]);
  const auto* run = number ? runs_.find(*number) : nullptr;
  if (run == nullptr) return not_found();
  if (words.size() == 2 && words[1] == "report") return report(*run);
  if (words.size() == 3 && words[1] == "files") return file(*run, words[2]);
  return words.size() == 3 && words[1] == "pictures" ? picture(*run, words[2]) : not_found();
}

Response Site::detail(const RunIndex::Entry& entry) {
  Json page = {{"number", entry.number}, {"summary", entry.summary}};
  if (entry.state == "damaged") return json_response(page);
  try {
    const RunDirectory run = RunDirectory::view(entry.path);
    for (const char* key : {"command", "version", "resumed", "seconds"}) page[key] = run.info().value(key, Json());
    std::optional<Genotype> genotype;
    page["genotype"] = runs_.readable(run.genotype_path()) ? genotype_details(run, genotype) : Json();
    page["space"] = run_space(run, genotype);
    page["sites"] = sites_of(runs_, entry.path, page["space"]);
    page["options"] = option_rows(run, entry.options);
    page["result"] = shown_result(run.result());
    page["files"] = files(entry);
    page["pictures"] = pictures(entry);
    page["report"] = static_cast<bool>(open_inside(runs_.folder(), run.report_path()));
    page["parts"] = Json::array();
    for (const auto* other : runs_.entries()) {
      if (other->parent == entry.number) page["parts"].push_back(other->number);
    }
  } catch (const std::exception& error) {
    page["problem"] = error.what();
  }
  return json_response(page);
}

Response Site::events(const RunIndex::Entry& run, const Request& request) {
  const auto asked = request.query.find("after");
  const auto after = asked == request.query.end() ? std::optional<int64_t>(0) : number_of(asked->second);
  if (!after) return {.status = 400, .body = "?after= takes the id of an event.\n"};
  const fs::path store = run.path / "events.sqlite";
  // The same while the file is the same one: a run that was replaced starts anew.
  const std::string generation =
      version_of(fmt::format("{} {}", stamp_of(store).inode, run.summary.value("started", "")));
  const auto known = request.query.find("generation");
  Response response{.type = "application/json"};
  if (!open_inside(runs_.folder(), store)) {
    response.body =
        fmt::format(R"({{"generation":"{}","reset":true,"last":0,"total":0,"more":false,"events":[]}})", generation);
    return response;
  }
  const EventReader reader(store);
  const int64_t total = reader.count();
  // A run that went on from a checkpoint has dropped what came after it.
  const bool reset = (known != request.query.end() && known->second != generation) || *after > total;
  const auto chunk = reader.after(reset ? 0 : *after, kChunk);
  response.body = fmt::format(R"({{"generation":"{}","reset":{},"last":{},"total":{},"more":{},"events":[)", generation,
                              reset, chunk.last, total, chunk.more);
  response.body += chunk.rows;
  response.body += "]}";
  return response;
}

Json Site::files(const RunIndex::Entry& run) const {
  Json all = Json::array();
  for (const auto& [name, type] : kDownloads) {
    const std::string source = name == std::string("events.csv") ? "events.sqlite" : name;
    if (!open_inside(runs_.folder(), run.path / source)) continue;
    Json file = {{"name", name}};
    if (source == name) file["size"] = stamp_of(run.path / source).size;
    all.push_back(std::move(file));
  }
  return all;
}

Response Site::file(const RunIndex::Entry& run, const std::string& name) {
  const auto known =
      std::find_if(kDownloads.begin(), kDownloads.end(), [&](const auto& file) { return file.name == name; });
  if (known == kDownloads.end()) return not_found();
  Response response =
      name == "events.csv" ? events_csv(run) : opened_file(open_inside(runs_.folder(), run.path / name), known->type);
  if (response.status != 200) return response;
  // The name that is suggested for the file holds nothing but plain letters.
  std::string title = run.path.filename().string();
  for (char& c : title) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  }
  response.headers.emplace_back("Content-Disposition", fmt::format("attachment; filename=\"{}-{}\"", title, name));
  return response;
}

Response Site::events_csv(const RunIndex::Entry& run) {
  const fs::path store = run.path / "events.sqlite";
  if (!open_inside(runs_.folder(), store)) return not_found();
  const auto reader = std::make_shared<EventReader>(store);
  Response response{.type = "text/csv; charset=utf-8"};
  response.pieces = [reader, next = reader->csv()] { return next(); };
  return response;
}

Json Site::pictures(const RunIndex::Entry& run) const {
  const fs::path list = run.path / "pictures.json";
  if (!runs_.readable(list)) return Json::array();
  const Json found = Json::parse(read_file(list), nullptr, false);
  Json all = Json::array();
  if (!found.is_array()) return all;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].is_object() || !found[i].value("file", Json()).is_string()) continue;
    if (!open_inside(run.path, run.path / found[i]["file"].get<std::string>())) continue;
    all.push_back({{"place", i}, {"group", found[i].value("group", "")}, {"caption", found[i].value("caption", "")}});
  }
  return all;
}

Response Site::picture(const RunIndex::Entry& run, const std::string& number) {
  const auto place = number_of(number);
  const fs::path list = run.path / "pictures.json";
  if (!place || !runs_.readable(list)) return not_found();
  const Json found = Json::parse(read_file(list), nullptr, false);
  if (!found.is_array() || static_cast<size_t>(*place) >= found.size()) return not_found();
  const Json& picture = found[static_cast<size_t>(*place)];
  if (!picture.is_object() || !picture.value("file", Json()).is_string()) return not_found();
  const fs::path file = run.path / picture["file"].get<std::string>();
  const std::string extension = file.extension().string();
  if (extension != ".svg" && extension != ".png") return not_found();
  Response response = opened_file(open_inside(run.path, file), extension == ".svg" ? "image/svg+xml" : "image/png");
  set_policy(response, kLookOnly);
  return response;
}

Response Site::report(const RunIndex::Entry& run) {
  Response response = opened_file(open_inside(runs_.folder(), run.path / "report.html"), "text/html; charset=utf-8");
  set_policy(response, report_policy());
  return response;
}

}  // namespace nascent::serve
