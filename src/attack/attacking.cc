#include "nascent/attack/attacking.h"

#include "nascent/attack/campaign.h"
#include "nascent/attack/gallery.h"
#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/run/attack_section.h"
#include "nascent/train/model_data.h"

namespace nascent {
namespace {

Campaign plan_campaign(const AttackingOptions& options, const Victims& victims, const PixelImages& images) {
  const AttackOptions& asked = options.attack;
  CampaignSetup setup{.plan = plan_attack(asked, images.classes, static_cast<uint64_t>(options.run.seed)),
                      .target = parse_target(asked.target, images.class_names),
                      .batch = options.data.batch,
                      .keep = asked.keep};
  if (setup.plan.normalised) {
    if (victims.deviation.empty()) {
      fail("--units normalised needs one deviation for all members; these have several or none. Use --units pixels.");
    }
    setup.scale = victims.deviation;
  }
  if (asked.every_member()) {
    if (victims.members.size() < 2) fail("--rounds and --transfer need an ensemble: name two models or more.");
    setup.attacked = setup.judges = victims.members;
  }
  setup.attacked.push_back(victims.whole);
  setup.judges.push_back(victims.whole);
  const TargetChoice target = setup.target;
  return {std::move(setup), without_target(images.all, target)};
}

// An attack made ready.
struct Planned {
  std::shared_ptr<Campaign> campaign;
  std::string digest;  // of models and images

  Planned(AttackingOptions& options, const ReadModels& read) {
    const AttackOptions& asked = options.attack;
    VictimFiles files(asked.models, {asked.mean, asked.deviation}, read);
    options.data = files.data(options.data);
    const PixelImages images = files.images(options.data, asked.images, static_cast<uint64_t>(options.run.seed));
    campaign = std::make_shared<Campaign>(plan_campaign(options, files.load(images), images));
    digest = files.digest(images);
  }
};

}  // namespace

void AttackingOptions::declare(OptionTable& table) {
  attack.declare(table);
  data.declare(table);
  run.declare(table);
}

void AttackingOptions::resolve(const std::string& resume) {
  if (resume.empty()) check_attack(attack);
}

Json attack(AttackingOptions& options, Session& session, const ReadModels& read) {
  options.run.apply();
  const AttackOptions& asked = options.attack;
  const Planned planned(options, read);
  Campaign& campaign = *planned.campaign;
  check_ranks_for(campaign, "batches of images");
  session.begin(
      asked.attack,
      {{"Attack", asked.attack}, {"Victim", join(asked.models, ", ")}, {"Data set", data_text(options.data)}});
  Json result;
  session.run([&] {
    run_farmed(campaign, farm_opening("attack", options, planned.digest, session), [&](Job& job) { session.run(job); });
    write_gallery(campaign, asked.pictures, session.directory().path());
    result = campaign_result(campaign);
    write_attack_figures(result, session.directory().path() / "figures");
    session.conclude(result);
  });
  return result;
}

std::unique_ptr<cluster::Helper> attack_helper(const Json& opening, const ReadModels& read) {
  auto options = farmed_options<AttackingOptions>(opening);
  const Planned planned(options, read);
  return helper_at(planned.campaign, planned.digest);
}

}  // namespace nascent
