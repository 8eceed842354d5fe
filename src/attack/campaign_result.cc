// The figures of a campaign.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nascent/attack/campaign.h"

namespace nascent {
namespace {

constexpr int kCurvePoints = 21;
constexpr double kSquareMargin = 0.002;  // of the images: as AutoAttack's own check

int64_t count(const at::Tensor& flags) { return flags.sum().item<int64_t>(); }
double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double accuracy(const Campaign& campaign, const AttackRecord& record, int64_t judge) {
  return percent(count(record.answers[judge].eq(campaign.images().labels)), campaign.images().size());
}

struct MeanDeviation {
  double mean = 0, deviation = 0;
};

// The deviation is that of a sample; of one value it is 0.
MeanDeviation mean_deviation(const std::vector<double>& values) {
  MeanDeviation all;
  for (const double value : values) all.mean += value / static_cast<double>(values.size());
  for (const double value : values) all.deviation += (value - all.mean) * (value - all.mean);
  if (values.size() > 1) all.deviation = std::sqrt(all.deviation / static_cast<double>(values.size() - 1));
  return all;
}

Json to_json(const MeanDeviation& values) { return {{"mean", values.mean}, {"deviation", values.deviation}}; }

Json names(const std::vector<VictimPointer>& victims) {
  Json all = Json::array();
  for (const auto& victim : victims) all.push_back(victim->name());
  return all;
}

// How many each part of a cascade fooled.
Json parts_of(const Campaign& campaign, const AttackRecord& record) {
  Json parts = Json::object();
  const auto& listed = campaign.setup().plan.facts.parts;
  for (size_t i = 0; i < listed.size(); ++i) parts[listed[i]] = count(record.parts.eq(static_cast<int64_t>(i)));
  return parts;
}

Json point(const Campaign& campaign, const AttackRecord& record) {
  const int64_t all = campaign.images().size(), held = all - count(record.fooled);
  const auto last = static_cast<int64_t>(campaign.setup().judges.size()) - 1;
  Json json = {{"eps", record.eps}, {"robust_top1", percent(held, all)}, {"robust", held}, {"images", all}};
  // An attack with a target is resisted where it is not reached, be the answer right or wrong.
  if (campaign.setup().target.kind != TargetChoice::Kind::none) {
    json["reached"] = all - held;
    json["answers_right_top1"] = accuracy(campaign, record, last);
  }
  if (!campaign.setup().plan.facts.parts.empty()) json["parts"] = parts_of(campaign, record);
  return json;
}

// How far the nearest adversarial images are; those that were wrong from the start are at 0.
struct Distances {
  std::vector<double> found;
  int64_t wrong = 0, all = 0;

  // Images that hold at this distance.
  int64_t held(double eps) const {
    const auto near = std::count_if(found.begin(), found.end(), [&](double d) { return d <= eps; });
    return all - wrong - near;
  }
};

Distances distances_of(const Campaign& campaign, const AttackRecord& record) {
  Distances distances{{}, 0, campaign.images().size()};
  for (int64_t i = 0; i < distances.all; ++i) {
    if (!record.fooled[i].item<bool>()) continue;
    const double distance = record.distances[i].item<double>();
    if (distance == 0) ++distances.wrong;
    if (distance > 0) distances.found.push_back(distance);
  }
  std::sort(distances.found.begin(), distances.found.end());
  return distances;
}

Json minimal(const Distances& distances) {
  const auto attacked = static_cast<size_t>(distances.all - distances.wrong);
  Json json = {{"attacked", attacked}, {"found", distances.found.size()}, {"median_norm", nullptr}};
  // What was not found counts as infinitely far.
  if (attacked > 0 && (attacked - 1) / 2 < distances.found.size())
    json["median_norm"] = distances.found[(attacked - 1) / 2];
  return json;
}

Json implied_curve(const Campaign& campaign, const Distances& distances) {
  std::vector<double> at = campaign.setup().plan.eps;
  if (at.empty() && !distances.found.empty()) {
    for (int i = 0; i < kCurvePoints; ++i) at.push_back(distances.found.back() * i / (kCurvePoints - 1));
  }
  Json curve = Json::array();
  for (const double eps : at) {
    const int64_t held = distances.held(eps);
    curve.push_back(
        {{"eps", eps}, {"robust_top1", percent(held, distances.all)}, {"robust", held}, {"images", distances.all}});
  }
  return curve;
}

// Round i attacks member i and all answer; the last victim attacked is the ensemble itself.
Json round_of(const Campaign& campaign, size_t strength) {
  const CampaignSetup& setup = campaign.setup();
  const auto members = static_cast<int>(setup.attacked.size()) - 1;
  const auto whole = static_cast<int64_t>(setup.judges.size()) - 1;
  std::vector<double> attacks, defences;
  Json rounds = Json::array();
  for (int member = 0; member < members; ++member) {
    const AttackRecord& record = campaign.record(member, strength);
    attacks.push_back(accuracy(campaign, record, member));
    defences.push_back(accuracy(campaign, record, whole));
    rounds.push_back({{"member", setup.attacked[member]->name()},
                      {"attack_top1", attacks.back()},
                      {"defence_top1", defences.back()}});
  }
  const AttackRecord& known = campaign.record(members, strength);
  Json json = {{"rounds", rounds},
               {"attack", to_json(mean_deviation(attacks))},
               {"defence", to_json(mean_deviation(defences))},
               {"all_known_top1", accuracy(campaign, known, whole)}};
  if (std::isfinite(known.eps)) json["eps"] = known.eps;
  return json;
}

Json matrix_of(const Campaign& campaign, size_t strength) {
  const CampaignSetup& setup = campaign.setup();
  Json rows = Json::array();
  for (size_t attacker = 0; attacker < setup.attacked.size(); ++attacker) {
    const AttackRecord& record = campaign.record(static_cast<int>(attacker), strength);
    Json row = Json::array();
    for (size_t judge = 0; judge < setup.judges.size(); ++judge) {
      row.push_back(accuracy(campaign, record, static_cast<int64_t>(judge)));
    }
    rows.push_back(row);
  }
  Json json = {{"made_on", names(setup.attacked)}, {"judged_by", names(setup.judges)}, {"top1", rows}};
  const double eps = campaign.record(0, strength).eps;
  if (std::isfinite(eps)) json["eps"] = eps;
  return json;
}

// What the attacks themselves give away: stronger ones must not be weaker.
Json warnings_of(const Campaign& campaign) {
  Json warnings = campaign.warnings();
  const AttackFacts& facts = campaign.setup().plan.facts;
  bool square = false, weaker = false;
  for (const AttackRecord& record : campaign.records()) {
    if (record.attacker < 0) continue;
    for (size_t part = 0; part < facts.parts.size(); ++part) {
      if (Attack::Registry::instance().at(facts.parts[part]).facts.gradients) continue;
      const auto by_answers = static_cast<double>(count(record.parts.eq(static_cast<int64_t>(part))));
      square = square || by_answers > kSquareMargin * static_cast<double>(campaign.images().size());
    }
    weaker = weaker || (!facts.not_weaker_than.empty() && count(record.weaker) > count(record.fooled));
  }
  warnings["square_beats_gradients"] = square;
  warnings["weaker_than_fgsm"] = weaker;
  return warnings;
}

}  // namespace

Json campaign_result(const Campaign& campaign) {
  const CampaignSetup& setup = campaign.setup();
  const AttackPlan& plan = setup.plan;
  const auto whole = static_cast<int>(setup.attacked.size()) - 1;
  const auto last = static_cast<int64_t>(setup.judges.size()) - 1;
  const size_t strengths = plan.facts.minimal ? 1 : plan.eps.size();
  Json result = {{"attack", plan.attack},
                 {"norm", norm_name(plan.norm)},
                 {"units", plan.normalised ? "normalised" : "pixels"},
                 {"images", campaign.images().size()},
                 {"clean_top1", accuracy(campaign, campaign.records()[0], last)}};
  if (setup.target.kind != TargetChoice::Kind::none) result["target"] = setup.target.text;
  if (plan.facts.minimal) {
    const AttackRecord& record = campaign.record(whole, 0);
    const Distances distances = distances_of(campaign, record);
    result["robust_top1"] = percent(campaign.images().size() - count(record.fooled), campaign.images().size());
    result["minimal"] = minimal(distances);
    result["curve"] = implied_curve(campaign, distances);
  } else {
    result["curve"] = Json::array();
    for (size_t i = 0; i < strengths; ++i) result["curve"].push_back(point(campaign, campaign.record(whole, i)));
    result["robust_top1"] = result["curve"].back()["robust_top1"];
  }
  if (setup.attacked.size() > 1) {
    result["members"] = Json::array();
    for (size_t j = 0; j < setup.judges.size(); ++j) {
      result["members"].push_back({{"name", setup.judges[j]->name()},
                                   {"clean_top1", accuracy(campaign, campaign.records()[0], static_cast<int64_t>(j))}});
    }
    for (size_t i = 0; i < strengths; ++i) {
      result["defence"].push_back(round_of(campaign, i));
      result["transfer"].push_back(matrix_of(campaign, i));
    }
  }
  result["warnings"] = warnings_of(campaign);
  return result;
}

}  // namespace nascent
