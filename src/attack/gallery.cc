#include "nascent/attack/gallery.h"

#include <ATen/ATen.h>

#include <cmath>

#include "nascent/core/files.h"
#include "nascent/data/image_file.h"
#include "nascent/train/state.h"

namespace nascent {

namespace fs = std::filesystem;

namespace {

constexpr double kMagnified = 10;
constexpr int kGap = 2, kWideGap = 12;       // pixels between the pictures of a triptych, and between triptychs
constexpr int kColumns = 3, kGridSide = 96;  // triptychs side by side, and their least height

// [C, H, W] in 0..1 to bytes; of images with one channel or more than two.
Image to_image(const at::Tensor& pixels) {
  const at::Tensor shown = pixels.size(0) == 1 ? pixels : pixels.narrow(0, 0, 3);
  const at::Tensor bytes = (shown.clamp(0, 1) * 255).round().to(at::kByte).permute({1, 2, 0}).contiguous();
  Image image;
  image.reshape({static_cast<int>(bytes.size(2)), static_cast<int>(bytes.size(0)), static_cast<int>(bytes.size(1))});
  std::copy_n(bytes.data_ptr<uint8_t>(), bytes.numel(), image.pixels.begin());
  return image;
}

at::Tensor beside(const std::vector<at::Tensor>& pictures, int64_t dim, int distance) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& picture : pictures) {
    if (!parts.empty()) {
      std::vector<int64_t> gap = picture.sizes().vec();
      gap[dim] = distance;
      parts.push_back(at::ones(gap));
    }
    parts.push_back(picture);
  }
  return at::cat(parts, dim);
}

at::Tensor triptych(const at::Tensor& clean, const at::Tensor& moved) {
  return beside({clean, (0.5 + kMagnified * (moved - clean)).clamp(0, 1), moved}, 2, kGap);
}

// Pixels as squares, so that small images can be seen.
at::Tensor enlarged(const at::Tensor& picture) {
  const int64_t times = std::max<int64_t>(1, kGridSide / picture.size(1));
  return picture.repeat_interleave(times, 1).repeat_interleave(times, 2);
}

at::Tensor grid(const std::vector<at::Tensor>& pictures) {
  std::vector<at::Tensor> rows;
  for (size_t first = 0; first < pictures.size(); first += kColumns) {
    std::vector<at::Tensor> row;
    for (size_t i = first; i < first + kColumns; ++i) {
      const at::Tensor shown = enlarged(pictures[std::min(i, pictures.size() - 1)]);
      row.push_back(i < pictures.size() ? shown : at::ones_like(shown));
    }
    rows.push_back(beside(row, 2, kWideGap));
  }
  return beside(rows, 1, kGap);
}

void save_images(const Campaign& campaign, const fs::path& path) {
  State state;
  const Attacked& all = campaign.images();
  const CampaignSetup& setup = campaign.setup();
  const int64_t kept = campaign.records().back().images.size(0);
  state.put("clean", all.images.narrow(0, 0, kept));
  state.put("labels", all.labels.narrow(0, 0, kept));
  state.put("indices", at::tensor(all.indices, at::kLong).narrow(0, 0, kept));
  Json attacks = Json::array();
  for (const AttackRecord& record : campaign.records()) {
    if (record.attacker < 0) continue;
    const std::string name = fmt::format("attack.{}", attacks.size());
    attacks.push_back({{"tensor", name}, {"made_on", setup.attacked[record.attacker]->name()}});
    if (std::isfinite(record.eps)) attacks.back()["eps"] = record.eps;
    state.put(name, record.images);
    state.put(name + ".fooled", record.fooled.narrow(0, 0, kept));
  }
  state.values["adversarial"] = {{"attack", setup.plan.attack},
                                 {"norm", norm_name(setup.plan.norm)},
                                 {"units", setup.plan.normalised ? "normalised" : "pixels"},
                                 {"attacks", attacks}};
  save_state(state, path);
}

}  // namespace

void write_gallery(const Campaign& campaign, int pictures, const fs::path& folder) {
  fs::create_directories(folder / "adversarial");
  save_images(campaign, folder / "adversarial.nascent");
  const AttackRecord& record = campaign.records().back();
  std::vector<at::Tensor> shown;
  for (int64_t i = 0; i < record.images.size(0) && static_cast<int>(shown.size()) < pictures; ++i) {
    if (!record.fooled[i].item<bool>() || record.distances[i].item<double>() == 0) continue;
    shown.push_back(triptych(campaign.images().images[i], record.images[i]));
    const auto file = folder / "adversarial" / fmt::format("{}.png", campaign.images().indices[i]);
    write_file(file, encode_png(to_image(shown.back())));
  }
  if (!shown.empty()) write_file(folder / "adversarial" / "grid.png", encode_png(to_image(grid(shown))));
}

}  // namespace nascent
