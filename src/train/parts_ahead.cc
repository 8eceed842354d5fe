#include "nascent/train/parts_ahead.h"

#include "nascent/cluster/farm.h"
#include "nascent/cluster/ranks.h"
#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/data/image_data.h"

namespace nascent {

SessionStart part_start(const std::filesystem::path& path, SessionStart start, const RunOptions& parent,
                        OptionTable& table, RunOptions& run) {
  start.part = true;
  start.resume = std::filesystem::exists(path / "run.json") ? path.string() : "";
  if (!start.resume.empty()) table.read_toml_file(path / "options.toml");
  if (start.resume.empty()) {
    run.engine = parent.engine;
    run.precision = parent.precision;
  }
  run.threads = parent.threads;
  run.memory = parent.memory;
  run.checkpoint_seconds = parent.checkpoint_seconds;
  run.checkpoint_steps = parent.checkpoint_steps;
  run.out = path.string();
  run.overwrite = false;
  return start;
}

namespace {

std::string toml_of(RunOptions run) {
  OptionTable table;
  run.declare(table);
  return table.to_toml();
}

std::string text_of_order(const PartOrder& order) {
  return Json{{"path", order.path.string()},  {"verb", order.start.verb}, {"command", order.start.command},
              {"recipe", order.start.recipe}, {"options", order.options}, {"parent", toml_of(order.parent)}}
      .dump();
}

PartOrder parse_order(const std::string& text) {
  const Json json = Json::parse(text);
  PartOrder order{.path = json.at("path").get<std::string>(),
                  .start = {.verb = json.at("verb").get<std::string>(),
                            .command = json.at("command").get<std::vector<std::string>>(),
                            .recipe = json.at("recipe").get<std::string>()},
                  .options = json.at("options").get<std::string>()};
  OptionTable table;
  order.parent.declare(table);
  table.read_toml(json.at("parent").get<std::string>(), "rank 0");
  return order;
}

class PartHelper : public cluster::Helper {
 public:
  explicit PartHelper(const Json& opening) {
    const auto text = opening.at("data").get<std::string>();
    if (text.empty()) return;
    DataOptions options;
    OptionTable table;
    options.declare(table);
    table.read_toml(text, "rank 0");
    digest_ = std::to_string(ImageData(options, opening.at("seed").get<uint64_t>()).digest());
  }

  std::string digest() const override { return digest_; }

  std::string piece(const cluster::Work& work) override {
    const PartOrder order = parse_order(work.text);
    log::info("Part {}", order.path.filename().string());
    try {
      PartVerb::Registry::instance().at(order.start.verb).make(order);
    } catch (const Error& error) {
      log::warning("{}: {}", order.path.filename().string(), error.what());
    }
    return "";
  }

 private:
  std::string digest_;
};

NASCENT_REGISTER(cluster::Helper, "part", "runs within a run",
                 [](const Json& opening) { return std::make_unique<PartHelper>(opening); });

bool is_done(const std::filesystem::path& path) {
  return std::filesystem::exists(path / "run.json") && RunDirectory::view(path).status() == RunStatus::done;
}

}  // namespace

PartsAhead::PartsAhead(Session& session, const RunOptions& run, std::optional<DataOptions> data)
    : session_(session), run_(run), data_(std::move(data)) {}

void PartsAhead::add(const std::string& folder, const SessionStart& start, std::string options) {
  if (cluster::size() == 1) return;
  const auto path = session_.directory().path() / folder;
  session_.directory().add_part(folder);
  if (!is_done(path)) orders_.push_back({path, start, std::move(options), run_});
}

void PartsAhead::run() {
  if (cluster::size() == 1 || orders_.empty()) return;
  Json opening = {{"data", ""}, {"seed", run_.seed}};
  if (data_) {
    OptionTable table;
    data_->declare(table);
    opening["data"] = table.to_toml();
  }
  PartHelper mine(opening);
  cluster::Farm farm(
      "part", opening, mine, [](int64_t, const std::string&) {}, session_.directory().path().string() + "/");
  for (const PartOrder& order : orders_) farm.add({text_of_order(order)});
  farm.run();
  orders_.clear();
  run_.apply();  // as many threads as before
}

}  // namespace nascent
