#include "nascent/core/scale.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

double parse_factor(std::string_view text, const std::string& whole) {
  double factor = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (code != std::errc() || end != text.data() + text.size() || !(factor > 0 && factor <= 100)) {
    fail(
        "--scale {}: '{}' is not a factor; expected a number above 0, as in --scale 0.1 or --scale "
        "epochs=0.1,channels=0.5,cells=0.5,data=0.2.",
        whole, text);
  }
  return factor;
}

class Scaler {
 public:
  Scaler(const std::vector<std::string>& typed, OptionTable& table) : typed_(typed), table_(table) {}

  // Sets an option, unless it was typed, and says so.
  void set(Option& option, const Json& value) {
    if (is_typed(option) || option.value() == value) return;
    log::info("--scale: {} {} -> {}", option.key(), option.value().dump(), value.dump());
    option.set(value, "--scale");
  }

  void set(const std::string& key, const Json& value) { set(table_.at(key, "--scale"), value); }
  bool is_typed(const Option& option) const {
    return std::find(typed_.begin(), typed_.end(), option.key()) != typed_.end();
  }
  int64_t value(const std::string& key) const { return table_.at(key, "--scale").value().get<int64_t>(); }

 private:
  const std::vector<std::string>& typed_;
  OptionTable& table_;
};

bool counts_epochs(const Option& option) { return option.name() == "epochs" || option.name().ends_with("-epochs"); }

void scale_epochs(double factor, Scaler& scaler, OptionTable& table) {
  if (factor == 1) return;
  for (Option& option : table.options()) {
    if (!counts_epochs(option)) continue;
    const double scaled = option.value().get<double>() * factor;
    if (option.type() == "number") {
      scaler.set(option, scaled);
    } else {
      const bool keeps_one = option.value().get<double>() > 0 && !option.name().starts_with("freeze");
      scaler.set(option, std::max<int64_t>(keeps_one ? 1 : 0, std::llround(scaled)));
    }
  }
}

int64_t scaled_count(int64_t value, double factor, int64_t unit, int64_t fewest) {
  const auto units =
      static_cast<int64_t>(std::llround(static_cast<double>(value) * factor / static_cast<double>(unit)));
  const int64_t floor = (fewest + unit - 1) / unit * unit;
  return std::max(units * unit, std::min(floor, value));
}

void scale_network(const Scale& scale, const ScaleLimits& limits, Scaler& scaler) {
  if (scale.channels != 1) {
    const int64_t channels = scaler.value("network.channels");
    if (channels == 0) fail("--scale channels: give --channels, since the network's own number is not known yet.");
    scaler.set("network.channels",
               scaled_count(channels, scale.channels, scaler.value("network.partial"), limits.fewest_channels));
  }
  if (scale.cells != 1 && !limits.fixed_cells) {
    const int64_t cells = scaler.value("network.cells");
    if (cells == 0) fail("--scale cells: give --cells, since the network's own number is not known yet.");
    scaler.set("network.cells", scaled_count(cells, scale.cells, 1, limits.fewest_cells));
  }
}

}  // namespace

Scale Scale::parse(const std::string& text) {
  if (text.find('=') == std::string::npos) {
    const double all = parse_factor(trim(text), text);
    return {all, all, all, all};
  }
  Scale scale;
  for (const auto& part : split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string name(trim(part.substr(0, equals)));
    double* factor = name == "epochs"     ? &scale.epochs
                     : name == "channels" ? &scale.channels
                     : name == "cells"    ? &scale.cells
                     : name == "data"     ? &scale.data
                                          : nullptr;
    if (factor == nullptr || equals == std::string::npos) {
      fail("--scale {}: '{}' is nothing that can be scaled.{} Known: epochs, channels, cells, data.", text, name,
           suggestion(name, {"epochs", "channels", "cells", "data"}));
    }
    *factor = parse_factor(trim(std::string_view(part).substr(equals + 1)), text);
  }
  return scale;
}

void apply_scale(const Scale& scale, const ScaleLimits& limits, const std::vector<std::string>& typed,
                 OptionTable& table) {
  Scaler scaler(typed, table);
  scale_epochs(scale.epochs, scaler, table);
  scale_network(scale, limits, scaler);
  if (scale.data == 1 || scaler.is_typed(table.at("data.limit", "--scale"))) return;
  const int64_t images = scaler.value("data.limit") > 0 ? scaler.value("data.limit") : limits.all_images();
  scaler.set("data.limit", std::min(scaled_count(images, scale.data, 1, limits.fewest_images), images));
}

}  // namespace nascent
