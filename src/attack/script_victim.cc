// TorchScript files as victims.
#include <torch/script.h>

#include "nascent/attack/victim.h"
#include "nascent/core/error.h"

namespace nascent {
namespace {

torch::jit::Module load_script(const std::filesystem::path& path) {
  try {
    return torch::jit::load(path.string());
  } catch (const c10::Error& error) {
    fail("{} is not a TorchScript file ({}). Write one with torch.jit.save, or name a model.nascent.", path.string(),
         error.what_without_backtrace());
  }
}

class ScriptVictim : public Victim {
 public:
  ScriptVictim(const std::filesystem::path& path, const ChannelStatistics& statistics, const Shape& input,
               std::string name)
      : Victim(std::move(name)), path_(path.string()), module_(load_script(path)) {
    module_.eval();
    for (at::Tensor parameter : module_.parameters()) parameter.requires_grad_(false);
    if (!statistics.mean.empty()) {
      mean_ = by_channel(statistics.mean);
      deviation_ = by_channel(statistics.deviation);
    }
    const at::NoGradGuard no_grad;
    classes_ = forward(at::zeros({2, input.channels, input.height, input.width})).size(1);
  }

  at::Tensor forward(const at::Tensor& images) const override {
    const at::Tensor x = mean_.defined() ? (images - mean_) / deviation_ : images;
    try {
      const at::Tensor answers = module_.forward({x}).toTensor();
      if (answers.dim() == 2 && answers.size(0) == images.size(0)) return answers;
      fail("{} answers {} images with a tensor of [{}]; expected one row of logits each.", path_, images.size(0),
           fmt::join(answers.sizes(), ", "));
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      fail("{} could not be run on images of [{}] ({}). Does it take such images?", path_,
           fmt::join(images.sizes(), ", "), error.what());
    }
  }
  int64_t classes() const override { return classes_; }

 private:
  std::string path_;
  mutable torch::jit::Module module_;
  at::Tensor mean_, deviation_;
  int64_t classes_ = 0;
};

}  // namespace

VictimPointer script_victim(const std::filesystem::path& path, const ChannelStatistics& statistics, const Shape& input,
                            std::string name) {
  return std::make_shared<ScriptVictim>(path, statistics, input, std::move(name));
}

}  // namespace nascent
