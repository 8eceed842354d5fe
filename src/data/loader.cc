#include "nascent/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace nascent {

std::string Batch::describe() const {
  constexpr size_t kNamed = 8;
  const size_t named = std::min(kNamed, indices.size());
  const std::vector<int64_t> first(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(named));
  return fmt::format("batch {}: images {}{}", number, fmt::join(first, ", "), indices.size() > named ? ", ..." : "");
}

class Loader::Impl {
 public:
  Impl(std::shared_ptr<const Dataset> dataset, std::vector<int64_t> indices, TransformPipeline transforms,
       LoaderOptions options);
  ~Impl() { stop(); }

  int64_t batches() const;
  int64_t size() const;
  Shape shape() const { return transforms_.output(); }
  void read_only(int64_t first, int64_t last, int64_t parts);
  void start(int64_t epoch, int64_t first_batch);
  std::optional<Batch> next();

 private:
  // A place in the queue. Batch n always goes to place n % places, so batches leave in order.
  struct Slot {
    bool full = false;
    Batch batch;
    std::exception_ptr error;
  };
  // Memory that a worker keeps from image to image.
  struct Buffers {
    Image image, scratch;
  };

  void check() const;
  void stop();
  void work();
  std::optional<int64_t> claim();
  void deliver(int64_t number, Batch batch, std::exception_ptr error);
  Batch make(int64_t number, Buffers& buffers) const;

  const std::shared_ptr<const Dataset> dataset_;
  const std::vector<int64_t> indices_;
  const TransformPipeline transforms_;
  const LoaderOptions options_;

  // Fixed while workers run.
  int64_t epoch_ = 0;
  std::vector<int64_t> order_;
  int64_t first_part_ = 0, last_part_ = 1, parts_ = 1;  // of a batch, that are read

  std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::vector<Slot> slots_;
  int64_t claimed_ = 0, taken_ = 0;  // next batch to make, next batch to hand out
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

Loader::Impl::Impl(std::shared_ptr<const Dataset> dataset, std::vector<int64_t> indices, TransformPipeline transforms,
                   LoaderOptions options)
    : dataset_(std::move(dataset)),
      indices_(std::move(indices)),
      transforms_(std::move(transforms)),
      options_(std::move(options)) {
  check();
  slots_.resize(std::max(options_.ahead, options_.workers));
  taken_ = claimed_ = batches();
}

void Loader::Impl::check() const {
  if (options_.batch < 1 || options_.workers < 1 || options_.ahead < 1) {
    fail("A loader was asked for batches of {} by {} workers, {} ahead; expected at least 1 of each.", options_.batch,
         options_.workers, options_.ahead);
  }
  if (indices_.empty()) {
    fail("No image of '{}' is left to load for '{}'; look at data.limit, data.valid-fraction and data.split-file.",
         dataset_->name(), options_.purpose);
  }
  for (const int64_t index : indices_) {
    if (index < 0 || index >= dataset_->size()) {
      fail("Image {} of '{}' was asked for; expected 0 to {}.", index, dataset_->name(), dataset_->size() - 1);
    }
  }
  if (batches() == 0) {
    fail(
        "'{}' has {} images for '{}', fewer than one batch of {}, and a batch that is not full is left out; lower "
        "data.batch.",
        dataset_->name(), indices_.size(), options_.purpose, options_.batch);
  }
  if (!transforms_.output().fixed()) {
    fail(
        "The images of '{}' differ in size and the transforms [{}] leave them so; add one that fixes it, such as "
        "'random-resized-crop 224' in training or 'resize 256', 'center-crop 224' in evaluation.",
        dataset_->name(), join(transforms_.specs(), ", "));
  }
}

int64_t Loader::Impl::batches() const {
  const auto images = static_cast<int64_t>(indices_.size());
  return options_.drop_last ? images / options_.batch : (images + options_.batch - 1) / options_.batch;
}

int64_t Loader::Impl::size() const {
  return std::min<int64_t>(static_cast<int64_t>(indices_.size()), batches() * options_.batch);
}

void Loader::Impl::read_only(int64_t first, int64_t last, int64_t parts) {
  stop();
  taken_ = claimed_ = batches();
  first_part_ = first;
  last_part_ = last;
  parts_ = parts;
}

void Loader::Impl::start(int64_t epoch, int64_t first_batch) {
  stop();
  if (first_batch < 0 || first_batch > batches()) {
    fail("An epoch of {} batches cannot start at batch {}.", batches(), first_batch);
  }
  epoch_ = epoch;
  order_ = indices_;
  if (options_.shuffle) {
    RandomStream random(options_.seed, "order of " + options_.purpose, {static_cast<uint64_t>(epoch)});
    for (auto i = static_cast<int64_t>(order_.size()) - 1; i > 0; --i)
      std::swap(order_[i], order_[random.below(i + 1)]);
  }
  for (auto& slot : slots_) slot = {};
  claimed_ = taken_ = first_batch;
  stopping_ = false;
  for (int i = 0; i < options_.workers; ++i) threads_.emplace_back([this] { work(); });
}

void Loader::Impl::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

std::optional<int64_t> Loader::Impl::claim() {
  std::unique_lock lock(mutex_);
  const auto places = static_cast<int64_t>(slots_.size());
  room_.wait(lock, [&] { return stopping_ || claimed_ >= batches() || claimed_ < taken_ + places; });
  if (stopping_ || claimed_ >= batches()) return std::nullopt;
  return claimed_++;
}

void Loader::Impl::deliver(int64_t number, Batch batch, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    slots_[number % slots_.size()] = {true, std::move(batch), error};
  }
  filled_.notify_one();
}

void Loader::Impl::work() {
  Buffers buffers;
  while (const auto number = claim()) {
    try {
      deliver(*number, make(*number, buffers), nullptr);
    } catch (...) {
      deliver(*number, {}, std::current_exception());
    }
  }
}

Batch Loader::Impl::make(int64_t number, Buffers& buffers) const {
  const Shape& shape = transforms_.output();
  const int64_t first = number * options_.batch, last = std::min(first + options_.batch, size());
  const int64_t from = (last - first) * first_part_ / parts_, to = (last - first) * last_part_ / parts_;
  Batch batch{number, static_cast<int>(to - from), shape.channels, shape.height, shape.width, {}, {}, {}};
  batch.pixels.resize(batch.size * shape.count());
  batch.indices.assign(order_.begin() + first, order_.begin() + last);
  const std::string purpose = "augmentation of " + options_.purpose;
  float* out = batch.pixels.data();
  for (int64_t i = from; i < to; ++i) {
    const int64_t index = batch.indices[i];
    RandomStream random(options_.seed, purpose, {static_cast<uint64_t>(epoch_), static_cast<uint64_t>(index)});
    dataset_->read(index, buffers.image);
    transforms_.apply(buffers.image, buffers.scratch, random, out);
    batch.labels.push_back(dataset_->label(index));
    out += shape.count();
  }
  return batch;
}

std::optional<Batch> Loader::Impl::next() {
  Slot slot;
  {
    std::unique_lock lock(mutex_);
    if (taken_ >= batches()) return std::nullopt;
    Slot& place = slots_[taken_ % slots_.size()];
    filled_.wait(lock, [&] { return place.full; });
    slot = std::exchange(place, {});
    taken_ = slot.error ? batches() : taken_ + 1;
    if (slot.error) claimed_ = batches();
  }
  room_.notify_all();
  if (slot.error) std::rethrow_exception(slot.error);
  return std::move(slot.batch);
}

Loader::Loader(std::shared_ptr<const Dataset> dataset, std::vector<int64_t> indices, TransformPipeline transforms,
               LoaderOptions options)
    : impl_(std::make_unique<Impl>(std::move(dataset), std::move(indices), std::move(transforms), std::move(options))) {
}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;
Loader::~Loader() = default;

int64_t Loader::batches() const { return impl_->batches(); }
int64_t Loader::size() const { return impl_->size(); }
Shape Loader::shape() const { return impl_->shape(); }
void Loader::read_only(int64_t first, int64_t last, int64_t parts) { impl_->read_only(first, last, parts); }
void Loader::start(int64_t epoch, int64_t first_batch) { impl_->start(epoch, first_batch); }
std::optional<Batch> Loader::next() { return impl_->next(); }

}  // namespace nascent
